//! The routes that are measured: what each expects of the server and which floor it is held beside.

use std::time::Instant;

use clap::ValueEnum;

use super::fan::FanLoop;
use super::http::HttpLoop;
use crate::connection::Plan;
use crate::echo::EchoLoop;
use crate::failure::Failure;
use crate::frame::Messages;
use crate::handshake;
use crate::target::Target;

/// Connections of the request and echo routes.
const CONNECTIONS: usize = 64;
/// Subscribers of the fan-out route.
const SUBSCRIBERS: usize = 1_000;
/// Bytes in a message.
const SIZE: usize = 64;

/// A route of the bench example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Route {
    /// GET /plaintext, keep-alive, 64 connections
    Plaintext,
    /// Echo of 64 bytes on 64 connections, loop handler
    Ws,
    /// The same, callback handler
    WsCallback,
    /// Each message to 1,000 subscribers; deliveries are counted
    Fan,
    /// All of them
    All,
}

impl Route {
    /// The single routes that this stands for.
    pub(super) fn each(self) -> Vec<Self> {
        if self == Self::All {
            vec![Self::Plaintext, Self::Ws, Self::WsCallback, Self::Fan]
        } else {
            vec![self]
        }
    }

    /// Its path, which is also its name.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Plaintext => "/plaintext",
            Self::Ws => "/ws",
            Self::WsCallback => "/ws-callback",
            Self::Fan => "/fan",
            Self::All => "all",
        }
    }
}

/// A session plan for `path` on a local port.
///
/// # Errors
/// A sentence for the user.
pub(super) fn plan(port: u16, path: &str, size: usize) -> Result<Plan, String> {
    let target = Target::resolve(&format!("ws://127.0.0.1:{port}{path}"))?;
    let request = handshake::request(&target, None, &[]);
    Ok(Plan {
        target,
        request,
        messages: Messages::new(size, false),
    })
}

/// Loads `route` of the server on `port`: once all connections are open, `measure` is called with the function that drives them
/// until an instant and returns the work done (requests, echoes or deliveries).
///
/// # Errors
/// A sentence for the user when anything at all went wrong: such a figure would be worth nothing.
pub(super) fn load(
    route: Route,
    port: u16,
    mut measure: impl FnMut(&mut dyn FnMut(Instant) -> Result<u64, Failure>) -> Result<(), Failure>,
) -> Result<(), String> {
    let plan = plan(port, route.path(), SIZE)?;
    let result =
        match route {
            Route::Plaintext => HttpLoop::new(port, CONNECTIONS)
                .and_then(|mut http| measure(&mut |until| http.run_until(until))),
            Route::Fan => FanLoop::new(&plan, SUBSCRIBERS)
                .and_then(|mut fan| measure(&mut |until| fan.run_until(until))),
            _ => EchoLoop::new(&plan, CONNECTIONS).and_then(|mut echo| {
                echo.connect()?;
                echo.start();
                measure(&mut |until| {
                    let messages = echo.run_until(until)?;
                    echo.failures
                        .iter()
                        .next()
                        .map_or(Ok(messages), |(failure, _)| Err(failure.clone()))
                })
            }),
        };
    result.map_err(|failure| format!("{}: {failure}", route.path()))
}
