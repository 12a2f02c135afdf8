//! The `bench` command: what the server costs beside the raw floors. Measurements, not tests.
//!
//! Server and floor take turns on one core, this generator has the other, and the measure is work per second of the *server's* CPU
//! time: the wall rate of a shared machine swings several-fold, this figure a few per cent.

mod cold_start;
mod fan;
mod http;
mod idle_memory;
mod route;
mod server;
mod speed;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "bench",
    about = "The server's speed, memory and start beside the raw floors",
    after_help = "First: cargo build --release --example bench && cargo build --release -p greenroom-floor\n\
Then:  cargo run --release -p greenroom-loadtest --bin bench -- speed all\n\n\
A server command is split at blanks, gets PORT in its environment, and {port} in it is replaced.\n\
Exit status: 0, 1 a figure is beneath its bar, 2 usage or a measurement that could not be made"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Work per server CPU-second, as a ratio to the floor
    Speed(speed::Speed),
    /// Growth of the server's anonymous memory per idle WebSocket session
    IdleMemory(idle_memory::IdleMemory),
    /// Time from spawn to the first byte of a response, as a ratio to the floor
    Coldstart(cold_start::ColdStart),
}

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    crate::poller::raise_fd_limit();
    let outcome = match Cli::parse().verb {
        Verb::Speed(verb) => verb.run(),
        Verb::IdleMemory(verb) => verb.run(),
        Verb::Coldstart(verb) => verb.run(),
    };
    match outcome {
        Ok(true) => 0.into(),
        Ok(false) => 1.into(),
        Err(sentence) => {
            eprintln!("bench: {sentence}");
            2.into()
        }
    }
}

/// The middle value, or the mean of the two in the middle; `values` is not empty.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_median_is_the_middle_of_the_sorted_values() {
        assert_eq!(super::median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(super::median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
