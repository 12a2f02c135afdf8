//! An application on a free port, stopped when dropped.

use crate::config::Config;
use crate::server::app::App;
use crate::server::handle::ServerHandle;
use std::net::SocketAddr;
use std::time::Duration;

/// A running server for one test; it is stopped when dropped, with what is still open being dropped after a second.
pub struct TestServer {
    handle: Option<ServerHandle>,
}

impl TestServer {
    /// Serves `app` on a free port of 127.0.0.1, with default settings otherwise.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn start(app: App) -> Self {
        Self::start_with(app, Config::default())
    }

    /// Serves `app` with these settings, but on a free port of 127.0.0.1 and without handling signals. The first
    /// server of a process decides on the runtime's settings (workers, stacks, host threads).
    ///
    /// # Panics
    /// If it can't be started.
    pub fn start_with(app: App, config: Config) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let shutdown = config.shutdown.min(Duration::from_secs(1));
        let config = Config {
            address,
            handle_signals: false,
            shutdown,
            ..config
        };
        match app.start(config) {
            Ok(handle) => Self { handle: Some(handle) },
            Err(error) => panic!("the test server doesn't start: {error}"),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.handle().address()
    }

    /// The server's handle, for its counters.
    pub fn handle(&self) -> &ServerHandle {
        self.handle.as_ref().expect("there until dropped")
    }

    /// Stops it in order and waits for the end.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.stop();
            handle.wait();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.end();
    }
}

impl From<&TestServer> for SocketAddr {
    fn from(server: &TestServer) -> Self {
        server.address()
    }
}
