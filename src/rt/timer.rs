//! Deadlines: one hierarchical timer wheel per worker over one timerfd. Only the worker's own thread touches either,
//! so there is no lock.
//!
//! A green thread has at most one entry. It is left where it is when the deadline moves to a later time and looked at
//! again when it comes due, so that a session which sets a deadline for each message pays one comparison. The
//! resolution is a millisecond; an entry comes due late by up to that, never early.

use super::fd;
use super::green::Green;
use super::worker::{self, Local};
use may::io::{CoIo, WaitIo};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// A slot holds this many bits of a tick: 64 slots a level, whose use one `u64` tells.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Six levels of 64 slots reach 2^36 ms, over two years; what lies beyond is looked at again then.
const LEVELS: usize = 6;
/// No entry.
pub(super) const NONE: u32 = u32::MAX;

struct Entry {
    next: u32,
    prev: u32,
    tick: u64,
    green: Option<Green>,
}

/// The wheel: ticks in, green threads that are due out. It reads no clock.
struct Wheel {
    /// Every entry up to this tick has come out.
    elapsed: u64,
    heads: [[u32; SLOTS]; LEVELS],
    occupied: [u64; LEVELS],
    entries: Vec<Entry>,
    free: u32,
}

impl Wheel {
    fn new() -> Self {
        Self {
            elapsed: 0,
            heads: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            entries: Vec::new(),
            free: NONE,
        }
    }

    /// The level and slot of `tick`, seen from `elapsed`.
    fn place(&self, tick: u64) -> (usize, usize) {
        let span = (self.elapsed ^ tick) | (SLOTS as u64 - 1);
        let level = ((63 - span.leading_zeros()) / BITS).min(LEVELS as u32 - 1);
        (level as usize, (tick >> (level * BITS)) as usize & (SLOTS - 1))
    }

    /// The tick at which a slot is to be looked at.
    fn slot_tick(&self, level: usize, slot: usize) -> u64 {
        let shift = level as u32 * BITS;
        let turn = 1u64 << (shift + BITS);
        let tick = (self.elapsed & !(turn - 1)) + ((slot as u64) << shift);
        if tick <= self.elapsed { tick + turn } else { tick }
    }

    /// The next slot to be looked at: level, slot, tick.
    fn next(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        let now = (self.elapsed >> (level as u32 * BITS)) as u32 & (SLOTS as u32 - 1);
        // From the slot after the present one on; the present one comes last, a whole turn later.
        let ahead = self.occupied[level]
            .rotate_right((now + 1) % SLOTS as u32)
            .trailing_zeros();
        let slot = (now + 1 + ahead) as usize % SLOTS;
        Some((level, slot, self.slot_tick(level, slot)))
    }

    fn link(&mut self, id: u32) -> u64 {
        let (level, slot) = self.place(self.entries[id as usize].tick);
        let head = std::mem::replace(&mut self.heads[level][slot], id);
        if head != NONE {
            self.entries[head as usize].prev = id;
        }
        let entry = &mut self.entries[id as usize];
        entry.next = head;
        entry.prev = NONE;
        self.occupied[level] |= 1 << slot;
        self.slot_tick(level, slot)
    }

    /// Enters `green` at `tick` (at the earliest the next one). Returns its id and the tick at which its slot is to be
    /// looked at.
    fn insert(&mut self, green: Green, tick: u64) -> (u32, u64) {
        let tick = tick.max(self.elapsed + 1);
        let entry = Entry {
            next: NONE,
            prev: NONE,
            tick,
            green: Some(green),
        };
        let id = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = std::mem::replace(&mut self.entries[id as usize], entry).next;
            id
        };
        (id, self.link(id))
    }

    /// Frees an entry that is in no list any more.
    fn release(&mut self, id: u32) -> Option<Green> {
        let free = std::mem::replace(&mut self.free, id);
        let entry = &mut self.entries[id as usize];
        entry.next = free;
        entry.green.take()
    }

    fn remove(&mut self, id: u32) -> Option<Green> {
        let Entry { next, prev, tick, .. } = self.entries[id as usize];
        if next != NONE {
            self.entries[next as usize].prev = prev;
        }
        if prev != NONE {
            self.entries[prev as usize].next = next;
        } else {
            // It heads a list; which one depends on what `elapsed` was when it was entered, so they are asked in turn.
            for level in 0..LEVELS {
                let slot = (tick >> (level as u32 * BITS)) as usize & (SLOTS - 1);
                if self.heads[level][slot] == id {
                    self.heads[level][slot] = next;
                    if next == NONE {
                        self.occupied[level] &= !(1 << slot);
                    }
                    break;
                }
            }
        }
        self.release(id)
    }

    /// Moves on to `now`; the green threads whose ticks have come go to `due`.
    fn advance(&mut self, now: u64, due: &mut Vec<Green>) {
        while let Some((level, slot, tick)) = self.next() {
            if tick > now {
                break;
            }
            self.elapsed = tick;
            self.occupied[level] &= !(1 << slot);
            let mut id = std::mem::replace(&mut self.heads[level][slot], NONE);
            while id != NONE {
                let next = self.entries[id as usize].next;
                if self.entries[id as usize].tick <= tick {
                    due.extend(self.release(id));
                } else {
                    self.link(id);
                }
                id = next;
            }
        }
        self.elapsed = self.elapsed.max(now);
    }
}

/// The timers of one worker.
pub(super) struct Timers {
    wheel: RefCell<Wheel>,
    /// What tick 0 is, on both faces of the same clock.
    base: Instant,
    base_nanos: u64,
    /// The tick that the timerfd is set to, `u64::MAX` = none.
    armed: Cell<u64>,
    fd: &'static OwnedFd,
}

impl Timers {
    pub(super) fn new(fd: &'static OwnedFd) -> Self {
        // In this order the kernel's tick 0 lies behind `base`, if only by nanoseconds: never early.
        let base = Instant::now();
        let base_nanos = fd::monotonic_nanos();
        Self {
            wheel: RefCell::new(Wheel::new()),
            base,
            base_nanos,
            armed: Cell::new(u64::MAX),
            fd,
        }
    }

    /// The first tick that is not before `at`.
    fn tick_from(&self, at: Instant) -> u64 {
        let nanos = at.saturating_duration_since(self.base).as_nanos();
        u64::try_from(nanos.div_ceil(1_000_000))
            .unwrap_or(u64::MAX / 2)
            .min(u64::MAX / 2)
    }

    /// The last tick that is not after `now`.
    fn tick_to(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.base).as_millis() as u64
    }

    fn arm(&self, tick: u64) {
        if tick < self.armed.get() {
            self.armed.set(tick);
            fd::set_timer(
                self.fd,
                self.base_nanos.saturating_add(tick.saturating_mul(1_000_000)),
            );
        }
    }

    /// Enters `green` for `at`; the id goes into the green thread's own record.
    pub(super) fn insert(&self, green: Green, at: Instant, now: Instant) -> u32 {
        let mut wheel = self.wheel.borrow_mut();
        let now = self.tick_to(now);
        if wheel.next().is_none_or(|(_, _, tick)| tick > now) {
            // Nothing is due: catch up, or an entry would go to a level that is too high and be looked at early.
            wheel.elapsed = wheel.elapsed.max(now);
        }
        let (id, look) = wheel.insert(green, self.tick_from(at));
        drop(wheel);
        self.arm(look);
        id
    }

    /// Takes an entry out. The timerfd stays as it is: a look that finds nothing is cheaper than setting it anew.
    pub(super) fn remove(&self, id: u32) {
        let green = self.wheel.borrow_mut().remove(id);
        drop(green);
    }

    /// Wakes whoever's time has come.
    fn expire(&self, local: &Local, due: &mut Vec<Green>) {
        self.armed.set(u64::MAX);
        let now = Instant::now();
        self.wheel.borrow_mut().advance(self.tick_to(now), due);
        for green in due.drain(..) {
            green.time_has_come(local, now);
        }
        let next = self.wheel.borrow().next();
        if let Some((_, _, tick)) = next {
            self.arm(tick);
        }
    }
}

/// The body of the green thread that waits for the worker's timerfd.
pub(super) fn run(local: &'static Local, ready: impl FnOnce(io::Result<()>)) {
    let io = match CoIo::new(fd::Unowned(local.timers.fd.as_raw_fd())) {
        Ok(io) => io,
        Err(e) => return ready(Err(e.into())),
    };
    ready(Ok(()));
    // Reused, so that a burst of deadlines costs one allocation.
    let mut due = Vec::new();
    loop {
        // The timerfd is never read: each expiry is an edge of its own.
        io.wait_io();
        worker::check(local);
        local.running(std::ptr::null());
        local.timers.expire(local, &mut due);
        due.shrink_to(1024);
        local.parked();
    }
}

/// The longest a single deadline may lie ahead; a longer one is as good as this (136 years).
pub(super) fn deadline_after(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration)
        .unwrap_or_else(|| now + Duration::from_secs(u32::MAX.into()))
}
