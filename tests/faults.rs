//! Clients that are killed, storms of them, and a process without file descriptors: nothing is left behind, and the
//! server goes on.

use greenroom::testing::{Client, Peer, TestServer};
use greenroom::{App, Config, Hub, Result, Session};
use greenroom_ws::OpCode;
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// File descriptors are counted: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        condition()
    })
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn server(hub: &Hub, config: Config) -> TestServer {
    let hub = hub.clone();
    let app = App::new()
        .get("/", || "hello")
        .ws("/echo", move |session: Session| -> Result<()> {
            let _member = hub.topic("all").subscribe(&session)?;
            while let Some(message) = session.recv()? {
                session.send(message)?;
            }
            Ok(())
        });
    TestServer::start_with(app, config)
}

fn expect_alive(to: SocketAddr) {
    let mut client = Client::connect(to, "/echo").patience(LONG);
    client.send("still there?");
    while client.recv_text() != "still there?" {}
    client.close(1000);
}

#[test]
fn two_thousand_sessions_that_end_in_every_way_leave_nothing_behind() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let hub = Hub::new();
    let server = server(&hub, Config::default());
    expect_alive(server.address());
    assert!(eventually(|| server.handle().counters().connections == 0));
    let before = open_files();
    for round in 0..4 {
        let mut clients: Vec<_> = (0..500)
            .map(|_| Client::connect(&server, "/echo").patience(LONG))
            .collect();
        for (n, client) in clients.iter_mut().enumerate() {
            client.send(format!("{round} {n}"));
        }
        hub.topic("all").publish(vec![0; 100_000]);
        for (n, mut client) in clients.into_iter().enumerate() {
            match n % 5 {
                0 => while client.recv().unwrap().as_text() != Some(&format!("{round} {n}")) {},
                1 => client
                    .peer()
                    .send(&Client::frame(OpCode::Text, true, &[b'x'; 1000])[..500]),
                2 => client
                    .peer()
                    .send(&Client::frame(OpCode::Binary, true, &[0; 10])[..3]),
                3 => drop(client.close(1001)),
                // Closed with unread bytes: a reset.
                _ => {}
            }
        }
    }
    let left = || server.handle().counters().connections;
    assert!(eventually(|| left() == 0), "{} connections", left());
    assert!(
        eventually(|| open_files() <= before),
        "{} files, {before} before",
        open_files()
    );
    assert_eq!(hub.topics(), 0, "no subscription is left");
    expect_alive(server.address());
}

#[test]
fn two_thousand_sessions_echo_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let server = server(&Hub::new(), Config::default());
    let mut clients: Vec<_> = (0..2000)
        .map(|_| Client::connect(&server, "/echo").patience(LONG))
        .collect();
    for round in 0..3 {
        for (n, client) in clients.iter_mut().enumerate() {
            client.send(format!("{round} {n}"));
        }
        for (n, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.recv_text(), format!("{round} {n}"));
        }
    }
    assert_eq!(server.handle().counters().connections, 2000);
}

#[test]
fn five_thousand_connects_at_once_are_served() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let server = server(&Hub::new(), Config::default());
    let address = server.address();
    // The acceptor has all its descriptors once it has served somebody.
    expect_alive(address);
    assert!(eventually(|| server.handle().counters().connections == 0));
    let before = open_files();
    let storm: Vec<_> = (0..10)
        .map(|_| {
            std::thread::spawn(move || {
                let streams: Vec<_> = (0..500).map(|_| TcpStream::connect(address).unwrap()).collect();
                streams.len()
            })
        })
        .collect();
    assert_eq!(
        storm
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum::<usize>(),
        5000
    );
    expect_alive(address);
    let left = || server.handle().counters().connections;
    assert!(eventually(|| left() == 0), "{} connections", left());
    assert!(
        eventually(|| open_files() <= before),
        "{} files, {before} before",
        open_files()
    );
    assert_eq!(server.handle().counters().accepted, 5002);
}

/// The server of the test below, run as a process of its own under `ulimit -n 200`.
#[test]
fn starved_child() {
    if std::env::var_os("GREENROOM_STARVED").is_none() {
        return;
    }
    // More than there are descriptors, so that accept itself runs out of them.
    let config = Config {
        max_connections: 10_000,
        ..Config::default()
    };
    let server = server(&Hub::new(), config);
    println!("\nlistening on {}", server.address());
    // Until the parent closes the pipe.
    let _ = std::io::stdin().read_line(&mut String::new());
    let counters = server.handle().counters();
    println!(
        "\naccept errors {} left {} files {}",
        counters.accept_errors,
        counters.connections,
        open_files()
    );
}

#[test]
fn s8_a_process_without_descriptors_goes_on_serving_when_it_has_some_again() {
    use std::io::{BufRead, BufReader};
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut child = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -n 200; exec \"$0\" --exact starved_child --nocapture",
        ])
        .arg(std::env::current_exe().unwrap())
        .env("GREENROOM_STARVED", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| line.unwrap());
    let address: SocketAddr = lines
        .find_map(|line| {
            line.strip_prefix("listening on ")
                .map(|address| address.parse().unwrap())
        })
        .expect("the child listens");
    for _ in 0..3 {
        let flood: Vec<_> = (0..400).filter_map(|_| Peer::try_connect(address).ok()).collect();
        std::thread::sleep(Duration::from_millis(300));
        drop(flood);
        expect_alive_again(address);
    }
    drop(child.stdin.take());
    let report = lines
        .find(|line| line.starts_with("accept errors "))
        .expect("a report");
    let numbers: Vec<usize> = report.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] > 0, "accept did run out: {report}");
    assert!(numbers[2] < 40, "descriptors came back: {report}");
    assert!(child.wait().unwrap().success());
}

/// Until the pause of a starved acceptor is over, connections are refused with 503.
fn expect_alive_again(address: SocketAddr) {
    let served = || {
        let mut client = Client::try_connect(address, "/echo", &[]).ok()?.patience(LONG);
        client.send("again");
        client.recv()
    };
    assert!(eventually(|| std::panic::catch_unwind(served)
        .ok()
        .flatten()
        .is_some()));
}
