//! `bench coldstart`: time from spawn to the first byte of a response, page cache warm.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::median;
use super::server::{Server, free_port};
use crate::quantity::count;

/// How often a refused connection is tried again: the resolution of the figure.
const RETRY: Duration = Duration::from_micros(50);
/// A server that has not answered after so long never will.
const GIVE_UP: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(super) struct ColdStart {
    /// The server under test
    #[arg(long, default_value = "target/release/examples/bench")]
    server: String,
    /// The floor; build it as the server is built, static or not
    #[arg(long, default_value = "target/release/http_floor {port}")]
    floor: String,
    /// Runs of each, interleaved
    #[arg(short = 'n', long, default_value = "31", value_parser = count)]
    runs: usize,
    /// Exit with 1 if the ratio of the medians is above this
    #[arg(long)]
    at_most: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ColdStart {
    pub(super) fn run(&self) -> Result<bool, String> {
        // The first of each only fills the page cache.
        first_byte(&self.server)?;
        first_byte(&self.floor)?;
        let (mut server, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            server.push(first_byte(&self.server)?);
            floor.push(first_byte(&self.floor)?);
        }
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let ratio = median(&server) / median(&floor);
        if self.json {
            let side = |values: &[f64]| json!({ "median_ms": median(values), "max_ms": most(values) });
            let report = json!({
                "schema": "greenroom-bench/coldstart/1", "runs": self.runs, "page_cache": "warm",
                "server": side(&server), "floor": side(&floor), "ratio_of_medians": ratio,
            });
            println!("{report:#}");
        } else {
            println!(
                "spawn to first response byte, {} interleaved runs, page cache warm",
                self.runs
            );
            println!(
                "server   median {:.3} ms   max {:.3} ms",
                median(&server),
                most(&server)
            );
            println!(
                "floor    median {:.3} ms   max {:.3} ms",
                median(&floor),
                most(&floor)
            );
            println!("ratio    {ratio:.2}");
        }
        Ok(self.at_most.is_none_or(|bar| ratio <= bar))
    }
}

/// Milliseconds from just before the spawn to the first byte that a request gets.
fn first_byte(command: &str) -> Result<f64, String> {
    let port = free_port()?;
    let began = Instant::now();
    let _server = Server::spawn(command, port)?;
    let request = format!("GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let mut stream = loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(stream) => break stream,
            Err(_) if began.elapsed() < GIVE_UP => sleep(RETRY),
            Err(error) => return Err(format!("{command}: {error}")),
        }
    };
    let mut byte = [0];
    stream
        .set_read_timeout(Some(GIVE_UP))
        .and_then(|()| stream.write_all(request.as_bytes()))
        .and_then(|()| stream.read_exact(&mut byte))
        .map_err(|error| format!("{command}: {error}"))?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}
