//! One session's membership in a topic.

use super::Live;
use crate::session::SessionRef;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A session's membership in a topic: while it lives, the session gets what is published. Dropping it leaves the
/// topic, from any thread.
///
/// It doesn't keep the session open, and a session's end doesn't need it dropped: a topic forgets members whose
/// session is over when it next publishes.
#[must_use = "dropping a subscription leaves the topic"]
pub struct Subscription {
    pub(super) live: Arc<Live>,
    pub(super) session: SessionRef,
    /// Where the member stands in its worker's list; written under the topic's lock.
    pub(super) place: Arc<AtomicUsize>,
}

impl Subscription {
    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.live.state.name
    }

    /// The session that is subscribed.
    pub fn session(&self) -> &SessionRef {
        &self.session
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.live.state.leave(self.session.shared().worker(), &self.place);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("topic", &self.topic())
            .field("session", &self.session.id())
            .finish()
    }
}
