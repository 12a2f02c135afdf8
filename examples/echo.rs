//! An echo server: every WebSocket message comes straight back.
//!
//!     cargo run --release --example echo
//!
//! Then connect any WebSocket client to ws://127.0.0.1:8080/ws (`PORT` chooses another port).

use greenroom::{App, Config, Result, Session};

fn main() -> Result<()> {
    App::new().ws("/ws", echo).serve(Config::from_env()?)
}

fn echo(session: Session) -> Result<()> {
    while let Some(message) = session.recv()? {
        session.send(message)?;
    }
    Ok(())
}
