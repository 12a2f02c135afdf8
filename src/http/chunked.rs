//! The chunked transfer coding (RFC 9112 section 7.1), read with no tolerance at all.
//!
//! Framing is looked at byte by byte, content is skipped over whole. Chunk extensions and trailer fields are checked
//! and dropped: nothing here uses them, and a trailer merged into the fields would let a client change what was
//! decided by the head.
//!
//! ```text
//!            ┌──────────────────────────────────────────────────────────────────┐
//!            v                                                                  │
//!   Size ─> [Extension] ─> SizeLf ─> Data ─> DataCr ─> DataLf ──────────────────┘
//!                            │ size 0
//!                            v
//!                       TrailerStart ─> TrailerName ─> TrailerValue ─> TrailerLf ─┐
//!                            ^   │ CR                                             │
//!                            │   └─────> EndLf ─> Done                            │
//!                            └────────────────────────────────────────────────────┘
//! ```

use super::body::{BodyStep, TOO_LARGE};
use super::head::HeadError;
use super::token::is_tchar;
use ::http::StatusCode;

/// Bytes of chunk extensions in one body. Room for a signature of 85 bytes in each 64 KiB chunk of the largest body
/// that the defaults allow, as object stores' clients send them, and no more: extensions are where endless requests
/// hide (H21).
const MAX_EXTENSION_BYTES: u32 = 16 * 1024;

/// Bytes of trailer fields. Nobody reads them; this is what an honest checksum or two needs, many times over.
const MAX_TRAILER_BYTES: u32 = 8 * 1024;

/// Trailer fields, for the same reason.
const MAX_TRAILERS: u32 = 32;

/// Hexadecimal digits of a chunk size: what fits 64 bits, leading zeros included (H18).
const MAX_SIZE_DIGITS: u8 = 16;

/// Largest chunk size that is taken for a size at all; beyond it somebody is trying to make a counter wrap.
const MAX_SIZE: u64 = i64::MAX as u64;

/// The longest of [`FORBIDDEN_TRAILERS`] and one more, so that a longer name can't match.
const NAME_BUFFER: usize = 20;

/// Fields that frame, route, authenticate or describe the request and therefore must not come after it (RFC 9110
/// section 6.5.1), in lower case.
const FORBIDDEN_TRAILERS: [&str; 21] = [
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "max-forwards",
    "origin",
    "pragma",
    "proxy-authorization",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "transfer_encoding",
    "upgrade",
];

/// Decoder of one chunked body.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// Content that may still come.
    allowance: u64,
    extension_bytes: u32,
    trailer_bytes: u32,
    trailers: u32,
    /// The start of the name of the current trailer field, in lower case.
    name: [u8; NAME_BUFFER],
    name_len: u8,
}

/// Where in the grammar the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size {
        value: u64,
        digits: u8,
    },
    /// In the extensions of a chunk of this size.
    Extension {
        size: u64,
        at: Extension,
    },
    SizeLf {
        size: u64,
    },
    /// In content, of which this much is left.
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
    /// Refused; nothing of what follows can be trusted.
    Failed,
}

/// Where in `chunk-ext` the next byte is (RFC 9112 section 7.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extension {
    /// After white space that only a semicolon may follow.
    Semicolon,
    NameStart,
    Name,
    /// After white space behind a name.
    AfterName,
    ValueStart,
    Value,
    Quoted,
    /// After a backslash.
    QuotedPair,
    AfterQuoted,
}

impl Chunked {
    pub(crate) fn new(max_body: u64) -> Chunked {
        Chunked {
            state: State::Size { value: 0, digits: 0 },
            allowance: max_body,
            extension_bytes: 0,
            trailer_bytes: 0,
            trailers: 0,
            name: [0; NAME_BUFFER],
            name_len: 0,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// As [`super::body::BodyDecoder::decode`].
    pub(crate) fn decode(&mut self, input: &[u8]) -> Result<BodyStep, HeadError> {
        let mut at = 0;
        while at < input.len() {
            match self.state {
                State::Done => break,
                State::Data { left } => {
                    let rest = input.len() - at;
                    let len = usize::try_from(left).map_or(rest, |left| left.min(rest));
                    let left = left - len as u64;
                    self.state = if left == 0 {
                        State::DataCr
                    } else {
                        State::Data { left }
                    };
                    return Ok(BodyStep {
                        consumed: at + len,
                        data: at..at + len,
                        done: false,
                    });
                }
                state => match self.step(state, input[at]) {
                    Ok(next) => self.state = next,
                    Err(error) => {
                        self.state = State::Failed;
                        return Err(error);
                    }
                },
            }
            at += 1;
        }
        Ok(BodyStep {
            consumed: at,
            data: at..at,
            done: self.is_done(),
        })
    }

    /// The state after one byte of framing.
    fn step(&mut self, state: State, byte: u8) -> Result<State, HeadError> {
        match (state, byte) {
            (State::Size { value, digits }, _) => self.size(value, digits, byte),
            (State::Extension { size, at }, _) => self.extension(size, at, byte),
            (State::SizeLf { size: 0 }, b'\n') => Ok(State::TrailerStart),
            (State::SizeLf { size }, b'\n') => {
                self.allowance = self.allowance.checked_sub(size).ok_or(TOO_LARGE)?;
                Ok(State::Data { left: size })
            }
            (State::SizeLf { .. }, _) => Err(HeadError::bad("a chunk size line that does not end with CRLF")),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(State::Size { value: 0, digits: 0 }),
            (State::DataCr | State::DataLf, _) => {
                Err(HeadError::bad("chunk data that does not end with CRLF"))
            }
            (State::EndLf, b'\n') => Ok(State::Done),
            (State::TrailerStart, b'\r') => Ok(State::EndLf),
            (
                State::TrailerStart
                | State::TrailerName
                | State::TrailerValue
                | State::TrailerLf
                | State::EndLf,
                _,
            ) => self.trailer(state, byte),
            (State::Data { .. } | State::Done, _) => Ok(state),
            (State::Failed, _) => Err(HeadError::bad("the body was refused already")),
        }
    }

    fn size(&mut self, value: u64, digits: u8, byte: u8) -> Result<State, HeadError> {
        const MALFORMED: HeadError = HeadError::bad("malformed chunk size");
        if let Some(digit) = char::from(byte).to_digit(16) {
            if digits == MAX_SIZE_DIGITS {
                return Err(HeadError::bad("a chunk size of too many digits"));
            }
            // At most 16 digits: nothing is shifted out.
            return Ok(State::Size {
                value: (value << 4) | u64::from(digit),
                digits: digits + 1,
            });
        }
        if digits == 0 || value > MAX_SIZE {
            return Err(MALFORMED);
        }
        let at = match byte {
            b'\r' => return Ok(State::SizeLf { size: value }),
            b';' => Extension::NameStart,
            // White space is legal before a semicolon (RFC 9112 section 7.1.1) and nowhere else.
            b' ' | b'\t' => Extension::Semicolon,
            _ => return Err(MALFORMED),
        };
        self.count_extension_byte()?;
        Ok(State::Extension { size: value, at })
    }

    fn count_extension_byte(&mut self) -> Result<(), HeadError> {
        self.extension_bytes += 1;
        if self.extension_bytes > MAX_EXTENSION_BYTES {
            return Err(HeadError::bad("too many chunk extensions"));
        }
        Ok(())
    }

    fn extension(&mut self, size: u64, at: Extension, byte: u8) -> Result<State, HeadError> {
        use Extension::{
            AfterName, AfterQuoted, Name, NameStart, Quoted, QuotedPair, Semicolon, Value, ValueStart,
        };
        if byte == b'\r' && matches!(at, Name | Value | AfterQuoted) {
            return Ok(State::SizeLf { size });
        }
        self.count_extension_byte()?;
        let next = match (at, byte) {
            (Name | AfterName, b'=') => ValueStart,
            (Semicolon | Name | AfterName | Value | AfterQuoted, b';') => NameStart,
            (Name | AfterName, b' ' | b'\t') => AfterName,
            (Semicolon | Value | AfterQuoted, b' ' | b'\t') => Semicolon,
            (NameStart | ValueStart, b' ' | b'\t') => at,
            (NameStart | Name, _) if is_tchar(byte) => Name,
            (ValueStart, b'"') => Quoted,
            (ValueStart | Value, _) if is_tchar(byte) => Value,
            (Quoted, b'"') => AfterQuoted,
            (Quoted, b'\\') => QuotedPair,
            (Quoted | QuotedPair, _) if is_text(byte) => Quoted,
            _ => return Err(HeadError::bad("malformed chunk extension")),
        };
        Ok(State::Extension { size, at: next })
    }

    /// RFC 9112 section 7.1.2 and RFC 9110 section 6.5.1 (H22).
    fn trailer(&mut self, state: State, byte: u8) -> Result<State, HeadError> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > MAX_TRAILER_BYTES {
            return Err(TOO_MANY_TRAILERS);
        }
        match (state, byte) {
            (State::TrailerStart, _) if is_tchar(byte) => {
                self.trailers += 1;
                if self.trailers > MAX_TRAILERS {
                    return Err(TOO_MANY_TRAILERS);
                }
                self.name_len = 0;
                self.remember(byte);
                Ok(State::TrailerName)
            }
            (State::TrailerName, b':') => {
                let name = &self.name[..usize::from(self.name_len)];
                if FORBIDDEN_TRAILERS
                    .iter()
                    .any(|forbidden| forbidden.as_bytes() == name)
                {
                    return Err(HeadError::bad("a field that is not allowed in a trailer"));
                }
                Ok(State::TrailerValue)
            }
            (State::TrailerName, _) if is_tchar(byte) => {
                self.remember(byte);
                Ok(State::TrailerName)
            }
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerValue, _) if is_text(byte) => Ok(State::TrailerValue),
            (State::TrailerLf, b'\n') => Ok(State::TrailerStart),
            _ => Err(HeadError::bad("malformed trailer")),
        }
    }

    /// Keeps a byte of a name while there is room; names that fill the buffer are longer than any that matters.
    fn remember(&mut self, byte: u8) {
        if let Some(slot) = self.name.get_mut(usize::from(self.name_len)) {
            *slot = byte.to_ascii_lowercase();
            self.name_len += 1;
        }
    }
}

const TOO_MANY_TRAILERS: HeadError = HeadError::new(
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    "too many trailer fields",
);

/// HTAB, SP, visible ASCII and `obs-text`: what field values and quoted strings are made of.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests;
