//! Fan-out: the first subscriber publishes, and again once every subscriber, itself included, has the last message.

use std::time::{Duration, Instant};

use rustix::event::epoll::Event;

use crate::connection::{Connection, Plan, Step};
use crate::failure::Failure;
use crate::poller::Poller;

/// Subscribers opening at once: below the listen backlog of 128 that many servers still have.
const OPENING: usize = 100;
/// A delivery that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct FanLoop<'a> {
    plan: &'a Plan,
    poller: Poller,
    subscribers: Vec<Connection>,
    events: Vec<Event>,
    buffer: Vec<u8>,
    /// Number of the message in flight.
    number: usize,
    /// Deliveries of it that are still to come.
    left: usize,
}

impl<'a> FanLoop<'a> {
    /// Opens all subscribers.
    pub(super) fn new(plan: &'a Plan, subscribers: usize) -> Result<Self, Failure> {
        let mut fan = Self {
            plan,
            poller: Poller::new()?,
            subscribers: Vec::with_capacity(subscribers),
            events: Vec::new(),
            buffer: vec![0; 64 * 1024],
            number: 0,
            left: 0,
        };
        let (mut opened, give_up) = (0, Instant::now() + PATIENCE);
        while opened < subscribers {
            while fan.subscribers.len() < subscribers.min(opened + OPENING) {
                fan.subscribers
                    .push(Connection::open(plan, &fan.poller, fan.subscribers.len())?);
            }
            opened += fan.turn(Step::Opened)?;
            if Instant::now() > give_up {
                return Err(Failure::TimeOut);
            }
        }
        Ok(fan)
    }

    /// Publishes until `until` and returns how many deliveries arrived.
    pub(super) fn run_until(&mut self, until: Instant) -> Result<u64, Failure> {
        let (mut deliveries, mut heard) = (0, Instant::now());
        while Instant::now() < until {
            if self.left == 0 {
                self.number += 1;
                self.left = self.subscribers.len();
                for subscriber in &mut self.subscribers {
                    subscriber.expect(self.number);
                }
                self.subscribers[0].send(self.plan, &self.poller, self.number)?;
            }
            let delivered = self.turn(Step::Delivered)?;
            if delivered > 0 {
                heard = Instant::now();
            } else if heard.elapsed() > PATIENCE {
                return Err(Failure::TimeOut);
            }
            self.left = self.left.checked_sub(delivered).ok_or(Failure::WrongEcho)?;
            deliveries += delivered as u64;
        }
        Ok(deliveries)
    }

    /// One round: how many subscribers made the step `wanted`.
    fn turn(&mut self, wanted: Step) -> Result<usize, Failure> {
        self.poller.wait(&mut self.events, Duration::from_millis(50))?;
        let mut made = 0;
        for event in &self.events {
            let subscriber = &mut self.subscribers[event.data.u64() as usize];
            made += usize::from(subscriber.step(self.plan, &self.poller, &mut self.buffer)? == wanted);
        }
        Ok(made)
    }
}
