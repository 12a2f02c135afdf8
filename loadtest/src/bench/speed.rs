//! `bench speed`: work per server CPU-second, server and floor in turn, as a ratio.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::median;
use super::route::{Route, load};
use super::server::Server;
use crate::quantity::{count, duration};

/// Caches, branch predictors and the server's pools are warm after it.
const WARM_UP: Duration = Duration::from_secs(1);

/// The spread of ratios that a quiet machine stays under.
const QUIET: f64 = 0.03;

#[derive(Args)]
pub(super) struct Speed {
    /// Which routes
    #[arg(value_enum, default_value = "all")]
    routes: Route,
    /// The server under test
    #[arg(long, default_value = "target/release/examples/bench")]
    server: String,
    /// The floor of /plaintext
    #[arg(long, default_value = "target/release/http_floor {port}")]
    http_floor: String,
    /// The floor of the WebSocket routes
    #[arg(long, default_value = "target/release/ws_floor {port}")]
    ws_floor: String,
    /// Pairs of runs for each route
    #[arg(long, default_value = "3", value_parser = count)]
    pairs: usize,
    /// Length of a run, after one second of warm-up
    #[arg(short, long, default_value = "3s", value_parser = duration)]
    duration: Duration,
    /// Exit with 1 if the median ratio of any route measured is beneath this
    #[arg(long)]
    at_least: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Speed {
    pub(super) fn run(&self) -> Result<bool, String> {
        let (mut results, mut passed) = (Vec::new(), true);
        for route in self.routes.each() {
            let floor = if route == Route::Plaintext {
                &self.http_floor
            } else {
                &self.ws_floor
            };
            let (mut ratios, mut pairs) = (Vec::new(), Vec::new());
            for pair in 0..self.pairs {
                // A B B A: a drift of the machine falls on both sides.
                let (server, floor) = if pair % 2 == 0 {
                    let server = self.work_per_cpu_second(route, &self.server)?;
                    (server, self.work_per_cpu_second(route, floor)?)
                } else {
                    let floor = self.work_per_cpu_second(route, floor)?;
                    (self.work_per_cpu_second(route, &self.server)?, floor)
                };
                let ratio = server / floor;
                if !self.json {
                    println!(
                        "{:14} server {server:9.0}  floor {floor:9.0}  ratio {ratio:.3}",
                        route.path()
                    );
                }
                ratios.push(ratio);
                pairs.push(json!({ "server": server, "floor": floor, "ratio": ratio }));
            }
            let middle = median(&ratios);
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            passed &= self.at_least.is_none_or(|bar| middle >= bar);
            if !self.json {
                println!(
                    "{:14} median {middle:.3}  ({least:.3} to {most:.3})",
                    route.path()
                );
                if most - least > QUIET {
                    println!(
                        "{:14} spread over {QUIET}: the machine was not quiet, measure again",
                        route.path()
                    );
                }
            }
            results.push(
                json!({ "route": route.path(), "pairs": pairs, "median": middle, "min": least, "max": most }),
            );
        }
        if self.json {
            let unit = "requests, echoes or deliveries per second of the server's CPU time";
            println!(
                "{:#}",
                json!({ "schema": "greenroom-bench/speed/1", "unit": unit, "routes": results })
            );
        }
        Ok(passed)
    }

    fn work_per_cpu_second(&self, route: Route, command: &str) -> Result<f64, String> {
        let server = Server::start(command)?;
        let mut figure = Err(String::new());
        load(route, server.port, |drive| {
            drive(Instant::now() + WARM_UP)?;
            let before = server.cpu_nanoseconds();
            let work = drive(Instant::now() + self.duration)?;
            let after = server.cpu_nanoseconds();
            figure = before.and_then(|before| Ok(work as f64 / ((after? - before) as f64 / 1e9)));
            Ok(())
        })?;
        figure
    }
}
