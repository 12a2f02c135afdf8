//! A chat with rooms, served with its page from this one program.
//!
//!     cargo run --release --example chat
//!
//! Then open http://127.0.0.1:8080/ in two tabs and talk to yourself (`PORT` chooses another port).
//!
//! # Protocol
//! WebSocket `/rooms/{room}?name=NAME`; a room or name that is not valid is answered 400. Text messages, one JSON object
//! each.
//!
//! | from the page | meaning |
//! |---|---|
//! | `{"type":"say","id":ID,"text":TEXT}` | says something; ID is the page's own, and a repeat keeps it |
//! | `{"type":"name","name":NAME}` | is called something else from now on |
//!
//! | from the server | meaning |
//! |---|---|
//! | `{"type":"welcome","member":N,"room":ROOM}` | first of all: this session's member number |
//! | `{"type":"said","id":ID,"member":N,"name":NAME,"text":TEXT,"at":MS}` | somebody said something; history comes as the same |
//! | `{"type":"members","members":[{"id":N,"name":NAME},..]}` | who is here; the first one with oneself in it ends the history |
//! | `{"type":"refused","reason":TEXT}` | a message was not accepted, or the room was not entered |

mod rooms;
mod wire;

use greenroom::{App, Config, Next, Path, Query, Request, Response, Result, Session};
use rooms::Rooms;
use serde::Deserialize;
use wire::{Command, Event, Name, RoomName};

/// Nothing but the page's own files and its own server; no inline script or style.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn main() -> Result<()> {
    let rooms = Rooms::new();
    let server = App::new()
        .get("/", || {
            file("text/html; charset=utf-8", include_str!("index.html"))
        })
        .get("/chat.js", || {
            file("text/javascript; charset=utf-8", include_str!("chat.js"))
        })
        .get("/chat.css", || {
            file("text/css; charset=utf-8", include_str!("chat.css"))
        })
        .get("/icon.svg", || file("image/svg+xml", include_str!("icon.svg")))
        .ws(
            "/rooms/{room}",
            move |session: Session, Path(room): Path<RoomName>, Query(visitor): Query<Visitor>| {
                visit(&rooms, &session, &room, visitor.name)
            },
        )
        .layer(secured)
        .start(Config::from_env()?)?;
    println!("chat: {}", server.start_line());
    server.wait();
    Ok(())
}

#[derive(Deserialize)]
struct Visitor {
    name: Name,
}

/// One person's stay in a room.
fn visit(rooms: &Rooms, session: &Session, room: &RoomName, name: Name) -> Result<()> {
    let member = match rooms.join(session, room, name)? {
        Ok(member) => member,
        Err(reason) => return session.send(&Event::Refused { reason }),
    };
    while let Some(message) = session.recv()? {
        match Command::parse(&message) {
            Ok(Command::Say { id, text }) => member.say(&id, &text),
            Ok(Command::Name { name }) => member.rename(name),
            Err(reason) => session.send(&Event::Refused { reason: &reason })?,
        }
    }
    Ok(())
}

fn file(content_type: &'static str, text: &'static str) -> Response {
    Response::bytes(text)
        .with_header("content-type", content_type)
        .with_header("cache-control", "no-cache")
}

/// Middleware: headers that tell a browser to trust nothing but this server.
fn secured(request: &mut Request, next: Next<'_>) -> Response {
    next.run(request)
        .with_header("content-security-policy", CONTENT_POLICY)
        .with_header("x-content-type-options", "nosniff")
        .with_header("referrer-policy", "no-referrer")
}
