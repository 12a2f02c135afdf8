//! Requests and their answers: what one connection does with the bytes in its buffer.
//!
//! Parses heads, calls the application, encodes answers, and decides what becomes of the connection (RFC 9112 sections
//! 9.3 and 9.6). Answers to pipelined requests are collected and written together, in order. Functions take the
//! connection by value and give it back unless it is over: whoever has none can't go on with it by mistake, and a
//! request with a body can have it for as long as its handler runs.

use crate::http::body::BodyDecoder;
use crate::http::encode::{self, Context};
use crate::http::head::{Framing, HeadError, Parse};
use crate::http::response::Response;
use crate::server::answer;
use crate::server::connection::{Connection, Gone, Upgraded};
use crate::server::incoming::{BodyState, Leftover};
use crate::server::request::{Incoming, Request, RequestBody};
use crate::server::shared::Shared;
use crate::server::upgrade::PreparedUpgrade;
use ::http::{Method, StatusCode, Version};
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Answers that are collected before they are written although more requests are there: the client can start on them,
/// and the buffer stays small.
const FLUSH_AT: usize = 32 * 1024;

/// A body up to this size is copied behind its head; a larger one is written from where it lies.
const COPIED_BODY: usize = 4 * 1024;

/// Why a connection leaves the loop.
pub(crate) enum End {
    /// Nothing more is to be said.
    Close,
    /// An answer was sent that the client has yet to see.
    Linger(Box<Connection>),
    Upgraded(Box<Upgraded>),
}

/// Answers what is in the buffer, until it is empty.
pub(crate) fn serve(
    mut connection: Box<Connection>,
    request: &mut Request,
    shared: &Arc<Shared>,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let mut head_deadline = None;
    loop {
        match request
            .head
            .parse(connection.buffer.unread(), &shared.head_limits)
        {
            Ok(Parse::Done(length)) => {
                head_deadline = None;
                connection.buffer.consume(length);
                shared.here().requests.add_one();
                connection = match request.head.framing() {
                    Framing::None | Framing::Length(0) => {
                        let response = call(request, shared);
                        answer(connection, request, response, shared, out)?
                    }
                    framing => with_body(connection, request, framing, shared, out)?,
                };
                connection.take_turns(out)?;
                if connection.buffer.is_empty() {
                    connection.leave(out)?;
                    return ControlFlow::Continue(connection);
                }
            }
            Ok(Parse::Partial) => {
                connection.flush(out)?;
                if connection.buffer.is_empty() {
                    return ControlFlow::Continue(connection);
                }
                match connection.await_head(&mut head_deadline) {
                    Ok(()) => {}
                    Err(Gone::Closed) => return ControlFlow::Break(End::Close),
                    Err(Gone::TimedOut) => {
                        let error = HeadError {
                            status: StatusCode::REQUEST_TIMEOUT,
                            reason: "the request head came too slowly",
                        };
                        return refuse(connection, error, false, shared, out);
                    }
                }
            }
            Err(error) => return refuse(connection, error, false, shared, out),
        }
    }
}

/// Serves a request that has a body: lends the connection to it, so that the handler can read.
fn with_body(
    mut connection: Box<Connection>,
    request: &mut Request,
    framing: Framing,
    shared: &Arc<Shared>,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let decoder = match BodyDecoder::new(framing, shared.config.max_body as u64) {
        Ok(decoder) => decoder,
        Err(error) => {
            let head_request = *request.method() == Method::HEAD;
            return refuse(connection, error, head_request, shared, out);
        }
    };
    let is_here = decoder
        .remaining()
        .is_some_and(|length| length <= connection.buffer.unread().len() as u64);
    if !is_here {
        // The client may wait for earlier answers before it sends the rest.
        connection.flush(out)?;
    }
    connection.body = Some(BodyState::new(decoder, request.head.expects_continue()));
    request.body = RequestBody::Incoming(Incoming::new(connection));
    let response = call(request, shared);
    let RequestBody::Incoming(incoming) = std::mem::replace(&mut request.body, RequestBody::Empty) else {
        // Nobody else can change the body; without its connection there is nothing to answer.
        return ControlFlow::Break(End::Close);
    };
    let lent: Box<dyn Any> = incoming.source;
    match lent.downcast::<Connection>() {
        Ok(connection) => answer(connection, request, response, shared, out),
        Err(_) => ControlFlow::Break(End::Close),
    }
}

/// Runs router, middleware and handler. A panic ends this request only.
fn call(request: &mut Request, shared: &Shared) -> Response {
    match catch_unwind(AssertUnwindSafe(|| shared.app.call(request))) {
        Ok(response) => response,
        Err(payload) => panicked(&*payload, shared),
    }
}

#[cold]
fn panicked(payload: &(dyn Any + Send), shared: &Shared) -> Response {
    shared.here().panics.add_one();
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    answer::internal_error(format_args!("the handler panicked: {text}")).closing()
}

/// Puts the answer into `out` and decides what becomes of the connection.
fn answer(
    mut connection: Box<Connection>,
    request: &mut Request,
    mut response: Response,
    shared: &Shared,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let prepared = request.upgrade.take();
    if !request.extensions.is_empty() {
        request.extensions.clear();
    }
    let leftover = connection.leftover();
    if leftover == Leftover::Gone {
        return ControlFlow::Break(End::Close);
    }
    let draining = shared.drain.is_draining();
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        match prepared {
            Some(prepared) if !draining && leftover == Leftover::Nothing => {
                return upgrade(connection, &response, prepared, out);
            }
            _ => response = unavailable(),
        }
    }
    let head = &request.head;
    let keep_alive =
        head.keep_alive() && !response.is_closing() && !draining && leftover != Leftover::TooMuch;
    let context = Context {
        head_request: *head.method() == Method::HEAD,
        http11: head.version() != Version::HTTP_10,
        keep_alive,
    };
    if encode::head(out, &response, context) {
        let body = response.body();
        if body.len() <= COPIED_BODY {
            out.extend_from_slice(body);
        } else {
            connection.send(out, body)?;
        }
    }
    drop(response);
    if out.len() >= FLUSH_AT {
        connection.flush(out)?;
    }
    if !keep_alive {
        connection.flush(out)?;
        // A client that asked for the close sends nothing more; any other may.
        let expected = !head.keep_alive() && leftover == Leftover::Nothing && connection.buffer.is_empty();
        return ControlFlow::Break(if expected {
            End::Close
        } else {
            End::Linger(connection)
        });
    }
    if leftover == Leftover::Little {
        connection.flush(out)?;
        if connection.discard_body().is_err() {
            return ControlFlow::Break(End::Close);
        }
    }
    ControlFlow::Continue(connection)
}

/// Sends the `101` and lets go of everything that belongs to HTTP.
#[cold]
fn upgrade(
    mut connection: Box<Connection>,
    response: &Response,
    prepared: Box<PreparedUpgrade>,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let context = Context {
        head_request: false,
        http11: true,
        keep_alive: true,
    };
    encode::head(out, response, context);
    connection.flush(out)?;
    let Connection { stream, buffer, .. } = *connection;
    ControlFlow::Break(End::Upgraded(Box::new(Upgraded {
        stream,
        leftover: buffer,
        prepared,
    })))
}

/// No new sessions while the server stops.
fn unavailable() -> Response {
    Response::error(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping\n")
        .with_header("retry-after", "5")
}

/// Answers a request that no handler sees, and closes.
#[cold]
fn refuse(
    mut connection: Box<Connection>,
    error: HeadError,
    head_request: bool,
    shared: &Shared,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    shared.here().bad_requests.add_one();
    let response = encode::error_response(error);
    let context = Context {
        head_request,
        http11: true,
        keep_alive: false,
    };
    if encode::head(out, &response, context) {
        out.extend_from_slice(response.body());
    }
    connection.flush(out)?;
    ControlFlow::Break(End::Linger(connection))
}
