//! Sessions as handlers and peers see them: how they end, what waits for whom, and what is written when.

use greenroom::testing::{Client, Peer, Received, TestServer};
use greenroom::{
    App, CloseCode, CloseFrame, Config, Error, Message, Result, SendStatus, Sender, Session, SessionHandler,
    SessionRef, WsRoute,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

fn echo(session: Session) -> Result<()> {
    while let Some(message) = session.recv()? {
        session.send(message)?;
    }
    Ok(())
}

struct Echo;

impl SessionHandler for Echo {
    fn on_message(&mut self, session: &SessionRef, message: Message) -> Result<()> {
        let _ = session.send(message);
        Ok(())
    }
}

fn code(close: Option<CloseFrame>) -> Option<u16> {
    close.map(|close| close.code.as_u16())
}

/// Waits for a condition, as long as a busy machine may need.
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        condition()
    })
}

/// The server still serves.
fn expect_alive(server: &TestServer) {
    let mut client = Client::connect(server, "/echo");
    client.send("still there?");
    assert_eq!(client.recv_text(), "still there?");
}

#[test]
fn a_handlers_end_chooses_the_close_code() {
    let app = App::new()
        .ws("/ok", |session: Session| session.recv().map(|_| ()))
        .ws("/err", |session: Session| {
            let _ = session.recv();
            Err::<(), _>(Error::other("broken"))
        })
        .ws("/panic", |session: Session| {
            let _ = session.recv();
            if session.is_open() {
                panic!("on purpose");
            }
        })
        .ws("/echo", echo);
    let server = TestServer::start(app);
    for (path, expected) in [("/ok", 1000), ("/err", 1011), ("/panic", 1011)] {
        let mut client = Client::connect(&server, path);
        client.send("go");
        assert_eq!(code(client.recv_close()), Some(expected), "{path}");
    }
    let panics = || server.handle().counters().panics;
    assert!(eventually(|| panics() == 1), "{}", panics());
    expect_alive(&server);
}

/// A value that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a destructor, on purpose");
        }
    }
}

#[test]
fn w37_panics_in_destructors_end_one_session_with_1011() {
    let app = App::new()
        .ws("/destructor", |session: Session| {
            let _bomb = Bomb;
            let _ = session.recv();
        })
        .ws("/payload", |session: Session| {
            let _ = session.recv();
            if session.is_open() {
                std::panic::panic_any(Bomb);
            }
        })
        .ws("/echo", echo);
    let server = TestServer::start(app);
    for path in ["/destructor", "/payload"] {
        let mut client = Client::connect(&server, path);
        client.send("go");
        assert_eq!(code(client.recv_close()), Some(1011), "{path}");
    }
    expect_alive(&server);
}

/// Panics where it is told to, and says when it was closed.
struct Fragile {
    place: &'static str,
    closed: mpsc::Sender<Option<u16>>,
}

impl SessionHandler for Fragile {
    fn on_open(&mut self, _: &SessionRef) -> Result<()> {
        assert_ne!(self.place, "open");
        Ok(())
    }

    fn on_message(&mut self, _: &SessionRef, _: Message) -> Result<()> {
        assert_ne!(self.place, "message");
        if self.place == "error" {
            return Err(Error::other("on purpose"));
        }
        Ok(())
    }

    fn on_close(&mut self, close: Option<&CloseFrame>) {
        self.closed.send(close.map(|close| close.code.as_u16())).unwrap();
        assert_ne!(self.place, "close");
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        if self.place == "drop" || self.place == "close" {
            panic!("a destructor, on purpose");
        }
    }
}

#[test]
fn w28_w37_on_close_is_called_once_whatever_panics() {
    for (place, expected) in [
        ("open", 1011),
        ("message", 1011),
        ("error", 1011),
        ("close", 4001),
        ("drop", 4001),
        ("nowhere", 4001),
    ] {
        let (closed, calls) = mpsc::channel();
        let closed = Mutex::new(closed);
        let app = App::new()
            .ws("/echo", echo)
            .ws_callback("/fragile", move || Fragile {
                place,
                closed: closed.lock().unwrap().clone(),
            });
        let server = TestServer::start(app);
        let mut client = Client::connect(&server, "/fragile");
        client.send("go");
        let got = match place {
            "open" | "message" | "error" => client.recv_close(),
            _ => client.close(4001),
        };
        assert_eq!(code(got), Some(expected), "{place}");
        let told = calls.recv_timeout(LONG).unwrap();
        assert_eq!(told, (expected == 4001).then_some(4001), "{place}");
        expect_alive(&server);
        drop(client);
        server.stop();
        assert!(calls.try_recv().is_err(), "{place}: once");
    }
}

#[test]
fn w28_a_lost_connection_is_told_once() {
    let (closed, calls) = mpsc::channel();
    let closed = Mutex::new(closed);
    let app = App::new().ws_callback("/fragile", move || Fragile {
        place: "nowhere",
        closed: closed.lock().unwrap().clone(),
    });
    let server = TestServer::start(app);
    let mut client = Client::connect(&server, "/fragile");
    client
        .peer()
        .send(&Client::frame(greenroom_ws::OpCode::Text, true, b"half a frame")[..7]);
    client.peer().finish();
    assert_eq!(calls.recv_timeout(LONG).unwrap(), None);
    assert!(calls.recv_timeout(Duration::from_millis(50)).is_err());
}

#[test]
fn send_parks_while_the_peer_does_not_read_and_goes_on_when_it_does() {
    const COUNT: usize = 40;
    // A message of more than half the bound, so that the second doesn't fit although the outbox isn't full.
    const LEN: usize = 600 * 1024;
    let (sent, progress) = mpsc::channel();
    let sent = Mutex::new(sent);
    let app = App::new().ws("/echo", echo).ws("/pour", move |session: Session| {
        let sent = sent.lock().unwrap().clone();
        for n in 0..COUNT {
            session.send(vec![n as u8; LEN])?;
            let _ = sent.send(n);
        }
        Result::Ok(())
    });
    let server = TestServer::start(app);
    let mut client = Client::connect(&server, "/pour").patience(LONG);
    // It comes to a stand; meanwhile its workers serve others.
    while progress.recv_timeout(Duration::from_millis(300)).is_ok() {}
    for _ in 0..4 {
        expect_alive(&server);
    }
    for n in 0..COUNT {
        let message = client.recv().expect("nothing is lost");
        assert_eq!(message.len(), LEN);
        assert!(message.as_bytes().iter().all(|byte| *byte == n as u8), "in order");
    }
    assert_eq!(code(client.recv_close()), Some(1000));
}

#[test]
fn a_callback_session_goes_on_reading_after_its_outbox_was_full() {
    let app = App::new()
        .ws_callback("/default", || Echo)
        .ws("/small", WsRoute::callback(|| Echo).max_queue(1000))
        .ws("/none", WsRoute::callback(|| Echo).max_queue(0));
    let server = TestServer::start(app);
    for (path, len) in [("/default", 1_500_000), ("/small", 5_000), ("/none", 10)] {
        let mut client = Client::connect(&server, path).patience(Duration::from_secs(20));
        let mut bytes = Vec::new();
        for n in 0..5u8 {
            bytes.extend(Client::frame(greenroom_ws::OpCode::Binary, true, &vec![n; len]));
        }
        let mut writer = client.peer().stream().try_clone().unwrap();
        let writing = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &bytes));
        for n in 0..5u8 {
            assert_eq!(client.recv(), Some(Message::from(vec![n; len])), "{path}");
        }
        writing.join().unwrap().unwrap();
    }
}

#[test]
fn one_callback_may_send_more_than_the_outbox_holds_to_a_peer_that_reads() {
    struct Burst;
    impl SessionHandler for Burst {
        fn on_message(&mut self, session: &SessionRef, _: Message) -> Result<()> {
            for _ in 0..100 {
                assert!(session.send(vec![7; 1000]).is_accepted());
            }
            Ok(())
        }
    }
    let server = TestServer::start(App::new().ws("/burst", WsRoute::callback(|| Burst).max_queue(40_000)));
    let mut client = Client::connect(&server, "/burst");
    client.send("go");
    for _ in 0..100 {
        assert_eq!(client.recv().map(|message| message.len()), Some(1000));
    }
}

/// A server whose `/sender` hands out the session's sender, then receives until the end.
fn sender_server(config: Config) -> (TestServer, mpsc::Receiver<Sender>) {
    let (give, take) = mpsc::channel();
    let give = Mutex::new(give);
    let app = App::new()
        .ws("/echo", echo)
        .ws("/sender", move |session: Session| {
            give.lock().unwrap().send(session.sender()).unwrap();
            echo(session)
        });
    (TestServer::start_with(app, config), take)
}

#[test]
fn w35_senders_on_many_threads_never_interleave_and_keep_their_order() {
    let (server, senders) = sender_server(Config::default());
    let mut client = Client::connect(&server, "/sender").patience(LONG);
    let sender = senders.recv_timeout(LONG).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for n in 0..500 {
                    assert!(sender.send(format!("{thread} {n}")).is_accepted());
                }
            })
        })
        .collect();
    let mut next = [0; 4];
    for _ in 0..2000 {
        let text = client.recv_text();
        let (thread, n) = text.split_once(' ').unwrap();
        let next = &mut next[thread.parse::<usize>().unwrap()];
        assert_eq!(n.parse(), Ok(*next), "{text}");
        *next += 1;
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    sender.close(CloseCode::new(4100).unwrap(), "done");
    assert_eq!(code(client.recv_close()), Some(4100));
    assert_eq!(sender.send("too late"), SendStatus::Closed);
    assert!(!sender.is_open());
}

#[test]
fn messages_sent_before_a_close_or_the_handlers_end_still_arrive() {
    let app = App::new()
        .ws("/return", |session: Session| -> Result<()> {
            for n in 0..1000 {
                session.send(n.to_string())?;
            }
            Ok(())
        })
        .ws("/close", |session: Session| -> Result<()> {
            for n in 0..1000 {
                session.send(n.to_string())?;
            }
            session.close(CloseCode::NORMAL, "");
            assert!(session.send("too late").is_err_and(|error| error.is_closed()));
            assert!(session.recv()?.is_none());
            Ok(())
        });
    let server = TestServer::start(app);
    for path in ["/return", "/close"] {
        let mut client = Client::connect(&server, path);
        for n in 0..1000 {
            assert_eq!(client.recv_text(), n.to_string(), "{path}");
        }
        assert_eq!(code(client.recv_close()), Some(1000));
    }
}

#[test]
fn what_the_socket_did_not_take_follows_although_the_handler_sleeps() {
    // Far more than the buffers of both sockets take.
    const LEN: usize = 32 << 20;
    let received = Arc::new(AtomicBool::new(false));
    let seen = received.clone();
    let app = App::new().ws("/", move |session: Session| -> Result<()> {
        session.send(vec![7; LEN])?;
        while !seen.load(Ordering::SeqCst) {
            greenroom::sleep(Duration::from_millis(10));
        }
        Ok(())
    });
    let server = TestServer::start(app);
    let mut client = Client::connect(&server, "/");
    assert_eq!(client.recv().expect("the message").len(), LEN);
    received.store(true, Ordering::SeqCst);
    assert_eq!(client.recv_close().expect("a code").code, CloseCode::NORMAL);
}

#[test]
fn what_was_sent_goes_out_when_the_handler_sleeps_or_waits_for_a_host_thread() {
    let app = App::new()
        .ws("/sleep", |session: Session| -> Result<()> {
            session.send("before the sleep")?;
            greenroom::sleep(Duration::from_secs(3));
            Ok(())
        })
        .ws("/blocking", |session: Session| -> Result<()> {
            session.send("before the job")?;
            let _ = greenroom::blocking(|| std::thread::sleep(Duration::from_secs(3)));
            Ok(())
        });
    let server = TestServer::start(app);
    for (path, text) in [("/sleep", "before the sleep"), ("/blocking", "before the job")] {
        let mut client = Client::connect(&server, path).patience(Duration::from_secs(2));
        assert_eq!(client.recv_text(), text);
    }
}

#[test]
fn w32_a_peer_that_never_reads_is_closed_with_1013_and_nothing_follows() {
    let (server, senders) = sender_server(Config {
        ws_max_queue: 64 * 1024,
        ..Config::default()
    });
    let mut client = Client::connect(&server, "/sender").patience(LONG);
    let sender = senders.recv_timeout(LONG).unwrap();
    let mut accepted = 0usize;
    let last = loop {
        match sender.send(vec![(accepted % 251) as u8; 10_000]) {
            SendStatus::Sent | SendStatus::Queued => accepted += 1,
            other => break other,
        }
        // Slow enough for the worker to write, so that it is the peer who doesn't keep up.
        std::thread::sleep(Duration::from_micros(500));
    };
    assert_eq!(last, SendStatus::Dropped);
    assert_eq!(sender.send("more"), SendStatus::Closed);
    expect_alive(&server);
    let mut received = 0usize;
    let close = loop {
        match client.recv_any() {
            Received::Message(message) => {
                assert!(
                    message.as_bytes().iter().all(|b| *b == (received % 251) as u8),
                    "no gap"
                );
                received += 1;
            }
            Received::Close(close) => break close,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code(close), Some(1013));
    assert!(received <= accepted && received > 0);
    client.send_frame(greenroom_ws::OpCode::Close, true, &1013u16.to_be_bytes());
    client.expect_end();
}

#[test]
fn w29_a_peer_that_never_answers_a_close_is_dropped() {
    let (server, senders) = sender_server(Config {
        ws_close_timeout: Duration::from_millis(200),
        ..Config::default()
    });
    let mut client = Client::connect(&server, "/sender");
    senders
        .recv_timeout(LONG)
        .unwrap()
        .close(CloseCode::NORMAL, "bye");
    assert_eq!(client.recv_close().unwrap().reason.as_str(), "bye");
    client.expect_end();
}

#[test]
fn w29_a_peer_that_floods_instead_of_answering_a_close_is_dropped_and_others_are_served() {
    let (server, senders) = sender_server(Config {
        ws_close_timeout: Duration::from_millis(300),
        ..Config::default()
    });
    let mut client = Client::connect(&server, "/sender");
    senders.recv_timeout(LONG).unwrap().close(CloseCode::NORMAL, "");
    assert_eq!(code(client.recv_close()), Some(1000));
    let flood = Client::frame(greenroom_ws::OpCode::Binary, true, &[0; 100_000]).repeat(20);
    let mut stream = client.peer().stream().try_clone().unwrap();
    let flooding =
        std::thread::spawn(move || while std::io::Write::write_all(&mut stream, &flood).is_ok() {});
    expect_alive(&server);
    expect_alive(&server);
    flooding.join().unwrap();
}

#[test]
fn a_silent_peer_is_closed_with_1008_after_the_idle_time_out() {
    let (server, _senders) = sender_server(Config {
        ws_idle_timeout: Duration::from_millis(200),
        ws_close_timeout: Duration::from_millis(200),
        ..Config::default()
    });
    let mut client = Client::connect(&server, "/echo");
    client.send("a");
    assert_eq!(client.recv_text(), "a");
    assert_eq!(code(client.recv_close()), Some(1008));
}

#[test]
fn settings_of_for_ever_are_accepted() {
    let (server, _senders) = sender_server(Config {
        ws_idle_timeout: Duration::MAX,
        ws_close_timeout: Duration::MAX,
        ..Config::default()
    });
    let mut client = Client::connect(&server, "/echo");
    client.send("a");
    assert_eq!(client.recv_text(), "a");
    assert_eq!(code(client.close(1000)), Some(1000));
}

#[test]
fn receiving_and_sending_in_a_destructor_while_unwinding_does_not_hang_the_worker() {
    struct Farewell(Session);
    impl Drop for Farewell {
        fn drop(&mut self) {
            let _ = self.0.send("goodbye");
            assert!(self.0.recv().is_err());
        }
    }
    let app = App::new().ws("/echo", echo).ws("/farewell", |session: Session| {
        let farewell = Farewell(session);
        let _ = farewell.0.recv();
        if farewell.0.is_open() {
            panic!("on purpose");
        }
    });
    let server = TestServer::start(app);
    let mut client = Client::connect(&server, "/farewell");
    client.send("go");
    assert_eq!(client.recv_text(), "goodbye");
    assert_eq!(code(client.recv_close()), Some(1011));
    for _ in 0..4 {
        expect_alive(&server);
    }
}

#[test]
fn w36_a_stop_tells_sessions_1001_and_leaves_other_servers_alone() {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let app = {
        let ends = ends.clone();
        App::new().ws("/", move |session: Session| {
            let end = session.recv();
            ends.lock().unwrap().push(matches!(end, Ok(None)));
        })
    };
    let server = TestServer::start(app);
    let other = TestServer::start(App::new().ws("/echo", echo));
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(&server, "/")).collect();
    server.handle().stop();
    for client in &mut clients {
        assert_eq!(code(client.recv_close()), Some(1001));
        client.send_frame(greenroom_ws::OpCode::Close, true, &1001u16.to_be_bytes());
    }
    server.handle().wait();
    assert_eq!(server.handle().counters().connections, 0);
    assert_eq!(*ends.lock().unwrap(), vec![true; 20]);
    assert!(Peer::try_connect(server.address()).is_err());
    expect_alive(&other);
}

#[test]
fn a_stop_drops_peers_that_never_answer_when_its_budget_is_used_up() {
    let config = Config {
        shutdown: Duration::from_millis(200),
        ws_close_timeout: Duration::from_secs(60),
        ..Config::default()
    };
    let server = TestServer::start_with(App::new().ws("/echo", echo), config);
    let mut client = Client::connect(&server, "/echo");
    server.handle().stop();
    server.handle().wait();
    assert_eq!(server.handle().counters().connections, 0);
    assert_eq!(code(client.recv_close()), Some(1001));
}
