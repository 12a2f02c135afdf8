//! The rooms, and who is in them.

use crate::wire::{Event, Member, MessageId, Name, RoomName, Speech};
use greenroom::{Hub, Message, Result, Session, Subscription, Topic};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Messages that a newcomer is shown.
const HISTORY: usize = 50;
/// Rooms kept at once, empty ones included: a visitor can't fill the memory with rooms.
const MAX_ROOMS: usize = 200;
/// People in one room: the member list goes to each of them whenever it changes.
const MAX_MEMBERS: usize = 200;

/// Every room there is.
pub struct Rooms {
    /// What is said is kept for those who come later; who is here is not.
    speech: Hub,
    presence: Hub,
    open: Mutex<HashMap<String, Arc<Room>>>,
    next_member: AtomicU64,
}

struct Room {
    speech: Topic,
    presence: Topic,
    members: Mutex<Vec<Member>>,
}

impl Rooms {
    pub fn new() -> Self {
        Self {
            speech: Hub::with_history(HISTORY),
            presence: Hub::new(),
            open: Mutex::default(),
            next_member: AtomicU64::new(1),
        }
    }

    /// Lets a session into a room: it is welcomed, sees the history, then everything new. It leaves when the answer
    /// is dropped. `Err` in the inner result is a sentence for the person who wanted in.
    pub fn join(
        &self,
        session: &Session,
        room: &RoomName,
        name: Name,
    ) -> Result<Result<Membership, &'static str>> {
        let Some(room) = self.room(&room.0) else {
            return Ok(Err("There are too many rooms; try one that exists."));
        };
        let id = self.next_member.fetch_add(1, Ordering::Relaxed);
        session.send(&Event::Welcome {
            member: id,
            room: room.speech.name(),
        })?;
        let subscriptions = [
            room.speech.subscribe_with_history(session)?,
            room.presence.subscribe(session)?,
        ];
        if !room.enter(id, name) {
            return Ok(Err("This room is full."));
        }
        Ok(Ok(Membership {
            id,
            room,
            _subscriptions: subscriptions,
        }))
    }

    /// The room of that name, opened if need be; an empty one gives way when there are too many.
    fn room(&self, name: &str) -> Option<Arc<Room>> {
        let mut open = self.open.lock();
        if let Some(room) = open.get(name) {
            return Some(room.clone());
        }
        if open.len() >= MAX_ROOMS {
            // The map's own reference is the only one when nobody is inside or on the way in.
            let empty = open
                .iter()
                .find(|(_, room)| Arc::strong_count(room) == 1)
                .map(|(name, _)| name.clone())?;
            open.remove(&empty);
        }
        let room = Arc::new(Room {
            speech: self.speech.topic(name),
            presence: self.presence.topic(name),
            members: Mutex::default(),
        });
        open.insert(name.to_owned(), room.clone());
        Some(room)
    }
}

impl Room {
    fn enter(&self, id: u64, name: Name) -> bool {
        let mut members = self.members.lock();
        if members.len() >= MAX_MEMBERS {
            return false;
        }
        let name = free_name(&members, id, name.0);
        members.push(Member { id, name });
        self.tell_members(&members);
        true
    }

    /// Sends the whole list: whoever misses a change is right again at the next one. Publishing never waits, so the
    /// lock may be held, and the lists go out in the order of the changes.
    fn tell_members(&self, members: &[Member]) {
        self.presence.publish(&Event::Members { members });
    }
}

/// The name, or, where another member has it already, the name with a number.
fn free_name(members: &[Member], id: u64, name: String) -> String {
    let taken = |wanted: &str| {
        members
            .iter()
            .any(|member| member.id != id && member.name == wanted)
    };
    if !taken(&name) {
        return name;
    }
    (2..)
        .map(|number| format!("{name} ({number})"))
        .find(|other| !taken(other))
        .expect("members are fewer than numbers")
}

/// One session's place in a room.
pub struct Membership {
    id: u64,
    room: Arc<Room>,
    _subscriptions: [Subscription; 2],
}

impl Membership {
    /// Tells everybody in the room, the speaker included, what this member says.
    pub fn say(&self, id: &MessageId, text: &Speech) {
        let name = {
            let members = self.room.members.lock();
            members
                .iter()
                .find(|member| member.id == self.id)
                .map(|member| member.name.clone())
                .unwrap_or_default()
        };
        let at = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64);
        let said = Event::Said {
            id: &id.0,
            member: self.id,
            name: &name,
            text: &text.0,
            at,
        };
        self.room.speech.publish(Message::from(&said));
    }

    /// Changes what this member is called.
    pub fn rename(&self, name: Name) {
        let mut members = self.room.members.lock();
        let name = free_name(&members, self.id, name.0);
        if let Some(member) = members.iter_mut().find(|member| member.id == self.id) {
            member.name = name;
        }
        self.room.tell_members(&members);
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut members = self.room.members.lock();
        members.retain(|member| member.id != self.id);
        self.room.tell_members(&members);
    }
}
