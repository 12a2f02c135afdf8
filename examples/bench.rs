//! The fixed routes that every measurement and conformance test uses.
//!
//!     cargo run --release --example bench
//!
//! | route | answer |
//! |---|---|
//! | any method `/` | 200, the request body echoed |
//! | GET `/plaintext` | 13 bytes, `Hello, World!` |
//! | GET `/null` | an empty 200 |
//! | GET `/null-filtered` | the same behind three middleware layers |
//! | GET `/json` | a map built and serialised for each request |
//! | WebSocket `/ws` | echo, loop handler |
//! | WebSocket `/ws-callback` | echo, callback handler |
//! | WebSocket `/fan` | each message goes to every `/fan` session, the sender included |
//!
//! Messages may have 16 MiB, since conformance tests send such; the library's default is smaller.

use greenroom::{
    App, Bytes, Config, Hub, Message, Next, Request, Response, Result, SendStatus, Session, SessionHandler,
    SessionRef, StatusCode,
};
use std::collections::BTreeMap;

fn main() -> Result<()> {
    let config = Config {
        ws_max_message: 16 * 1024 * 1024,
        ..Config::default()
    };
    let fan = Hub::new().topic("fan");
    let server = App::new()
        .any("/", |body: Bytes| Response::bytes(body))
        .get("/plaintext", || Response::text("Hello, World!"))
        .get("/null", || Response::new(StatusCode::OK))
        .group("/null-filtered", |routes| {
            routes
                .get("", || Response::new(StatusCode::OK))
                .layer(pass_on)
                .layer(pass_on)
                .layer(pass_on)
        })
        .get("/json", json)
        .ws("/ws", echo)
        .ws_callback("/ws-callback", || Echo)
        .ws("/fan", move |session: Session| -> Result<()> {
            let _subscription = fan.subscribe(&session)?;
            while let Some(message) = session.recv()? {
                fan.publish(message);
            }
            Ok(())
        })
        .start(config.with_env()?)?;
    println!("bench: {}", server.start_line());
    server.wait();
    Ok(())
}

fn pass_on(request: &mut Request, next: Next<'_>) -> Response {
    next.run(request)
}

fn json() -> Response {
    Response::json(&BTreeMap::from([("message", "Hello, World!")]))
}

fn echo(session: Session) -> Result<()> {
    while let Some(message) = session.recv()? {
        session.send(message)?;
    }
    Ok(())
}

/// The echo without a stack of its own while idle.
struct Echo;

impl SessionHandler for Echo {
    fn on_message(&mut self, session: &SessionRef, message: Message) -> Result<()> {
        match session.send(message) {
            SendStatus::Dropped => Err("an echo was dropped".into()),
            _ => Ok(()),
        }
    }
}
