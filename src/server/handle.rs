//! Starting and stopping a server.
//!
//! A stop is a drain: the listening socket is closed, idle connections are closed, requests in flight are answered with
//! `Connection: close`, sessions are told, and what isn't done when the budget is used up is dropped. A second signal
//! drops everything at once. Ending the process is the program's own affair: [`App::serve`] returns.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::net::listener;
use crate::rt;
use crate::server::acceptor;
use crate::server::app::App;
use crate::server::counters::ServerCounters;
use crate::server::shared::Shared;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After the budget: how long dropped connections may take to notice.
const LAST_MOMENTS: Duration = Duration::from_secs(1);

impl App {
    /// Serves until the process is told to stop (SIGTERM, SIGINT) and the server has drained.
    ///
    /// ```no_run
    /// use greenroom::{App, Config};
    ///
    /// fn main() -> greenroom::Result<()> {
    ///     App::new().get("/", || "hello").serve(Config::from_env()?)
    /// }
    /// ```
    ///
    /// # Errors
    /// The application doesn't fit together (two routes for one path, a missing state), a setting is wrong, or the
    /// address can't be listened on. Nothing has been served then.
    pub fn serve(self, config: Config) -> Result<()> {
        self.start(config)?.wait();
        Ok(())
    }

    /// Starts serving and returns at once. Green threads, workers and host threads are shared by all servers of the
    /// process and made by the first, after its settings.
    ///
    /// # Errors
    /// As [`App::serve`].
    pub fn start(self, config: Config) -> Result<ServerHandle> {
        let app = self.build()?;
        // First of all, so that who connects meanwhile waits in the backlog.
        let (socket, address) = listener::bind(config.address)?;
        rt::start(&rt::Settings {
            workers: config.workers,
            stack_bytes: config.stack_bytes,
            host_threads: config.blocking_threads,
            host_queue: config.blocking_queue,
        })?;
        let handle_signals = config.handle_signals;
        let handle = ServerHandle {
            shared: Shared::new(app, config, address),
        };
        let seat = handle.shared.drain.admit_acceptor();
        let shared = handle.shared.clone();
        rt::spawn_on(rt::next_worker(), move || acceptor::run(socket, shared, seat))
            .map_err(|error| Error::other(format!("the acceptor can't be started: {error:?}")))?;
        if let Err(error) = handle.attend(handle_signals) {
            handle.abort();
            return Err(error.into());
        }
        Ok(handle)
    }
}

/// A running server. Dropping the handle leaves the server running.
#[derive(Clone)]
pub struct ServerHandle {
    shared: Arc<Shared>,
}

impl ServerHandle {
    /// Where it listens; with the real port, where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Starts the drain and returns at once. The second call does nothing; see [`ServerHandle::abort`].
    pub fn stop(&self) {
        let shared = self.shared.clone();
        if shared.drain.is_draining() {
            return;
        }
        // A thread of its own keeps the budget, whatever the caller does next. Without one (the process has no threads
        // left) everything stops at once.
        let started = std::thread::Builder::new()
            .name("greenroom-drain".into())
            .spawn(move || drain(&shared));
        if started.is_err() {
            self.shared.drain.begin();
            self.shared.drain.drop_rest();
        }
    }

    /// Stops at once: everything that is still open is dropped.
    pub fn abort(&self) {
        self.shared.drain.begin();
        self.shared.drain.drop_rest();
    }

    /// Blocks the calling host thread until the server has stopped: until everything is closed, or for a moment beyond
    /// the budget of the stop.
    ///
    /// # Panics
    /// On a green thread, which must not block its worker.
    pub fn wait(&self) {
        assert!(
            !rt::is_green(),
            "a green thread must not block its worker: wait on a host thread"
        );
        let drain = &self.shared.drain;
        let empty = drain.wait_empty(None, true);
        if !empty && !drain.wait_empty(Some(Instant::now() + LAST_MOMENTS), false) {
            tracing::warn!(
                connections = drain.connections(),
                "stopped with connections still open"
            );
        }
    }

    /// [`stop`](Self::stop) and [`wait`](Self::wait).
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    pub fn shutdown(&self) {
        self.stop();
        self.wait();
    }

    /// True once a stop has been asked for.
    pub fn is_stopping(&self) -> bool {
        self.shared.drain.is_draining()
    }

    /// What has been counted so far.
    pub fn counters(&self) -> ServerCounters {
        self.shared.counters()
    }

    /// One line for the start of a program's output: address, mode, and the limits that bind.
    pub fn start_line(&self) -> String {
        self.to_string()
    }

    /// Starts what nobody's first request has to wait for.
    fn attend(&self, handle_signals: bool) -> io::Result<()> {
        rt::attend()?;
        if !handle_signals {
            return Ok(());
        }
        // Not kept alive by the signal, which outlives every server.
        let shared = Arc::downgrade(&self.shared);
        rt::on_terminate(move || {
            if let Some(shared) = shared.upgrade() {
                ServerHandle { shared }.terminate();
            }
        })
    }

    /// SIGTERM or SIGINT.
    fn terminate(&self) {
        if self.is_stopping() {
            tracing::warn!("a second signal: stopping at once");
            self.abort();
        } else {
            tracing::info!(budget = ?self.shared.config.shutdown, "a signal: stopping");
            self.stop();
        }
    }
}

/// The whole of a stop, on a thread of its own.
fn drain(shared: &Shared) {
    let until = Instant::now() + shared.config.shutdown;
    if !shared.drain.begin() {
        return;
    }
    if !shared.drain.wait_empty(Some(until), true) {
        shared.drain.drop_rest();
    }
}

impl fmt::Display for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.shared.config;
        write!(
            f,
            "listening on http://{} mode=green workers={} max_connections={} max_body={} stack={} shutdown={:?}",
            self.shared.address,
            rt::workers(),
            config.max_connections,
            config.max_body,
            config.stack_bytes,
            config.shutdown,
        )
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle")
            .field("address", &self.shared.address)
            .field("stopping", &self.is_stopping())
            .finish_non_exhaustive()
    }
}
