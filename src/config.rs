//! Every setting of the server, each with its default and the reason for it.
//!
//! [`Config::default`] is what the library runs with; the environment counts only through [`Config::from_env`]. The
//! variables are declared in one place, [`VARIABLES`], from which messages and the README's table come. It does not
//! hold what belongs to one route (origins, subprotocols, message size): that is said where the route is made.

use crate::error::{Error, Kind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The settings of one server and, for the first server of a process, of the runtime.
///
/// ```
/// use greenroom::Config;
/// use std::time::Duration;
///
/// let config = Config { idle_timeout: Duration::from_secs(30), ..Config::default() };
/// assert_eq!(config.max_body, 8 * 1024 * 1024);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen. Default 127.0.0.1:8080: nothing is offered to the network unless asked for.
    pub address: SocketAddr,
    /// Scheduler threads. Default: the cores this process may run on, since a green thread never waits on one.
    pub workers: usize,
    /// Address space of a green thread's stack in bytes, a multiple of 4096, 64 KiB to 16 MiB. Default 256 KiB: only
    /// touched pages cost memory, and an overflow must end the process, so this is generous.
    pub stack_bytes: usize,
    /// Most host threads for blocking jobs. Default 4 x cores, at most 64: they wait more than they compute; started
    /// on demand.
    pub blocking_threads: usize,
    /// Blocking jobs that may wait for a host thread. Default 1,024: beyond that a caller is told `Overloaded`
    /// rather than kept waiting.
    pub blocking_queue: usize,
    /// Deadline for a whole request head and for each wait for body bytes or for the peer to take bytes. Default
    /// 15 s: slower than any honest phone, too short to hoard connections with.
    pub timeout: Duration,
    /// A body slower than this many bytes a second, measured once `timeout` has passed, is answered 408. Default
    /// 8,192.
    pub min_body_rate: u32,
    /// Open connections beyond which new ones are answered 503. Default: the limit of file descriptors less a
    /// reserve of 64 for everything else.
    pub max_connections: usize,
    /// Requests or messages that one connection may have handled in a row while others wait for the worker. Default
    /// 256.
    pub burst: u32,
    /// Longest request head in bytes. Default 64 KiB; beyond: 431.
    pub max_head: usize,
    /// Longest request line in bytes, at least 8,000 (RFC 9112 section 3). Default 16 KiB; beyond: 414.
    pub max_request_line: usize,
    /// Most header lines. Default 100; beyond: 431.
    pub max_headers: usize,
    /// Longest request body in bytes. Default 8 MiB; beyond: 413.
    pub max_body: usize,
    /// Request bodies held in memory by the whole process, in bytes. Default 64 MiB; beyond: 503.
    pub max_upload: usize,
    /// A keep-alive connection without a request is closed silently after this. Default 75 s, longer than the 60 s
    /// after which common proxies drop theirs.
    pub idle_timeout: Duration,
    /// Longest WebSocket message in bytes, for routes that don't set their own. Default 8 MiB; beyond: close 1009.
    pub ws_max_message: usize,
    /// Bytes that may wait in one session's outbox; an empty one admits any single legal message. Default 1 MiB.
    pub ws_max_queue: usize,
    /// A session from which nothing is heard for this long is dropped; zero = never. Default 300 s.
    pub ws_idle_timeout: Duration,
    /// How long a peer may take to answer a Close. Default 5 s.
    pub ws_close_timeout: Duration,
    /// The budget for an orderly stop after SIGTERM or SIGINT. Default 10 s, below the 30 s after which orchestrators
    /// kill.
    pub shutdown: Duration,
    /// Stop on SIGTERM and SIGINT. Default true; an application that handles signals itself turns it off and calls
    /// its server handle.
    pub handle_signals: bool,
}

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            workers: cores,
            stack_bytes: 256 * 1024,
            blocking_threads: (4 * cores).min(64),
            blocking_queue: 1024,
            timeout: Duration::from_secs(15),
            min_body_rate: 8192,
            max_connections: fd_limit().saturating_sub(64).max(16),
            burst: 256,
            max_head: 64 * 1024,
            max_request_line: 16 * 1024,
            max_headers: 100,
            max_body: 8 * 1024 * 1024,
            max_upload: 64 * 1024 * 1024,
            idle_timeout: Duration::from_secs(75),
            ws_max_message: 8 * 1024 * 1024,
            ws_max_queue: 1024 * 1024,
            ws_idle_timeout: Duration::from_secs(300),
            ws_close_timeout: Duration::from_secs(5),
            shutdown: Duration::from_secs(10),
            handle_signals: true,
        }
    }
}

/// The soft limit of file descriptors of this process.
fn fd_limit() -> usize {
    let soft = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    // Without a limit something else binds first; a million is beyond any one process.
    soft.map_or(1_000_000, |soft| usize::try_from(soft).unwrap_or(1_000_000))
}

/// One environment variable: how it is called, what it means, and how its value goes into the settings.
pub struct Variable {
    /// The name in the environment.
    pub name: &'static str,
    /// What is accepted, as the error message says it.
    pub accepts: &'static str,
    /// The default in words.
    pub default: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

/// Parses a whole number within bounds.
fn number<T: TryFrom<u64>>(text: &str, low: u64, high: u64) -> Option<T> {
    let value: u64 = text.trim().parse().ok()?;
    (low..=high).contains(&value).then_some(())?;
    T::try_from(value).ok()
}

fn millis(text: &str, low: u64) -> Option<Duration> {
    number(text, low, 86_400_000).map(Duration::from_millis)
}

const MIB: usize = 1024 * 1024;

/// Every variable that [`Config::from_env`] reads.
pub static VARIABLES: &[Variable] = &[
    Variable {
        name: "PORT",
        accepts: "a port number, 0 to 65535 (0 = any free port)",
        default: "8080",
        meaning: "port to listen on",
        set: |c, v| number(v, 0, 65535).map(|port| c.address.set_port(port)),
    },
    Variable {
        name: "CN1_HTTP_ADDR",
        accepts: "an IPv4 or IPv6 address",
        default: "127.0.0.1",
        meaning: "address to listen on",
        set: |c, v| v.trim().parse().ok().map(|ip: IpAddr| c.address.set_ip(ip)),
    },
    Variable {
        name: "CN1_HTTP_POLL_MODE",
        accepts: "3 or green (a green thread per connection)",
        default: "3",
        meaning: "how connections are run; 3 is the only mode so far",
        set: |_, v| matches!(v.trim(), "3" | "green").then_some(()),
    },
    Variable {
        name: "CN1_HTTP_WORKERS",
        accepts: "a whole number, 1 to 128",
        default: "cores",
        meaning: "scheduler threads",
        set: |c, v| number(v, 1, 128).map(|n| c.workers = n),
    },
    Variable {
        name: "CN1_HTTP_VT_STACK",
        accepts: "bytes, a multiple of 4096, 65536 to 16777216",
        default: "262144",
        meaning: "address space of a green thread's stack; only touched pages cost memory",
        set: |c, v| {
            number(v, 65536, 16_777_216)
                .filter(|n| n % 4096 == 0)
                .map(|n| c.stack_bytes = n)
        },
    },
    Variable {
        name: "CN1_BLOCKING_THREADS",
        accepts: "a whole number, 1 to 1024",
        default: "4 x cores, at most 64",
        meaning: "host threads for blocking jobs, started on demand",
        set: |c, v| number(v, 1, 1024).map(|n| c.blocking_threads = n),
    },
    Variable {
        name: "CN1_HTTP_TIMEOUT_MS",
        accepts: "milliseconds, 1 to 86400000",
        default: "15000",
        meaning: "deadline for a request head, each wait for body bytes, and for the peer to take bytes",
        set: |c, v| millis(v, 1).map(|d| c.timeout = d),
    },
    Variable {
        name: "CN1_HTTP_MIN_BODY_RATE",
        accepts: "bytes a second, 0 to 4294967295 (0 = off)",
        default: "8192",
        meaning: "a body slower than this after the time-out is answered 408",
        set: |c, v| number(v, 0, u64::from(u32::MAX)).map(|n| c.min_body_rate = n),
    },
    Variable {
        name: "CN1_HTTP_MAX_CONNECTIONS",
        accepts: "a whole number, 1 to 10000000",
        default: "the fd limit less 64",
        meaning: "open connections; beyond: 503 with Retry-After",
        set: |c, v| number(v, 1, 10_000_000).map(|n| c.max_connections = n),
    },
    Variable {
        name: "CN1_HTTP_KEEPALIVE_BURST",
        accepts: "a whole number, 1 to 1000000",
        default: "256",
        meaning: "requests or messages of one connection before others get their turn",
        set: |c, v| number(v, 1, 1_000_000).map(|n| c.burst = n),
    },
    Variable {
        name: "CN1_HTTP_MAX_HEAD_KB",
        accepts: "KiB, 8 to 1024",
        default: "64",
        meaning: "longest request head; beyond: 431",
        set: |c, v| number::<usize>(v, 8, 1024).map(|n| c.max_head = n * 1024),
    },
    Variable {
        name: "CN1_HTTP_MAX_BODY_MB",
        accepts: "MiB, 0 to 65536",
        default: "8",
        meaning: "longest request body; beyond: 413",
        set: |c, v| number::<usize>(v, 0, 65536).map(|n| c.max_body = n * MIB),
    },
    Variable {
        name: "CN1_HTTP_MAX_UPLOAD_MB",
        accepts: "MiB, 1 to 1048576",
        default: "64",
        meaning: "request bodies held in memory by the whole process; beyond: 503",
        set: |c, v| number::<usize>(v, 1, 1_048_576).map(|n| c.max_upload = n * MIB),
    },
    Variable {
        name: "CN1_HTTP_IDLE_MS",
        accepts: "milliseconds, 1 to 86400000",
        default: "75000",
        meaning: "an idle keep-alive connection is closed silently after this",
        set: |c, v| millis(v, 1).map(|d| c.idle_timeout = d),
    },
    Variable {
        name: "CN1_WS_MAX_MESSAGE_MB",
        accepts: "MiB, 1 to 1024",
        default: "8",
        meaning: "longest WebSocket message; beyond: close 1009",
        set: |c, v| number::<usize>(v, 1, 1024).map(|n| c.ws_max_message = n * MIB),
    },
    Variable {
        name: "CN1_WS_MAX_QUEUE_KB",
        accepts: "KiB, 1 to 1048576",
        default: "1024",
        meaning: "one session's outbox; beyond: the slow-consumer policy",
        set: |c, v| number::<usize>(v, 1, 1_048_576).map(|n| c.ws_max_queue = n * 1024),
    },
    Variable {
        name: "CN1_WS_IDLE_TIMEOUT_MS",
        accepts: "milliseconds, at most 86400000 (0 or less = never)",
        default: "300000",
        meaning: "a session from which nothing at all is heard for this long is dropped",
        set: |c, v| {
            let ms: i64 = v.trim().parse().ok().filter(|ms| *ms <= 86_400_000)?;
            c.ws_idle_timeout = Duration::from_millis(ms.max(0) as u64);
            Some(())
        },
    },
    Variable {
        name: "CN1_SHUTDOWN_MS",
        accepts: "milliseconds, 0 to 86400000",
        default: "10000",
        meaning: "budget for an orderly stop after SIGTERM or SIGINT",
        set: |c, v| millis(v, 0).map(|d| c.shutdown = d),
    },
];

impl Config {
    /// The defaults, changed by what the environment says.
    ///
    /// # Errors
    /// A value that is not accepted: the error names the variable, the value and what is accepted
    /// ([`Error::is_config`]). Variables that Greenroom doesn't know are ignored.
    pub fn from_env() -> Result<Self, Error> {
        Self::default().with_env()
    }

    /// These settings, changed by what the environment says; for programs with defaults of their own.
    ///
    /// # Errors
    /// As [`Config::from_env`].
    pub fn with_env(self) -> Result<Self, Error> {
        self.with_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn with_variables(mut self, value_of: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        for variable in VARIABLES {
            let Some(value) = value_of(variable.name) else {
                continue;
            };
            if (variable.set)(&mut self, &value).is_none() {
                let text = format!(
                    "{}={:?} is not accepted: expected {}",
                    variable.name, value, variable.accepts
                );
                return Err(Error::with_source(Kind::Config, text));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &'static str, value: &'static str) -> Result<Config, Error> {
        Config::default().with_variables(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn o17_a_value_that_is_not_accepted_stops_the_start_with_name_value_and_what_is_accepted() {
        for variable in VARIABLES {
            let error = set(variable.name, "banana").expect_err(variable.name);
            let text = error.to_string();
            assert!(error.is_config());
            assert!(
                text.contains(variable.name)
                    && text.contains("\"banana\"")
                    && text.contains(variable.accepts),
                "{text}"
            );
        }
    }

    #[test]
    fn values_reach_their_settings() {
        assert_eq!(set("PORT", "9001").unwrap().address.port(), 9001);
        assert!(set("CN1_HTTP_ADDR", "::1").unwrap().address.is_ipv6());
        assert_eq!(set("CN1_HTTP_WORKERS", "3").unwrap().workers, 3);
        assert_eq!(set("CN1_HTTP_MAX_HEAD_KB", "16").unwrap().max_head, 16 * 1024);
        assert_eq!(
            set("CN1_WS_IDLE_TIMEOUT_MS", "-1").unwrap().ws_idle_timeout,
            Duration::ZERO
        );
        assert_eq!(
            set("CN1_HTTP_TIMEOUT_MS", " 250 ").unwrap().timeout,
            Duration::from_millis(250)
        );
    }

    #[test]
    fn bounds_are_enforced() {
        assert!(set("CN1_HTTP_WORKERS", "0").is_err());
        assert!(
            set("CN1_HTTP_VT_STACK", "100000").is_err(),
            "not a multiple of 4096"
        );
        assert!(set("PORT", "65536").is_err());
        assert!(
            set("CN1_HTTP_MAX_HEAD_KB", "4").is_err(),
            "below the 8,000 octets of RFC 9112"
        );
    }
}
