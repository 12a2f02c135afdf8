//! Fan-out: named topics that sessions join and anyone publishes to.
//!
//! A [`Hub`] is the registry, a [`Topic`] one named group, a [`Subscription`] one session's membership, which ends when
//! it is dropped. A message is encoded once per [`Topic::publish`]; every subscriber's outbox gets the same bytes, and
//! each worker is rung once, however many of its sessions are concerned. A publisher never waits for a subscriber:
//! whoever can't keep up meets its own outbox's bound.
//!
//! History is the last messages of a topic, in memory. It does not authenticate anyone, persist anything or know what
//! a message means.

mod subscription;
mod topic;

pub use subscription::Subscription;
pub use topic::Topic;

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Weak};
use topic::State;

/// Topics that are kept for their history alone, with nobody in them and no handle to them. Bounds what visitors of
/// made-up rooms can use up.
const IDLE_TOPICS: usize = 1024;
/// The history of all of those together, in bytes; beyond it the ones idle for longest are forgotten too.
const IDLE_BYTES: usize = 64 * 1024 * 1024;

/// The registry of topics. Cheap to clone; all clones are the same hub.
///
/// ```
/// use greenroom::Hub;
///
/// let hub = Hub::new();
/// let topic = hub.topic("news");
/// topic.publish("nobody hears this");
/// assert_eq!(topic.subscribers(), 0);
/// ```
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Registry>,
}

/// The topics by name.
struct Registry {
    history: usize,
    topics: Mutex<Topics>,
}

#[derive(Default)]
struct Topics {
    by_name: HashMap<Arc<str>, Slot>,
    /// Topics that exist for their history alone, in the order in which they fell idle.
    idle: BTreeMap<u64, Arc<str>>,
    /// Their histories' bytes.
    idle_bytes: usize,
    next_idle: u64,
}

/// One name's entry.
struct Slot {
    state: Arc<State>,
    live: Weak<Live>,
    /// Its key in `idle`, and what it counts for in `idle_bytes`.
    idle: Option<(u64, usize)>,
}

/// What topic handles and subscriptions hold: while one of them is there the topic is not idle.
struct Live {
    state: Arc<State>,
    registry: Weak<Registry>,
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.upgrade() {
            registry.fell_idle(&self.state);
        }
    }
}

impl Registry {
    fn live(self: &Arc<Self>, name: &str) -> Arc<Live> {
        let mut topics = self.topics.lock();
        let topics = &mut *topics;
        if let Some(slot) = topics.by_name.get_mut(name) {
            if let Some(live) = slot.live.upgrade() {
                return live;
            }
            let live = Arc::new(Live {
                state: slot.state.clone(),
                registry: Arc::downgrade(self),
            });
            slot.live = Arc::downgrade(&live);
            if let Some((key, bytes)) = slot.idle.take() {
                topics.idle.remove(&key);
                topics.idle_bytes -= bytes;
            }
            return live;
        }
        let name: Arc<str> = name.into();
        let state = Arc::new(State::new(name.clone(), self.history));
        let live = Arc::new(Live {
            state: state.clone(),
            registry: Arc::downgrade(self),
        });
        topics.by_name.insert(
            name,
            Slot {
                state,
                live: Arc::downgrade(&live),
                idle: None,
            },
        );
        live
    }

    /// The last handle is gone: forgets the topic, or keeps it among the idle ones for its history.
    fn fell_idle(&self, state: &State) {
        // Dropped after the lock is released.
        let mut forgotten = Vec::new();
        let mut topics = self.topics.lock();
        let topics = &mut *topics;
        let Some(slot) = topics.by_name.get_mut(&state.name) else {
            return;
        };
        // Somebody may have asked for it again in the meantime.
        if slot.live.strong_count() > 0 || slot.idle.is_some() {
            return;
        }
        let Some(bytes) = slot.state.history_bytes() else {
            forgotten.extend(topics.by_name.remove(&state.name));
            return;
        };
        let key = topics.next_idle;
        topics.next_idle += 1;
        slot.idle = Some((key, bytes));
        topics.idle.insert(key, state.name.clone());
        topics.idle_bytes += bytes;
        while topics.idle.len() > IDLE_TOPICS || topics.idle_bytes > IDLE_BYTES {
            let Some((_, name)) = topics.idle.pop_first() else {
                break;
            };
            let slot = topics.by_name.remove(&name);
            topics.idle_bytes -= slot
                .as_ref()
                .and_then(|slot| slot.idle)
                .map_or(0, |(_, bytes)| bytes);
            forgotten.extend(slot);
        }
    }
}

impl Hub {
    /// A hub whose topics keep no history.
    pub fn new() -> Self {
        Self::with_history(0)
    }

    /// A hub whose topics keep their last `messages` messages (and of those at most 512 KiB), for
    /// [`Topic::subscribe_with_history`]. Topics that nobody is in are kept while they have a history, the 1,024 that
    /// fell idle last, and of those what fits 64 MiB.
    pub fn with_history(messages: usize) -> Self {
        Self {
            inner: Arc::new(Registry {
                history: messages,
                topics: Mutex::default(),
            }),
        }
    }

    /// The topic of that name; it begins to exist when it is first asked for, and is forgotten when nobody holds it,
    /// nobody is subscribed and it has no history.
    pub fn topic(&self, name: &str) -> Topic {
        Topic::new(self.inner.live(name))
    }

    /// How many topics exist now.
    pub fn topics(&self) -> usize {
        self.inner.topics.lock().by_name.len()
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Hub")
            .field("topics", &self.topics())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_without_history_is_forgotten_with_its_last_handle() {
        let hub = Hub::new();
        let topic = hub.topic("a");
        let again = hub.topic("a");
        topic.publish("x");
        drop(topic);
        assert_eq!(hub.topics(), 1);
        drop(again);
        assert_eq!(hub.topics(), 0);
    }

    #[test]
    fn a_topic_with_history_outlives_its_handles_up_to_a_bound() {
        let hub = Hub::with_history(3);
        hub.topic("kept").publish("x");
        hub.topic("never published to");
        assert_eq!(hub.topics(), 1);
        assert_eq!(hub.topic("kept").history().len(), 1);
        for n in 0..IDLE_TOPICS + 10 {
            hub.topic(&format!("room {n}")).publish("x");
        }
        assert_eq!(hub.topics(), IDLE_TOPICS);
        assert_eq!(
            hub.topic("kept").history().len(),
            0,
            "the oldest was forgotten first"
        );
        assert_eq!(hub.topic("room 11").history().len(), 1);
    }

    #[test]
    fn idle_topics_are_forgotten_when_their_histories_together_are_too_large() {
        let hub = Hub::with_history(1);
        let large = vec![0; 400 * 1024];
        let fit = IDLE_BYTES / large.len();
        for n in 0..fit + 5 {
            hub.topic(&format!("room {n}")).publish(large.clone());
        }
        assert!(
            hub.topics() <= fit && hub.topics() >= fit - 1,
            "{} of {fit}",
            hub.topics()
        );
        assert_eq!(hub.topic("room 0").history().len(), 0);
        assert_eq!(hub.topic(&format!("room {}", fit + 4)).history().len(), 1);
    }

    #[test]
    fn a_topic_in_use_is_not_forgotten_for_idle_ones() {
        let hub = Hub::with_history(1);
        let used = hub.topic("used");
        used.publish("x");
        for n in 0..2 * IDLE_TOPICS {
            hub.topic(&format!("room {n}")).publish("x");
        }
        assert_eq!(hub.topic("used").history().len(), 1);
    }
}
