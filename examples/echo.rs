//! An echo server: every WebSocket message comes straight back.
//!
//!     cargo run --release --example echo
//!
//! Then connect any WebSocket client to ws://127.0.0.1:8080/ws (`PORT` chooses another port).

use greenroom::{App, Config, Result, Session};

fn main() -> Result<()> {
    let server = App::new().ws("/ws", echo).start(Config::from_env()?)?;
    println!("echo: {}", server.start_line());
    server.wait();
    Ok(())
}

fn echo(session: Session) -> Result<()> {
    while let Some(message) = session.recv()? {
        session.send(message)?;
    }
    Ok(())
}
