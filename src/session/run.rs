//! A session's life on its green thread: the handler, then the closing handshake.

use super::drive::{Drive, Ended, Linger};
use super::handle::{Inner, Session};
use super::handler::{SessionEnd, SessionHandler};
use super::shared::{SessionSettings, Shared};
use super::start::SessionStart;
use crate::error::{Error, Result};
use crate::net::buffer::ReadBuffer;
use crate::net::drain::Drain;
use crate::net::stream::Stream;
use crate::outbox::Flushed;
use crate::rt;
use greenroom_ws::CloseCode;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// What a connection hands over when it has become a session; the 101 is written.
pub(crate) struct Start {
    pub(crate) stream: Rc<Stream>,
    /// What came behind the request, perhaps the first frames.
    pub(crate) buffer: ReadBuffer,
    pub(crate) peer: SocketAddr,
    pub(crate) subprotocol: Option<Box<str>>,
    pub(crate) settings: SessionSettings,
    pub(crate) drain: Arc<Drain>,
    pub(crate) run: SessionStart,
}

/// Runs a session to its very end; when it returns, the socket is closed. True if the handler panicked.
pub(crate) fn run(start: Start) -> bool {
    let (inner, run) = prepare(start);
    let _shut = Shut(&inner);
    let panicked = match run {
        SessionStart::Loop(handler) => run_loop(&inner, handler),
        SessionStart::Callback(handler) => run_callbacks(&inner, handler),
    };
    // Whatever happened: the Close handshake as far as the peer takes part, then nobody reaches the socket any more.
    let _ = close(&inner);
    panicked
}

/// Gives the socket up whatever happens.
struct Shut<'a>(&'a Inner);

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.0.shared.shut();
    }
}

// A function of its own, and not inlined, so that its locals don't stay on the stack for the session's life.
#[inline(never)]
fn prepare(start: Start) -> (Rc<Inner>, SessionStart) {
    let Start {
        stream,
        buffer,
        peer,
        subprotocol,
        settings,
        drain,
        run,
    } = start;
    let shared = Shared::new(stream.clone(), peer, subprotocol, &settings);
    let holds_when_full = matches!(run, SessionStart::Callback(_));
    let drive = RefCell::new(Drive::new(&settings, buffer, drain, holds_when_full));
    (
        Rc::new(Inner {
            shared,
            stream,
            drive,
            settings,
        }),
        run,
    )
}

fn run_loop(inner: &Rc<Inner>, handler: Box<dyn FnOnce(Session) -> SessionEnd + Send>) -> bool {
    let session = Session::new(inner.clone());
    let end = catch_unwind(AssertUnwindSafe(move || handler(session)));
    settle(inner, end)
}

fn run_callbacks(inner: &Rc<Inner>, mut handler: Box<dyn SessionHandler>) -> bool {
    let end = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
        let session = inner.shared.session_ref();
        handler.on_open(&session)?;
        while let Some(message) = inner.next_message() {
            handler.on_message(&session, message)?;
        }
        Ok(())
    }));
    let panicked = settle(inner, end);
    // The peer doesn't wait for what `on_close` does. A failure shows in the handshake.
    let _ = inner.shared.outbox.flush(&inner.stream);
    let close = match &inner.drive.borrow().ended {
        Some(Ended::ByPeer(frame)) => frame.clone(),
        _ => None,
    };
    let end = catch_unwind(AssertUnwindSafe(|| handler.on_close(close.as_ref())));
    let panicked = panicked | settle(inner, end.map(Ok));
    // The handler's destructor is its code too; apart, since a second panic while one unwinds ends the process.
    let end = catch_unwind(AssertUnwindSafe(move || drop(handler)));
    panicked | settle(inner, end.map(Ok))
}

/// Chooses the close code by how the handler ended; no effect where a Close is under way already.
fn settle(inner: &Inner, end: std::thread::Result<SessionEnd>) -> bool {
    let outbox = &inner.shared.outbox;
    let session = inner.shared.id;
    match end {
        Ok(Ok(())) => outbox.close(Some(CloseCode::NORMAL), ""),
        // The handler passes on that the session is over: nothing of its own went wrong.
        Ok(Err(error)) if is_over(inner, &error) => outbox.close(Some(CloseCode::NORMAL), ""),
        Ok(Err(error)) => {
            tracing::error!(session, %error, "the session's handler failed");
            outbox.close(Some(CloseCode::INTERNAL_ERROR), "");
        }
        Err(payload) => {
            // The message is the panic hook's affair.
            tracing::error!(session, "the session's handler panicked");
            outbox.close(Some(CloseCode::INTERNAL_ERROR), "");
            // What was thrown has a destructor too.
            let _ = catch_unwind(AssertUnwindSafe(move || drop(payload)));
            return true;
        }
    }
    false
}

/// True if `error` is what `recv` or `send` of this very session answer at its end.
fn is_over(inner: &Inner, error: &Error) -> bool {
    let ended = inner.drive.borrow().ended.is_some() || !inner.shared.outbox.is_open();
    ended && (error.is_closed() || error.is_timeout())
}

/// The closing handshake (RFC 6455 section 7.1): our Close out, theirs in, both within the close time-out; then the
/// server closes the TCP connection first (section 7.1.1).
fn close(inner: &Inner) -> std::io::Result<()> {
    let Inner {
        shared,
        stream,
        drive,
        settings,
    } = inner;
    let until = Instant::now().checked_add(settings.close_timeout);
    let (mut theirs, fault) = {
        let drive = drive.borrow();
        let lost = matches!(drive.ended, Some(Ended::Lost));
        if lost {
            // A peer that has only finished sending may still read the answers.
            shared.outbox.flush(stream)?;
            return Ok(());
        }
        (
            drive.peer_has_closed(),
            matches!(drive.ended, Some(Ended::Fault(_) | Ended::Idle)),
        )
    };
    let mut ours = false;
    loop {
        if !ours && shared.outbox.flush(stream)? == Flushed::CloseSent {
            ours = true;
            drive.borrow_mut().close_sent();
            if fault {
                // The connection is failed (section 7.1.7): no Close is waited for. Half-closing and reading on lets
                // the peer see ours, which a reset would destroy.
                stream.shutdown_write()?;
            }
        }
        let linger = if theirs {
            Linger::Drained
        } else {
            drive.borrow_mut().linger(stream)?
        };
        theirs |= linger == Linger::Over;
        if (ours && theirs) || shared.outbox.is_lost() {
            return Ok(());
        }
        if drive.borrow().is_dropping() || until.is_some_and(|until| until <= Instant::now()) {
            if !ours {
                // Or the system would go on keeping what the peer doesn't take.
                stream.reset_on_close();
            }
            return Ok(());
        }
        if linger == Linger::More {
            rt::yield_now();
        } else {
            stream.wait(until);
        }
    }
}
