//! The `loadtest` command: one verb for each question that a server's user has. So far: `ws`.

use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand, ValueEnum};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::connection::Plan;
use crate::echo::EchoLoop;
use crate::failure::{Failure, Failures};
use crate::frame::Messages;
use crate::handshake;
use crate::latency::Latency;
use crate::poller::raise_fd_limit;
use crate::quantity::{count, duration};
use crate::target::Target;
use crate::verdict::Verdict;

/// Messages of the first second are thrown away: sockets, caches and the server's pools warm up in it.
const WARM_UP: Duration = Duration::from_secs(1);

/// The largest message: what servers commonly refuse to exceed, and 16 variants of it still fit in memory.
const MAX_SIZE: usize = 16 * 1024 * 1024;

const STATUSES: &str =
    "Exit status: 0 the figure stands, 2 usage, 3 the figure can't be trusted, 4 the server is gone";

#[derive(Parser)]
#[command(name = "loadtest", about = "Load tests for realtime servers", after_help = format!("Example: loadtest ws ws://127.0.0.1:8080/ws -c 64 -d 10s\n\n{STATUSES}"))]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// How fast a WebSocket route echoes: closed loop, one message in flight on each connection
    #[command(after_help = format!("Example: loadtest ws ws://127.0.0.1:8080/ws -c 1k -d 30s --size 16384 --binary\n\n{STATUSES}"))]
    Ws(Ws),
}

#[derive(Args)]
struct Ws {
    /// ws://host:port/path
    url: String,
    /// Connections; takes k and m
    #[arg(short, long, default_value = "64", value_parser = count)]
    connections: usize,
    /// How long to measure, after one second of warm-up; takes ms, s and m
    #[arg(short, long, default_value = "10s", value_parser = duration)]
    duration: Duration,
    /// Threads, each with its own epoll
    #[arg(short, long, default_value = "1", value_parser = count)]
    threads: usize,
    /// Bytes in a message, 16 MiB at most; takes k and m (thousands and millions)
    #[arg(long, default_value = "64", value_parser = count)]
    size: usize,
    /// Send binary messages rather than text
    #[arg(long)]
    binary: bool,
    /// Subprotocol to offer
    #[arg(long)]
    subprotocol: Option<String>,
    /// A further header of the handshake, 'Name: value'
    #[arg(short = 'H', long = "header")]
    headers: Vec<String>,
    /// How to print the result
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum, PartialEq)]
enum Output {
    Text,
    Json,
}

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    let Verb::Ws(arguments) = Cli::parse().verb;
    match arguments.run() {
        Ok(verdict) => verdict.exit_status().into(),
        Err(sentence) => {
            eprintln!("loadtest: {sentence}");
            2.into()
        }
    }
}

/// What one thread brings home.
struct Share {
    open: usize,
    latency: Latency,
    failures: Failures,
    elapsed: Duration,
    /// Of a core, while measuring.
    busy: f64,
}

impl Ws {
    fn run(&self) -> Result<Verdict, String> {
        let bad = |text: &String| text.bytes().any(|byte| byte < b' ' || byte == 0x7f);
        if self
            .headers
            .iter()
            .any(|header| !header.contains(':') || bad(header))
        {
            return Err("a header is written 'Name: value'".into());
        }
        if self.subprotocol.as_ref().is_some_and(bad) {
            return Err("a subprotocol has no control characters".into());
        }
        if self.size > MAX_SIZE {
            return Err(format!("--size is {MAX_SIZE} at most"));
        }
        if self.threads > self.connections {
            return Err("there are more threads than connections".into());
        }
        raise_fd_limit();
        let target = Target::resolve(&self.url)?;
        let request = handshake::request(&target, self.subprotocol.as_deref(), &self.headers);
        let plan = Plan {
            target,
            request,
            messages: Messages::new(self.size, self.binary),
        };
        let everyone_connected = Barrier::new(self.threads);
        let shares: Vec<Share> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let extra = usize::from(thread < self.connections % self.threads);
                    let connections = self.connections / self.threads + extra;
                    let (plan, barrier) = (&plan, &everyone_connected);
                    scope.spawn(move || measure(plan, connections, self.duration, barrier))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a generator thread panicked"))
                .collect()
        });
        Ok(self.report(shares))
    }

    fn report(&self, shares: Vec<Share>) -> Verdict {
        let (mut latency, mut failures) = (Latency::default(), Failures::default());
        let (mut open, mut rate, mut busy, mut elapsed) = (0, 0.0, 0.0_f64, 0.0_f64);
        for share in shares {
            latency.merge(&share.latency);
            failures.merge(share.failures);
            open += share.open;
            busy = busy.max(share.busy);
            let seconds = share.elapsed.as_secs_f64();
            elapsed = elapsed.max(seconds);
            if seconds > 0.0 {
                rate += share.latency.count() as f64 / seconds;
            }
        }
        let verdict = Verdict::of(open, latency.count(), &failures, busy);
        if self.output == Output::Json {
            let errors: serde_json::Map<_, _> = failures
                .iter()
                .map(|(cause, count)| (cause.to_string(), json!(count)))
                .collect();
            let percentiles: serde_json::Map<_, _> = latency
                .percentiles()
                .iter()
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect();
            let report = json!({
                "schema": "greenroom-loadtest/ws/1", "url": self.url, "connections": self.connections,
                "open_at_end": open, "threads": self.threads, "size": self.size, "binary": self.binary,
                "seconds": elapsed, "messages": latency.count(), "messages_per_second": rate,
                "latency_ms": (latency.count() > 0).then_some(percentiles), "generator_busy": busy, "errors": errors, "verdict": verdict.sentence(),
            });
            println!("{report:#}");
            return verdict;
        }
        let kind = if self.binary { "binary" } else { "text" };
        println!(
            "{}   {} connections, {} messages of {} bytes, closed loop",
            self.url, self.connections, kind, self.size
        );
        println!("messages    {} in {elapsed:.2} s   {rate:.0}/s", latency.count());
        if latency.count() > 0 {
            print!("latency ms ");
            latency
                .percentiles()
                .iter()
                .for_each(|(name, value)| print!(" {name} {value:.3} "));
            println!();
        }
        println!("generator   busiest thread {:.0} % of a core", busy * 100.0);
        failures
            .iter()
            .for_each(|(cause, count)| println!("error       {cause}: {count}"));
        println!("verdict     {}", verdict.sentence());
        verdict
    }
}

fn measure(plan: &Plan, connections: usize, duration: Duration, everyone_connected: &Barrier) -> Share {
    let mut share = Share {
        open: 0,
        latency: Latency::default(),
        failures: Failures::default(),
        elapsed: Duration::ZERO,
        busy: 0.0,
    };
    let mut echo = match EchoLoop::new(plan, connections) {
        Ok(echo) => echo,
        Err(failure) => {
            share.failures.add(failure);
            everyone_connected.wait();
            return share;
        }
    };
    let connected = echo.connect();
    everyone_connected.wait();
    let measured = connected.and_then(|()| {
        echo.start();
        echo.run_until(Instant::now() + WARM_UP)?;
        echo.latency = Latency::default();
        let (began, cpu) = (Instant::now(), thread_cpu());
        echo.run_until(began + duration)?;
        share.elapsed = began.elapsed();
        share.busy = (thread_cpu() - cpu) / share.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        Ok::<_, Failure>(())
    });
    if let Err(failure) = measured {
        echo.failures.add(failure);
    }
    share.open = echo.open();
    (share.latency, share.failures) = (echo.latency, echo.failures);
    share
}

/// CPU time of this thread in seconds.
fn thread_cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
