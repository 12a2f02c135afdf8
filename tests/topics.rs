//! Topics on the wire: who gets what, in which order, and what becomes of members that end, churn or don't keep up.

use greenroom::testing::{Client, TestServer};
use greenroom::{App, Config, Hub, Result, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        condition()
    })
}

/// `/join` subscribes and says so; `/replay` with history; `/publish` publishes what it receives; `/churn` joins and
/// leaves for each message.
fn app(hub: &Hub) -> App {
    let (join, replay, publish, churn) = (hub.clone(), hub.clone(), hub.clone(), hub.clone());
    App::new()
        .ws("/join", move |session: Session| -> Result<()> {
            let _member = join.topic("t").subscribe(&session)?;
            session.send("joined")?;
            while session.recv()?.is_some() {}
            Ok(())
        })
        .ws("/replay", move |session: Session| -> Result<()> {
            let _member = replay.topic("t").subscribe_with_history(&session)?;
            while session.recv()?.is_some() {}
            Ok(())
        })
        .ws("/publish", move |session: Session| -> Result<()> {
            let topic = publish.topic("t");
            while let Some(message) = session.recv()? {
                topic.publish(message);
            }
            Ok(())
        })
        .ws("/churn", move |session: Session| -> Result<()> {
            let topic = churn.topic("t");
            while let Some(message) = session.recv()? {
                let member = topic.subscribe(&session)?;
                let second = topic.subscribe(&session)?;
                drop(member);
                greenroom::yield_now();
                drop(second);
                session.send(message)?;
            }
            Ok(())
        })
}

fn join(server: &TestServer) -> Client {
    let mut client = Client::connect(server, "/join").patience(LONG);
    // Somebody may have published in between.
    while client.recv_text() != "joined" {}
    client
}

#[test]
fn order_holds_per_publisher_and_is_the_same_for_all() {
    const EACH: usize = 200;
    let hub = Hub::new();
    let server = TestServer::start(app(&hub));
    let mut members: Vec<_> = (0..20).map(|_| join(&server)).collect();
    let start = Arc::new(Barrier::new(8));
    let publishers: Vec<_> = (0..8)
        .map(|publisher| {
            let (topic, start, address) = (hub.topic("t"), start.clone(), server.address());
            std::thread::spawn(move || {
                // Half of them are host threads, half are sessions.
                let mut client =
                    (publisher % 2 == 0).then(|| Client::connect(address, "/publish").patience(LONG));
                start.wait();
                for n in 0..EACH {
                    let text = format!("{publisher} {n}");
                    match &mut client {
                        Some(client) => client.send(text),
                        None => assert_eq!(topic.publish(text), 20),
                    }
                }
                if let Some(client) = &mut client {
                    client.close(1000);
                }
            })
        })
        .collect();
    let mut first: Option<Vec<String>> = None;
    for member in &mut members {
        let seen: Vec<String> = (0..8 * EACH).map(|_| member.recv_text()).collect();
        let mut next = [0; 8];
        for text in &seen {
            let (publisher, n) = text.split_once(' ').unwrap();
            let next = &mut next[publisher.parse::<usize>().unwrap()];
            assert_eq!(n.parse(), Ok(*next));
            *next += 1;
        }
        match &first {
            None => first = Some(seen),
            Some(first) => assert!(*first == seen, "one order for all"),
        }
    }
    publishers
        .into_iter()
        .for_each(|publisher| publisher.join().unwrap());
}

#[test]
fn w32_a_member_that_never_reads_is_closed_with_1013_and_nobody_else_notices() {
    let hub = Hub::new();
    let config = Config {
        ws_max_queue: 256 * 1024,
        ..Config::default()
    };
    let server = TestServer::start_with(app(&hub), config);
    let mut slow = join(&server);
    let mut quick = join(&server);
    let topic = hub.topic("t");
    let mut published = 0u32;
    while topic.subscribers() == 2 {
        topic.publish([&published.to_be_bytes()[..], &[0; 20_000]].concat());
        let got = quick.recv().expect("the quick one goes on");
        assert_eq!(got.as_bytes()[..4], published.to_be_bytes());
        published += 1;
    }
    let mut received = 0u32;
    while let greenroom::testing::Received::Message(message) = slow.recv_any() {
        assert_eq!(message.as_bytes()[..4], received.to_be_bytes(), "no gap");
        received += 1;
    }
    assert!(received > 0 && received < published);
    assert_eq!(topic.publish("still here"), 1);
    assert_eq!(quick.recv_text(), "still here");
}

#[test]
fn w38_members_that_come_and_go_while_others_publish() {
    let hub = Hub::new();
    let server = TestServer::start(app(&hub));
    let stop = Arc::new(AtomicBool::new(false));
    let publishing = {
        let (topic, stop) = (hub.topic("t"), stop.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                topic.publish("noise");
                std::thread::sleep(Duration::from_micros(100));
            }
        })
    };
    let mut churning: Vec<_> = (0..10)
        .map(|_| Client::connect(&server, "/churn").patience(LONG))
        .collect();
    for n in 0..50 {
        for client in &mut churning {
            client.send(format!("turn {n}"));
        }
        for client in &mut churning {
            while client.recv_text() != format!("turn {n}") {}
        }
    }
    // Some end in order, some are reset while they are members.
    let mut members: Vec<_> = (0..20).map(|_| join(&server)).collect();
    for mut member in members.drain(..10) {
        member.close(1000);
    }
    members.into_iter().for_each(drop);
    drop(churning);
    stop.store(true, Ordering::Relaxed);
    publishing.join().unwrap();
    let topic = hub.topic("t");
    assert!(eventually(|| topic.subscribers() == 0), "{}", topic.subscribers());
    drop(topic);
    assert!(eventually(|| hub.topics() == 0), "forgotten with its last holder");
}

#[test]
fn a_newcomer_gets_history_and_what_follows_without_a_gap_or_a_repetition() {
    const TOTAL: usize = 3000;
    let hub = Hub::with_history(100);
    let server = TestServer::start(app(&hub));
    let topic = hub.topic("t");
    let publishing = std::thread::spawn(move || {
        for n in 0..TOTAL {
            topic.publish(n.to_string());
            if n % 10 == 0 {
                std::thread::sleep(Duration::from_micros(500));
            }
        }
    });
    let mut newcomers = Vec::new();
    while !publishing.is_finished() && newcomers.len() < 200 {
        newcomers.push(Client::connect(&server, "/replay").patience(LONG));
    }
    publishing.join().unwrap();
    for newcomer in &mut newcomers {
        let mut next: Option<usize> = None;
        loop {
            let n: usize = newcomer.recv_text().parse().unwrap();
            assert!(next.is_none_or(|next| next == n), "{next:?} expected, {n} came");
            next = Some(n + 1);
            if n + 1 == TOTAL {
                break;
            }
        }
    }
}
