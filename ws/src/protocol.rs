//! The receiving half of a WebSocket conversation: bytes in, events out (RFC 6455 sections 5 to 8).
//!
//! It does no I/O, keeps no clock and sends nothing: answering Pings and Closes is the session's part. While
//! nothing is half received it owns no memory.

use crate::assembly::Assembly;
use crate::frame::MAX_CONTROL;
use crate::{CloseFrame, Event, FrameHead, Limits, OpCode, ProtocolError, Received, apply_mask, mask};
use std::ops::Range;

/// Which end of the connection this is (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Receives masked frames, sends unmasked ones.
    Server,
    /// Sends masked frames, receives unmasked ones.
    Client,
}

/// Where the conversation is.
///
/// ```text
///            close_sent()                Close received
///   Open ----------------> CloseSent ----------------------+
///    |                        | framing error              v
///    |    Close received      +-----------------------> Finished
///    +-------------------------------------------------->  ^
///    |                 any error                           |
///    +-----------------------------------------------------+
///
///   Open       every event is reported
///   CloseSent  frames are read past, and only a Close is reported (section 5.5.1)
///   Finished   all input is ignored
/// ```
///
/// Within `Open`, frames and messages alternate so; a control frame may come wherever a head is due:
///
/// ```text
///   head due, no message --text/binary, FIN-----> payload --> message --> head due, no message
///        |
///        +---------------text/binary, not FIN--> payload --> head due, message begun
///                                                              |     ^
///                                                              |     +-- payload <--+
///                                                              +--continuation------+
///                                                              +--continuation, FIN--> payload --> message
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    CloseSent,
    Finished,
}

/// A frame whose head is decoded and whose payload is due.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    opcode: OpCode,
    fin: bool,
    /// Rotated to apply to the next octet; all 0 in a server's frames.
    mask: [u8; 4],
    /// Octets of payload still to come.
    remaining: u64,
}

/// The payload of a control frame that was split over reads.
#[derive(Debug)]
struct ControlPayload {
    len: u8,
    bytes: [u8; MAX_CONTROL],
}

/// What a call of [`Protocol::decode`] did.
#[derive(Debug)]
pub struct Step<'a> {
    /// Octets of the input that are done with. All of them, unless there is an event or an error.
    pub consumed: usize,
    /// One event, `None` if the input is used up, or what the peer did wrong.
    pub event: Result<Option<Event<'a>>, ProtocolError>,
}

/// Where a complete event lies: free of borrows, which the loop that finds it can't hand out.
enum Found {
    /// A message in one piece.
    InInput { is_text: bool, at: Range<usize> },
    /// A message in `assembly`.
    Assembled,
    /// A control frame, its payload in the input, or in `control`.
    Control {
        opcode: OpCode,
        at: Option<Range<usize>>,
    },
}

/// The state of one conversation as its receiver knows it.
///
/// ```
/// use greenroom_ws::{Event, Limits, OpCode, Protocol, Role, encode_masked};
///
/// let mut input = Vec::new();
/// encode_masked(OpCode::Text, true, b"hello", [1, 2, 3, 4], &mut input);
/// encode_masked(OpCode::Ping, true, b"?", [5, 6, 7, 8], &mut input);
///
/// let mut protocol = Protocol::new(Role::Server, Limits::default());
/// let (mut at, mut heard) = (0, Vec::new());
/// loop {
///     let step = protocol.decode(&mut input[at..]);
///     at += step.consumed;
///     match step.event? {
///         Some(Event::Message(message)) => heard.push(message.into_message().to_string()),
///         Some(Event::Ping(payload)) => heard.push(format!("ping of {}", payload.len())),
///         Some(_) => {}
///         None => break,
///     }
/// }
/// assert_eq!(heard, ["hello", "ping of 1"]);
/// # Ok::<(), greenroom_ws::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct Protocol {
    limits: Limits,
    /// `None`: a head is due.
    frame: Option<Incoming>,
    /// The message that is partly here, boxed so that an idle conversation is small.
    assembly: Option<Box<Assembly>>,
    control: Option<Box<ControlPayload>>,
    /// What the fragments of the message begun have cost so far.
    fragment_cost: usize,
    /// A message is begun that this frame does not finish or has not begun (section 5.4).
    fragmented: bool,
    role: Role,
    phase: Phase,
    /// The first octets of a head that was split over reads.
    head: [u8; FrameHead::MAX_LEN],
    head_len: u8,
}

impl Protocol {
    /// A conversation after the handshake.
    pub fn new(role: Role, limits: Limits) -> Protocol {
        Protocol {
            limits,
            frame: None,
            assembly: None,
            control: None,
            fragment_cost: 0,
            fragmented: false,
            role,
            phase: Phase::Open,
            head: [0; FrameHead::MAX_LEN],
            head_len: 0,
        }
    }

    /// Reads `input` up to the end of one event, or all of it. Call again with the rest after an event.
    ///
    /// Payloads are unmasked in place. What was consumed is never needed again, so when no event comes out the
    /// buffer is free for other uses.
    ///
    /// # Errors
    /// What the peer did wrong, as soon as it is certain; afterwards all input is ignored.
    pub fn decode<'a>(&'a mut self, input: &'a mut [u8]) -> Step<'a> {
        let mut at = 0;
        let found = match self.advance(input, &mut at) {
            Ok(found) => found,
            Err(error) => {
                self.finish();
                return Step {
                    consumed: input.len(),
                    event: Err(error),
                };
            }
        };
        let Some(found) = found else {
            return Step {
                consumed: at,
                event: Ok(None),
            };
        };
        match self.event(found, input) {
            Ok(event) => Step {
                consumed: at,
                event: Ok(Some(event)),
            },
            Err(error) => Step {
                consumed: at,
                event: Err(error),
            },
        }
    }

    /// Our Close went out: from now on data is read past, and only the peer's Close is reported, since that is
    /// what completes the closing handshake (section 7.1.2).
    pub fn close_sent(&mut self) {
        if self.phase == Phase::Open {
            self.phase = Phase::CloseSent;
            self.assembly = None;
            self.fragmented = false;
        }
    }

    /// Whether a frame or a message is partly here.
    pub fn is_partial(&self) -> bool {
        self.phase != Phase::Finished && (self.head_len > 0 || self.frame.is_some() || self.fragmented)
    }

    /// Memory held by the message that is partly here, in octets; 0 if there is none.
    pub fn assembly_bytes(&self) -> usize {
        self.assembly.as_ref().map_or(0, |assembly| assembly.capacity())
    }

    /// Moves through frames until one completes an event.
    fn advance(&mut self, input: &mut [u8], at: &mut usize) -> Result<Option<Found>, ProtocolError> {
        if self.frame.is_none() {
            self.control = None; // the last call has reported it
        }
        while self.phase != Phase::Finished {
            let frame = match self.frame {
                Some(frame) => frame,
                None => match self.read_head(input, at)? {
                    Some(head) => self.begin_frame(head)?,
                    None => return Ok(None),
                },
            };
            let found = self.read_payload(frame, input, at)?;
            if found.is_some() || self.frame.is_some() {
                return Ok(found); // an event, or the payload goes on in the next input
            }
        }
        *at = input.len();
        Ok(None)
    }

    /// The next head; `None` if the input ends inside it, in which case its octets are kept.
    fn read_head(&mut self, input: &[u8], at: &mut usize) -> Result<Option<FrameHead>, ProtocolError> {
        let masked = self.role == Role::Server;
        let rest = &input[*at..];
        let kept = usize::from(self.head_len);
        let more = rest.len().min(FrameHead::MAX_LEN - kept);
        let decoded = if kept == 0 {
            FrameHead::decode(rest, masked)?
        } else {
            self.head[kept..kept + more].copy_from_slice(&rest[..more]);
            FrameHead::decode(&self.head[..kept + more], masked)?
        };
        match decoded {
            Some((head, len)) => {
                self.head_len = 0;
                *at += len - kept; // what was kept was too little, so `len` is more
                Ok(Some(head))
            }
            None => {
                // Too little for a head, so it is all of `rest` and fits.
                self.head[kept..kept + more].copy_from_slice(&rest[..more]);
                self.head_len = (kept + more) as u8;
                *at += more;
                Ok(None)
            }
        }
    }

    /// Checks a head against the conversation so far.
    fn begin_frame(&mut self, head: FrameHead) -> Result<Incoming, ProtocolError> {
        if !head.opcode.is_control() && self.phase == Phase::Open {
            let continues = head.opcode == OpCode::Continuation;
            // 5.4: a fragmented message is one frame with an opcode, "followed by zero or more frames with the
            // FIN bit clear and the opcode set to 0, and terminated by a single frame with the FIN bit set and
            // an opcode of 0"; "the fragments of one message MUST NOT be interleaved".
            if continues && !self.fragmented {
                return Err(ProtocolError::UnexpectedContinuation);
            }
            if !continues && self.fragmented {
                return Err(ProtocolError::ExpectedContinuation);
            }
            let begun = self.assembly.as_ref().map_or(0, |assembly| assembly.len());
            let room = self.limits.max_message.saturating_sub(begun) as u64;
            if head.len > room {
                return Err(ProtocolError::MessageTooBig);
            }
            if continues || !head.fin {
                // The length is within max_message by now, hence within usize.
                let cost = (head.len as usize).saturating_add(Limits::FRAGMENT_COST);
                self.fragment_cost = self.fragment_cost.saturating_add(cost);
                if self.fragment_cost > self.limits.fragment_budget {
                    return Err(ProtocolError::TooManyFragments);
                }
            }
        }
        Ok(Incoming {
            opcode: head.opcode,
            fin: head.fin,
            mask: head.mask.unwrap_or_default(),
            remaining: head.len,
        })
    }

    /// Takes what the input has of the frame's payload. Afterwards `self.frame` says whether more is due.
    fn read_payload(
        &mut self,
        frame: Incoming,
        input: &mut [u8],
        at: &mut usize,
    ) -> Result<Option<Found>, ProtocolError> {
        let available = input.len() - *at;
        let len = usize::try_from(frame.remaining).map_or(available, |remaining| remaining.min(available));
        let range = *at..*at + len;
        *at += len;
        let remaining = frame.remaining - len as u64;
        let complete = remaining == 0;
        self.frame = (!complete).then_some(Incoming {
            mask: mask::rotate(frame.mask, len),
            remaining,
            ..frame
        });

        if self.phase == Phase::CloseSent && frame.opcode != OpCode::Close {
            if complete {
                self.control = None;
            }
            return Ok(None);
        }
        let piece = &mut input[range.clone()];
        if frame.mask != [0; 4] {
            apply_mask(piece, frame.mask, 0);
        }

        if frame.opcode.is_control() {
            if complete && self.control.is_none() {
                return Ok(Some(Found::Control {
                    opcode: frame.opcode,
                    at: Some(range),
                }));
            }
            let control = self.control.get_or_insert_with(|| {
                Box::new(ControlPayload {
                    len: 0,
                    bytes: [0; MAX_CONTROL],
                })
            });
            control.push(piece);
            return Ok(complete.then_some(Found::Control {
                opcode: frame.opcode,
                at: None,
            }));
        }

        let is_text = frame.opcode == OpCode::Text; // a continuation finds its assembly in place
        if self.assembly.is_none() {
            if complete && frame.fin {
                return Ok(Some(Found::InInput { is_text, at: range }));
            }
            if len == 0 && !complete {
                return Ok(None); // perhaps the next input has it in one piece
            }
        }
        let assembly = self
            .assembly
            .get_or_insert_with(|| Box::new(Assembly::new(is_text)));
        assembly.push(piece, remaining, frame.fin)?;
        if !complete {
            return Ok(None);
        }
        self.fragmented = !frame.fin;
        if !frame.fin {
            return Ok(None);
        }
        self.fragment_cost = 0;
        Ok(Some(Found::Assembled))
    }

    /// Makes the event of what was found.
    fn event<'a>(&'a mut self, found: Found, input: &'a [u8]) -> Result<Event<'a>, ProtocolError> {
        let (opcode, payload) = match found {
            Found::InInput { is_text: false, at } => {
                return Ok(Event::Message(Received::Binary(&input[at])));
            }
            Found::InInput { is_text: true, at } => {
                // 8.1: "When an endpoint is to interpret a byte stream as UTF-8 but finds that the byte stream is
                // not, in fact, a valid UTF-8 stream, that endpoint MUST _Fail the WebSocket Connection_."
                return match std::str::from_utf8(&input[at]) {
                    Ok(text) => Ok(Event::Message(Received::Text(text))),
                    Err(_) => {
                        self.finish();
                        Err(ProtocolError::InvalidUtf8)
                    }
                };
            }
            Found::Assembled => {
                let assembly = self.assembly.take().unwrap_or_default();
                let message = assembly.finish().inspect_err(|_| self.finish())?;
                return Ok(Event::Message(Received::Assembled(message)));
            }
            Found::Control { opcode, at: Some(at) } => (opcode, &input[at]),
            Found::Control { opcode, at: None } => (
                opcode,
                self.control.as_deref().map_or(&[][..], ControlPayload::as_slice),
            ),
        };
        Ok(match opcode {
            OpCode::Ping => Event::Ping(payload),
            OpCode::Pong => Event::Pong(payload),
            _ => {
                // finish() would borrow what `payload` may lie in.
                self.phase = Phase::Finished;
                self.assembly = None;
                Event::Close(CloseFrame::parse(payload)?)
            }
        })
    }

    /// Nothing more is decoded; whatever was half received is dropped.
    fn finish(&mut self) {
        self.phase = Phase::Finished;
        self.frame = None;
        self.assembly = None;
        self.control = None;
        self.fragmented = false;
        self.head_len = 0;
    }
}

impl ControlPayload {
    /// Appends; heads with longer payloads were refused, so it fits.
    fn push(&mut self, piece: &[u8]) {
        let start = usize::from(self.len);
        self.bytes[start..start + piece.len()].copy_from_slice(piece);
        self.len += piece.len() as u8;
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
