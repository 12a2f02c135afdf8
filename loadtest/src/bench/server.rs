//! A server process under measurement: started on a core of its own, sampled through /proc, ended when dropped.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A server that does not listen after so long has failed to start.
const START: Duration = Duration::from_secs(10);

pub(super) struct Server {
    child: Child,
    /// Where it listens.
    pub(super) port: u16,
}

impl Server {
    /// Starts `command` on a free port and pins it to the first core this process may use; this thread moves to the last.
    pub(super) fn start(command: &str) -> Result<Self, String> {
        let mut server = Self::spawn(command, free_port()?)?;
        let give_up = Instant::now() + START;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{command}: ended at once with {status}"));
            }
            if Instant::now() > give_up {
                return Err(format!("{command}: does not listen on port {}", server.port));
            }
            sleep(Duration::from_millis(2));
        }
        Ok(server)
    }

    /// Starts `command` as [`Self::start`] does, without waiting until it listens on `port`.
    pub(super) fn spawn(command: &str, port: u16) -> Result<Self, String> {
        let (server_core, own_core) = cores()?;
        let command_line = command.replace("{port}", &port.to_string());
        let mut words = command_line.split_whitespace();
        let program = words.next().ok_or("an empty server command")?;
        // A child starts with its parent's affinity, so every thread of it has it.
        pin(server_core)?;
        let child = Command::new(program)
            .args(words)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        pin(own_core)?;
        let child = child.map_err(|error| format!("{program}: {error}"))?;
        Ok(Self { child, port })
    }

    /// CPU time of all its threads so far, in nanoseconds; what ended threads used is not in it.
    pub(super) fn cpu_nanoseconds(&self) -> Result<u64, String> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let mut sum = 0;
        for task in fs::read_dir(&tasks)
            .map_err(|error| format!("{tasks}: {error}"))?
            .flatten()
        {
            let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else {
                continue;
            };
            sum += text
                .split(' ')
                .next()
                .and_then(|number| number.parse::<u64>().ok())
                .unwrap_or(0);
        }
        if sum == 0 {
            Err("no schedstat in /proc: this kernel can't be measured on".into())
        } else {
            Ok(sum)
        }
    }

    /// Its anonymous resident memory (RssAnon) in bytes.
    pub(super) fn anonymous_memory(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        text.lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .and_then(|rest| rest.trim().strip_suffix(" kB"))
            .and_then(|kibibytes| kibibytes.trim().parse::<u64>().ok())
            .map(|kibibytes| kibibytes * 1024)
            .ok_or_else(|| format!("{path} has no RssAnon"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> Result<u16, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port: {error}"))
}

/// The cores of the server and of the generator, as this process was allowed them at first.
fn cores() -> Result<(usize, usize), String> {
    use std::sync::OnceLock;
    static CORES: OnceLock<Option<(usize, usize)>> = OnceLock::new();
    CORES
        .get_or_init(|| {
            let allowed = sched_getaffinity(None).ok()?;
            let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
            Some((cores.next()?, cores.next_back()?))
        })
        .ok_or_else(|| "two cores are needed: one for the server, one for the generator".into())
}

fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|error| format!("core {core}: {error}"))
}
