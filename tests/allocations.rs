//! What a request, a message and a delivery allocate once everything is warm: what can be reused is.
//!
//! One test in a program of its own, since the counter counts the whole process. The client's side allocates nothing.
#![allow(
    unsafe_code,
    reason = "a global allocator that counts is an unsafe trait by nature"
)]

use greenroom::testing::{Client, TestServer};
use greenroom::{App, Config, Hub, Response, Result, Session};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator with the same arguments; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

const ROUNDS: usize = 2_000;

/// Allocations of the whole process per round of `exchange`, once warm.
fn per_round(mut exchange: impl FnMut()) -> f64 {
    (0..200).for_each(|_| exchange());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    (0..ROUNDS).for_each(|_| exchange());
    (ALLOCATIONS.load(Ordering::Relaxed) - before) as f64 / ROUNDS as f64
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// A session on `path`, with a frame to send it and the length of what comes back.
fn upgraded(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = connect(address);
    stream
        .write_all(Client::request(&address.to_string(), path, &[]).as_bytes())
        .unwrap();
    let mut head = [0; 4096];
    let mut len = 0;
    while !head[..len].ends_with(b"\r\n\r\n") {
        len += stream.read(&mut head[len..]).unwrap();
    }
    assert!(head.starts_with(b"HTTP/1.1 101"));
    stream
}

#[test]
fn what_can_be_reused_is_not_allocated_again() {
    let fan = Hub::new().topic("fan");
    let app = App::new()
        .get("/plaintext", || Response::text("Hello, World!"))
        .get("/{a}/{b}", || Response::text("Hello, World!"))
        .ws("/ws", |session: Session| -> Result<()> {
            while let Some(message) = session.recv()? {
                session.send(message)?;
            }
            Ok(())
        })
        .ws("/fan", move |session: Session| -> Result<()> {
            let _subscription = fan.subscribe(&session)?;
            while let Some(message) = session.recv()? {
                fan.publish(message);
            }
            Ok(())
        });
    let server = TestServer::start_with(
        app,
        Config {
            workers: 1,
            ..Config::default()
        },
    );
    let address = server.address();

    // One in twenty is left to what comes now and then: blocks of the runtime's queues, the second's new Date. A path with
    // variables may cost the search for it one vector.
    for (path, most) in [("/plaintext", 0.05), ("/variable/other", 1.05)] {
        let mut stream = connect(address);
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n");
        let mut answer = [0; 1024];
        let requests = per_round(|| {
            stream.write_all(request.as_bytes()).unwrap();
            let mut len = 0;
            while !answer[..len].ends_with(b"Hello, World!") {
                len += stream.read(&mut answer[len..]).unwrap();
            }
        });
        assert!(
            requests <= most,
            "{requests} allocations for each request of {path}"
        );
    }

    let frame = Client::frame(greenroom_ws::OpCode::Binary, true, &[7; 64]);
    let mut echo = [0; 66];
    let mut stream = upgraded(address, "/ws");
    let messages = per_round(|| {
        stream.write_all(&frame).unwrap();
        stream.read_exact(&mut echo).unwrap();
    });
    // The message itself, which its handler may keep.
    assert!(messages <= 1.05, "{messages} allocations for each message");

    let mut members: Vec<TcpStream> = (0..50).map(|_| upgraded(address, "/fan")).collect();
    std::thread::sleep(Duration::from_millis(200));
    let published = per_round(|| {
        members[0].write_all(&frame).unwrap();
        for member in &mut members {
            member.read_exact(&mut echo).unwrap();
        }
    });
    // The message, and the frame that all members share; nothing for each of the 50 deliveries.
    assert!(
        published <= 4.05,
        "{published} allocations for each message to 50 members"
    );
}
