//! The body of a request while it is still on the connection.
//!
//! A handler that wants the body reads it from deep within its extractors, so the connection is lent to the request for
//! the time of the handler ([`BodySource`]). Only then does `100 Continue` go out. Memory grows by what has been
//! received, never by what was announced, and counts towards a budget of the whole process until the request is
//! answered. What a handler leaves unread is thrown away within bounds, or the connection closes: bytes of a body are
//! never taken for a request.

use crate::http::body::BodyDecoder;
use crate::http::encode;
use crate::http::head::HeadError;
use crate::net::buffer::Filled;
use crate::server::connection::{Connection, Gone};
use crate::server::request::{BodyError, BodySource};
use ::http::StatusCode;
use bytes::Bytes;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// An unread rest up to this many bytes is read and thrown away, since that is cheaper than a new connection.
const DISCARDED: u64 = 64 * 1024;

/// How long the rest may take to come.
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// Bodies held in memory by all servers of the process, in bytes.
static UPLOADS: AtomicUsize = AtomicUsize::new(0);

/// How far the body of the present request has been read.
pub(crate) struct BodyState {
    decoder: BodyDecoder,
    /// The client waits for `100 Continue` and has neither got it nor sent anything.
    continue_pending: bool,
    failed: Option<BodyError>,
    /// How long was waited for it, all waits together.
    waited: Duration,
    upload: Upload,
}

/// What is left of a body when the handler has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// It was read, or there was none.
    Nothing,
    /// So little that it can be thrown away behind the answer.
    Little,
    /// The connection can't be used again.
    TooMuch,
    /// The peer left in the middle of it.
    Gone,
}

/// A share of the memory for uploads, given back when dropped.
#[derive(Default)]
struct Upload {
    bytes: usize,
}

impl Upload {
    /// Takes `more` bytes, unless all uploads together would then be more than `most`.
    fn grow(&mut self, more: usize, most: usize) -> Result<(), BodyError> {
        let before = UPLOADS.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        if before + more > most {
            self.release();
            return Err(BodyError::Overloaded);
        }
        Ok(())
    }

    fn release(&mut self) {
        UPLOADS.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.release();
    }
}

impl BodyState {
    pub(crate) fn new(decoder: BodyDecoder, expects_continue: bool) -> BodyState {
        BodyState {
            decoder,
            continue_pending: expects_continue,
            failed: None,
            waited: Duration::ZERO,
            upload: Upload::default(),
        }
    }
}

impl From<HeadError> for BodyError {
    fn from(error: HeadError) -> BodyError {
        match error.status {
            StatusCode::PAYLOAD_TOO_LARGE => BodyError::TooLarge,
            _ => BodyError::Malformed(error.reason),
        }
    }
}

impl From<Gone> for BodyError {
    fn from(gone: Gone) -> BodyError {
        match gone {
            Gone::TimedOut => BodyError::TimedOut,
            Gone::Closed => BodyError::Closed,
        }
    }
}

impl BodySource for Connection {
    fn read_to_end(&mut self) -> Result<Bytes, BodyError> {
        // Out of the connection while it is read, since both are needed.
        let Some(mut body) = self.body.take() else {
            return Ok(Bytes::new());
        };
        let result = self.collect(&mut body);
        body.failed = result.as_ref().err().copied();
        self.body = Some(body);
        result
    }
}

impl Connection {
    fn collect(&mut self, body: &mut BodyState) -> Result<Bytes, BodyError> {
        let mut content = Vec::new();
        let mut received = 0;
        loop {
            while !self.buffer.is_empty() && !body.decoder.is_done() {
                body.continue_pending = false;
                let unread = self.buffer.unread();
                let step = body.decoder.decode(unread)?;
                let data = &unread[step.data];
                body.upload.grow(data.len(), self.shared.config.max_upload)?;
                content
                    .try_reserve(data.len())
                    .map_err(|_| BodyError::Overloaded)?;
                content.extend_from_slice(data);
                received += step.consumed as u64;
                self.buffer.consume(step.consumed);
            }
            if body.decoder.is_done() {
                return Ok(content.into());
            }
            self.await_body(body, received)?;
        }
    }

    /// Parks until more of the body is there.
    fn await_body(&mut self, body: &mut BodyState, received: u64) -> Result<(), BodyError> {
        loop {
            match self.buffer.fill(&self.stream).map_err(Gone::from)? {
                Filled::Bytes(_) => return Ok(()),
                Filled::Nothing => {}
                // Everything was consumed before: there is room.
                Filled::End | Filled::Full => return Err(BodyError::Closed),
            }
            if std::mem::take(&mut body.continue_pending) {
                self.settle()?;
                self.write_all(encode::CONTINUE, &[])?;
                continue;
            }
            let timeout = self.shared.config.timeout;
            if body.waited > timeout && is_slow(received, body.waited, self.shared.config.min_body_rate) {
                return Err(BodyError::TimedOut);
            }
            let start = Instant::now();
            let waited = self.wait(start.checked_add(timeout));
            body.waited += start.elapsed();
            waited?;
        }
    }

    /// Looks what the handler has left of the body and, if it is in the buffer already, throws it away.
    pub(crate) fn leftover(&mut self) -> Leftover {
        let Some(body) = &mut self.body else {
            return Leftover::Nothing;
        };
        let leftover = match body.failed {
            Some(BodyError::Closed) => Leftover::Gone,
            Some(_) => Leftover::TooMuch,
            None => loop {
                if body.decoder.is_done() {
                    break Leftover::Nothing;
                }
                if self.buffer.is_empty() {
                    // A client that waits for `100 Continue` may or may not send the body now: nobody can know.
                    let little = body.decoder.remaining().is_none_or(|rest| rest <= DISCARDED);
                    break if little && !body.continue_pending {
                        Leftover::Little
                    } else {
                        Leftover::TooMuch
                    };
                }
                body.continue_pending = false;
                match body.decoder.decode(self.buffer.unread()) {
                    Ok(step) => self.buffer.consume(step.consumed),
                    Err(_) => break Leftover::TooMuch,
                }
            },
        };
        if leftover != Leftover::Little {
            self.body = None;
        }
        leftover
    }

    /// Reads the rest of the body and throws it away.
    ///
    /// # Errors
    /// It didn't come in time, or there was more than expected: the connection can't be used again.
    pub(crate) fn discard_body(&mut self) -> Result<(), Gone> {
        let Some(mut body) = self.body.take() else {
            return Ok(());
        };
        let mut until = None;
        let mut discarded = 0;
        while !body.decoder.is_done() {
            if self.buffer.is_empty() {
                match self.buffer.fill(&self.stream)? {
                    Filled::Bytes(_) => {}
                    Filled::Nothing => {
                        let time = DISCARD_TIME.min(self.shared.config.timeout);
                        self.wait(Some(*until.get_or_insert_with(|| Instant::now() + time)))?;
                        continue;
                    }
                    Filled::End | Filled::Full => return Err(Gone::Closed),
                }
            }
            let step = body
                .decoder
                .decode(self.buffer.unread())
                .map_err(|_| Gone::Closed)?;
            self.buffer.consume(step.consumed);
            discarded += step.consumed as u64;
            if discarded > DISCARDED {
                return Err(Gone::Closed);
            }
        }
        Ok(())
    }
}

/// Fewer than `rate` bytes for each second of waiting.
fn is_slow(received: u64, waited: Duration, rate: u32) -> bool {
    u128::from(received) * 1000 < waited.as_millis() * u128::from(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_a_body_below_the_minimum_rate_is_slow() {
        let waited = Duration::from_secs(16);
        assert!(is_slow(16 * 8192 - 1, waited, 8192));
        assert!(!is_slow(16 * 8192, waited, 8192));
        assert!(!is_slow(0, waited, 0), "0 switches it off");
    }

    #[test]
    fn uploads_are_bounded_over_the_whole_process_and_given_back() {
        // Far above what other tests of this process upload meanwhile.
        const GIB: usize = 1 << 30;
        let mut first = Upload::default();
        first.grow(6 * GIB, 8 * GIB).unwrap();
        let mut second = Upload::default();
        assert_eq!(second.grow(4 * GIB, 8 * GIB), Err(BodyError::Overloaded));
        drop(first);
        second.grow(4 * GIB, 8 * GIB).unwrap();
    }
}
