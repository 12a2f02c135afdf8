//! `bench idle-memory`: what an idle session costs the server, after it has had a small and a large message.

use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::route::plan;
use super::server::Server;
use crate::echo::EchoLoop;
use crate::quantity::count;

/// Time for the server to free what it frees once nothing happens any more.
const SETTLE: Duration = Duration::from_secs(2);

#[derive(Args)]
pub(super) struct IdleMemory {
    /// The server under test
    #[arg(long, default_value = "target/release/examples/bench")]
    server: String,
    /// The WebSocket route; it must echo
    #[arg(long, default_value = "/ws")]
    path: String,
    /// Sessions
    #[arg(short, long, default_value = "10k", value_parser = count)]
    connections: usize,
    /// Exit with 1 if a session takes more bytes than this
    #[arg(long)]
    at_most: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl IdleMemory {
    pub(super) fn run(&self) -> Result<bool, String> {
        let server = Server::start(&self.server)?;
        sleep(SETTLE);
        let rest = server.anonymous_memory()?;
        let small = plan(server.port, &self.path, 64)?;
        let large = plan(server.port, &self.path, 16 * 1024)?;
        let failed = |failure| format!("{}: {failure}", self.path);
        let mut sessions = EchoLoop::new(&small, self.connections).map_err(failed)?;
        sessions.connect().map_err(failed)?;
        sessions.echo_once(&small).map_err(failed)?;
        sessions.echo_once(&large).map_err(failed)?;
        sleep(SETTLE);
        let grown = server.anonymous_memory()?;
        let per_session = (grown as f64 - rest as f64) / self.connections as f64;
        if self.json {
            let report = json!({
                "schema": "greenroom-bench/idle-memory/1", "path": self.path, "sessions": self.connections,
                "rss_anon_at_rest": rest, "rss_anon_idle": grown, "bytes_per_session": per_session,
            });
            println!("{report:#}");
        } else {
            println!(
                "{}   {} sessions, each after echoes of 64 bytes and 16 KiB",
                self.path, self.connections
            );
            println!("RssAnon at rest   {rest} bytes");
            println!("RssAnon now       {grown} bytes");
            println!("per session       {per_session:.0} bytes");
        }
        Ok(self.at_most.is_none_or(|bar| per_session <= bar))
    }
}
