//! The closed echo loop: each connection keeps one message in flight and checks what comes back.

use std::time::{Duration, Instant};

use rustix::event::epoll::Event;

use crate::connection::{Connection, Plan, Step};
use crate::failure::{Failure, Failures};
use crate::latency::Latency;
use crate::poller::Poller;

/// Read buffer of a loop, shared by its connections.
const BUFFER: usize = 256 * 1024;

/// As many connections are opening at once: below the listen backlog of 128 that many servers still have.
const OPENING: usize = 100;

/// How long a handshake or an echo may take before it counts as a time-out.
const PATIENCE: Duration = Duration::from_secs(10);

struct Slot {
    connection: Option<Connection>,
    /// Messages echoed so far.
    echoed: usize,
    /// When it last began something: connecting, or sending.
    since: Instant,
}

/// One thread's connections.
pub struct EchoLoop<'a> {
    plan: &'a Plan,
    poller: Poller,
    slots: Vec<Slot>,
    wanted: usize,
    opening: usize,
    /// Whether a time-out can befall open connections.
    echoing: bool,
    /// Whether each echo is followed by the next message.
    repeat: bool,
    events: Vec<Event>,
    buffer: Vec<u8>,
    next_check: Instant,
    /// Latencies since they were last taken.
    pub latency: Latency,
    /// Everything that ended a connection so far.
    pub failures: Failures,
}

impl<'a> EchoLoop<'a> {
    /// A loop that will open `wanted` connections.
    ///
    /// # Errors
    /// When there is not even a file descriptor for epoll.
    pub fn new(plan: &'a Plan, wanted: usize) -> Result<Self, Failure> {
        Ok(Self {
            plan,
            poller: Poller::new()?,
            slots: Vec::with_capacity(wanted),
            wanted,
            opening: 0,
            echoing: false,
            repeat: true,
            events: Vec::new(),
            buffer: vec![0; BUFFER],
            next_check: Instant::now() + Duration::from_secs(1),
            latency: Latency::default(),
            failures: Failures::default(),
        })
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.slots
            .iter()
            .filter(|slot| slot.connection.as_ref().is_some_and(Connection::is_open))
            .count()
    }

    /// Opens all connections and returns once each is open or has failed.
    ///
    /// # Errors
    /// When epoll fails.
    pub fn connect(&mut self) -> Result<(), Failure> {
        while self.slots.len() < self.wanted || self.opening > 0 {
            while self.opening < OPENING && self.slots.len() < self.wanted {
                let connection = Connection::open(self.plan, &self.poller, self.slots.len());
                let connection = connection.map_err(|failure| self.failures.add(failure)).ok();
                self.opening += usize::from(connection.is_some());
                self.slots.push(Slot {
                    connection,
                    echoed: 0,
                    since: Instant::now(),
                });
            }
            self.turn()?;
        }
        Ok(())
    }

    /// Sends the first message on each open connection.
    pub fn start(&mut self) {
        self.echoing = true;
        for index in 0..self.slots.len() {
            self.send(index, index, Instant::now());
        }
    }

    /// Has each open connection echo one message of `plan`, and leaves it idle.
    ///
    /// # Errors
    /// The first failure of a connection since the loop began, or of epoll.
    pub fn echo_once(&mut self, plan: &'a Plan) -> Result<(), Failure> {
        (self.plan, self.repeat) = (plan, false);
        self.start();
        let mut left = self.wanted as u64;
        while left > 0 {
            left = left.saturating_sub(self.turn()?);
            if let Some((failure, _)) = self.failures.iter().next() {
                return Err(failure.clone());
            }
        }
        self.echoing = false;
        Ok(())
    }

    /// Echoes until `until`, or until no connection is left, and returns how many messages came back.
    ///
    /// # Errors
    /// When epoll fails.
    pub fn run_until(&mut self, until: Instant) -> Result<u64, Failure> {
        let mut messages = 0;
        while Instant::now() < until && self.slots.iter().any(|slot| slot.connection.is_some()) {
            messages += self.turn()?;
        }
        Ok(messages)
    }

    /// One round: waits 50 ms at most, and returns how many messages came back.
    fn turn(&mut self) -> Result<u64, Failure> {
        let mut events = std::mem::take(&mut self.events);
        self.poller.wait(&mut events, Duration::from_millis(50))?;
        let mut messages = 0;
        for event in &events {
            let index = event.data.u64() as usize;
            let Some(connection) = &mut self.slots[index].connection else {
                continue;
            };
            match connection.step(self.plan, &self.poller, &mut self.buffer) {
                Ok(Step::Waiting) => {}
                Ok(Step::Opened) => self.opening -= 1,
                Ok(Step::Delivered) => {
                    let now = Instant::now();
                    self.latency.record(now - self.slots[index].since);
                    messages += 1;
                    // Neighbours and successive messages differ.
                    self.slots[index].echoed += 1;
                    if self.repeat {
                        self.send(index, index.wrapping_add(self.slots[index].echoed), now);
                    }
                }
                Err(failure) => self.fail(index, failure),
            }
        }
        self.events = events;
        let now = Instant::now();
        if now >= self.next_check {
            self.next_check = now + Duration::from_secs(1);
            self.end_the_late(now);
        }
        Ok(messages)
    }

    fn send(&mut self, index: usize, number: usize, now: Instant) {
        let slot = &mut self.slots[index];
        slot.since = now;
        let Some(connection) = &mut slot.connection else {
            return;
        };
        if let Err(failure) = connection.send(self.plan, &self.poller, number) {
            self.fail(index, failure);
        }
    }

    fn fail(&mut self, index: usize, failure: Failure) {
        if let Some(connection) = self.slots[index].connection.take() {
            self.opening -= usize::from(!connection.is_open());
            self.failures.add(failure);
        }
    }

    fn end_the_late(&mut self, now: Instant) {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            let waits = slot
                .connection
                .as_ref()
                .is_some_and(|connection| self.echoing || !connection.is_open());
            if waits && now - slot.since > PATIENCE {
                self.fail(index, Failure::TimeOut);
            }
        }
    }
}
