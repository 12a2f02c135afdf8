//! HTTP/1.1 on the wire: connections, pipelining, bodies, refusals and deadlines, in the order of RFC 9112 and then by
//! the rows of bad inputs. What the parser accepts is tested beside the parser; here it is what a client sees.

use greenroom::testing::{Answer, Peer, TestServer};
use greenroom::{App, BodyError, Config, Request, Response, StatusCode};
use std::time::Duration;

/// Short deadlines, for tests that wait for them to pass.
const SHORT: Duration = Duration::from_millis(150);

fn app() -> App {
    App::new()
        .get("/plaintext", || "Hello, World!")
        .get("/peer", |request: &mut Request| request.peer().to_string())
        .get("/large", || vec![b'x'; 300_000])
        .get("/panic", || -> &'static str { panic!("the password is tulip") })
        .get("/closing", || Response::text("bye").closing())
        .get("/nothing", || StatusCode::NO_CONTENT)
        .any("/echo", |request: &mut Request| match request.read_body() {
            Ok(body) => Response::bytes(body),
            Err(error) => Response::text(error.to_string()).with_status(status_of(error)),
        })
        .any("/ignore", || "I read nothing")
}

fn status_of(error: BodyError) -> StatusCode {
    match error {
        BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::Malformed(_) => StatusCode::BAD_REQUEST,
        BodyError::TimedOut => StatusCode::REQUEST_TIMEOUT,
        BodyError::Closed => StatusCode::BAD_REQUEST,
        BodyError::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn server() -> TestServer {
    TestServer::start(app())
}

/// A server whose every deadline is short.
fn impatient() -> TestServer {
    let config = Config {
        timeout: SHORT,
        idle_timeout: SHORT,
        ..Config::default()
    };
    TestServer::start_with(app(), config)
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// One exchange on a new connection.
fn ask(server: &TestServer, request: impl AsRef<[u8]>) -> Answer {
    let mut peer = Peer::connect(server);
    peer.send(request);
    peer.answer()
}

/// Asserts that the connection is still good for a request.
fn expect_usable(peer: &mut Peer) {
    peer.send(get("/plaintext"));
    assert_eq!(peer.answer().text(), "Hello, World!");
}

#[test]
fn a_request_is_answered_and_the_connection_stays() {
    let server = server();
    let mut peer = Peer::connect(&server);
    for _ in 0..3 {
        peer.send(get("/plaintext"));
        let answer = peer.answer();
        assert_eq!((answer.status, answer.text()), (200, "Hello, World!"));
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(answer.header("content-length"), Some("13"));
        assert_eq!(answer.header("connection"), None);
        assert!(answer.header("date").is_some());
        assert_eq!(answer.header("server"), None);
    }
    assert_eq!(server.handle().counters().requests, 3);
}

#[test]
fn the_handler_knows_the_peer() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(get("/peer"));
    let address = peer.stream().local_addr().unwrap().to_string();
    assert_eq!(peer.answer().text(), address);
}

#[test]
fn s2_2_empty_lines_before_a_request_are_skipped() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(format!("\r\n{}", get("/plaintext")));
    assert_eq!(peer.answer().status, 200);
    peer.send("\r\n");
    expect_usable(&mut peer);
}

#[test]
fn a_large_answer_arrives_whole_and_in_step() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(get("/large").repeat(3));
    for _ in 0..3 {
        let answer = peer.answer();
        assert_eq!(answer.body.len(), 300_000);
        assert!(answer.body.iter().all(|byte| *byte == b'x'));
    }
    expect_usable(&mut peer);
}

#[test]
fn h2_unknown_methods_paths_and_methods_that_are_not_allowed() {
    let server = server();
    assert_eq!(ask(&server, "BREW / HTTP/1.1\r\nHost: a\r\n\r\n").status, 501);
    assert_eq!(ask(&server, get("/nowhere")).status, 404);
    let answer = ask(
        &server,
        "POST /plaintext HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(
        (answer.status, answer.header("allow")),
        (405, Some("GET, HEAD, OPTIONS"))
    );
    let mut peer = Peer::connect(&server);
    peer.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = peer.answer();
    assert_eq!(answer.status, 204);
    assert!(
        answer
            .header("allow")
            .is_some_and(|allow| allow.contains("DELETE"))
    );
    expect_usable(&mut peer);
}

#[test]
fn h30_pipelined_requests_are_answered_in_order() {
    let server = server();
    let mut peer = Peer::connect(&server);
    let mut requests = String::new();
    for number in 0..500 {
        requests += &format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{number:03}");
    }
    peer.send(requests);
    for number in 0..500 {
        assert_eq!(peer.answer().text(), format!("{number:03}"));
    }
    assert_eq!(server.handle().counters().requests, 500);
}

#[test]
fn h30_a_request_split_at_every_byte_is_answered_the_same() {
    let server = server();
    let request = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let mut peer = Peer::connect(&server);
    for at in 1..request.len() {
        let (first, second) = request.split_at(at);
        peer.send(first);
        std::thread::sleep(Duration::from_millis(1));
        peer.send(second);
        let answer = peer.answer();
        assert_eq!((answer.status, answer.text()), (200, "abcde"), "split at {at}");
    }
    peer.send_slowly(request, Duration::from_micros(200));
    assert_eq!(peer.answer().text(), "abcde");
}

#[test]
fn pipelined_answers_do_not_wait_for_an_unfinished_request() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(get("/plaintext") + "GET /plain");
    assert_eq!(peer.answer().status, 200);
    peer.send("text HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(peer.answer().status, 200);
    // Nor for the body of one.
    peer.send(get("/plaintext") + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    assert_eq!(peer.answer().status, 200);
    peer.send("cd");
    assert_eq!(peer.answer().text(), "abcd");
}

#[test]
fn h31_what_follows_connection_close_is_not_processed() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(
        "GET /plaintext HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_owned() + &get("/plaintext"),
    );
    let answer = peer.answer();
    assert_eq!(answer.header("connection"), Some("close"));
    peer.expect_end();
    assert_eq!(server.handle().counters().requests, 1);
}

#[test]
fn h31_garbage_behind_a_request_is_400_after_its_answer() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(get("/plaintext") + "\0\x01garbage\r\n\r\n");
    assert_eq!(peer.answer().status, 200);
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("connection")), (400, Some("close")));
    peer.expect_end();
}

#[test]
fn s9_3_http_1_0_closes_unless_asked_to_stay() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send("GET /plaintext HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(peer.answer().header("connection"), Some("keep-alive"));
    peer.send("GET /plaintext HTTP/1.0\r\n\r\n");
    assert_eq!(peer.answer().header("connection"), Some("close"));
    peer.expect_end();
}

#[test]
fn a_handler_can_ask_for_the_close() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(get("/closing"));
    let answer = peer.answer();
    assert_eq!(
        (answer.text(), answer.header("connection")),
        ("bye", Some("close"))
    );
    peer.expect_end();
}

#[test]
fn h32_a_refusal_is_seen_although_more_bytes_are_waiting() {
    let server = server();
    for _ in 0..20 {
        let mut peer = Peer::connect(&server);
        let mut request = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\n".to_vec();
        request.resize(150_000, b'x');
        peer.send(request);
        let answer = peer.answer();
        assert_eq!((answer.status, answer.header("connection")), (400, Some("close")));
        peer.expect_end();
    }
    assert_eq!(server.handle().counters().bad_requests, 20);
}

#[test]
fn h33_head_and_bodiless_answers_stay_in_step() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send("HEAD /plaintext HTTP/1.1\r\nHost: a\r\n\r\nHEAD /large HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(peer.answer_head().header("content-length"), Some("13"));
    assert_eq!(peer.answer_head().header("content-length"), Some("300000"));
    peer.send(get("/nothing"));
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("content-length")), (204, None));
    expect_usable(&mut peer);
}

#[test]
fn h34_a_get_with_a_body_is_framed_like_any_other() {
    let server = server();
    let mut peer = Peer::connect(&server);
    let body = "GET /panic HTTP/1.1\r\nHost: evil\r\n\r\n";
    for method in ["GET", "DELETE", "OPTIONS"] {
        let length = body.len();
        peer.send(format!(
            "{method} /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        assert_eq!(peer.answer().text(), "I read nothing", "{method}");
    }
    expect_usable(&mut peer);
    assert_eq!(server.handle().counters().panics, 0);
}

#[test]
fn h35_a_body_that_no_handler_reads_is_thrown_away() {
    let server = server();
    let mut peer = Peer::connect(&server);
    // In the buffer already, coming later, and chunked.
    peer.send("POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde");
    assert_eq!(peer.answer().status, 200);
    peer.send("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    assert_eq!(peer.answer().status, 404);
    peer.send("cde");
    expect_usable(&mut peer);
    peer.send("POST /ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab");
    assert_eq!(peer.answer().status, 200);
    peer.send("c\r\n0\r\n\r\n");
    expect_usable(&mut peer);
}

#[test]
fn h35_an_unread_body_that_is_too_long_to_throw_away_closes_the_connection() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send("POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    peer.send(vec![b'x'; 100_000]);
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    // Chunked, where it shows only afterwards.
    let mut peer = Peer::connect(&server);
    peer.send("POST /ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_eq!(peer.answer().status, 200);
    peer.send("20000\r\n");
    let _ = peer.try_send(vec![b'x'; 0x20000]);
    assert_eq!(peer.some(), None);
}

#[test]
fn h37_continue_goes_out_only_when_the_handler_reads() {
    let server = server();
    let mut peer = Peer::connect(&server);
    let expecting = |path, length| {
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n")
    };
    peer.send(expecting("/echo", 3));
    assert_eq!(peer.answer().status, 100);
    peer.send("abc");
    assert_eq!(peer.answer().text(), "abc");
    // The body is there already: no 100.
    peer.send(expecting("/echo", 3) + "abc");
    assert_eq!(peer.answer().status, 200);
    // HTTP/1.0 knows no 100.
    peer.send(
        "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
    );
    std::thread::sleep(Duration::from_millis(20));
    peer.send("abc");
    assert_eq!(peer.answer().status, 200);
    // Too long: refused before the body is asked for.
    let mut refused = Peer::connect(&server);
    refused.send(expecting("/echo", 100_000_000));
    assert_eq!(refused.answer().status, 413);
    refused.expect_end();
    // A final answer without a 100: nobody knows whether the body will come.
    peer.send(expecting("/ignore", 3));
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    peer.finish();
    peer.expect_end();
}

#[test]
fn h37_answers_to_earlier_requests_come_before_the_continue() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(
        get("/plaintext")
            + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(peer.answer().text(), "Hello, World!");
    assert_eq!(peer.answer().status, 100);
    peer.send("x");
    assert_eq!(peer.answer().text(), "x");
}

#[test]
fn h37_an_unknown_expectation_is_417() {
    let answer = ask(&server(), "GET / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n");
    assert_eq!((answer.status, answer.header("connection")), (417, Some("close")));
}

#[test]
fn h16_a_body_over_the_limit_is_413() {
    let config = Config {
        max_body: 1000,
        ..Config::default()
    };
    let server = TestServer::start_with(app(), config);
    // By its length: before anything is read, whatever the handler does.
    for path in ["/echo", "/ignore"] {
        let mut peer = Peer::connect(&server);
        peer.send(format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"
        ));
        let answer = peer.answer();
        assert_eq!(
            (answer.status, answer.header("connection")),
            (413, Some("close")),
            "{path}"
        );
        peer.expect_end();
    }
    // Chunked: where it crosses the limit.
    let mut peer = Peer::connect(&server);
    peer.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    peer.send(format!("258\r\n{}\r\n", "x".repeat(0x258)).repeat(2));
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    peer.expect_end();
    // At the limit it is fine.
    let mut peer = Peer::connect(&server);
    peer.send(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n".to_owned() + &"y".repeat(1000),
    );
    assert_eq!(peer.answer().body.len(), 1000);
    expect_usable(&mut peer);
}

#[test]
fn h20_malformed_chunking_is_400_and_closes() {
    let server = server();
    for chunks in [
        "3\nabc\r\n0\r\n\r\n",
        "3\r\nabcX\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
    ] {
        let mut peer = Peer::connect(&server);
        peer.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned() + chunks);
        let answer = peer.answer();
        assert_eq!(
            (answer.status, answer.header("connection")),
            (400, Some("close")),
            "{chunks:?}"
        );
        peer.expect_end();
    }
}

#[test]
fn a_large_body_is_received_whole() {
    let server = server();
    let body: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    let mut peer = Peer::connect(&server);
    let mut sender = peer.stream().try_clone().unwrap();
    let request = [
        format!(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes(),
        body.clone(),
    ]
    .concat();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut sender, &request));
    assert!(peer.answer().body == body);
    writer.join().unwrap().unwrap();
    expect_usable(&mut peer);
}

#[test]
fn h1_h23_too_long_heads_are_414_and_431() {
    let server = server();
    assert_eq!(ask(&server, get(&format!("/{}", "a".repeat(20_000)))).status, 414);
    let many = "x: y\r\n".repeat(101);
    let answer = ask(&server, format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"));
    assert_eq!((answer.status, answer.header("connection")), (431, Some("close")));
    let long = "y".repeat(70_000);
    assert_eq!(
        ask(&server, format!("GET / HTTP/1.1\r\nHost: a\r\nx: {long}\r\n\r\n")).status,
        431
    );
}

#[test]
fn heads_may_be_larger_than_the_read_buffer_where_that_is_configured() {
    let config = Config {
        max_head: 512 * 1024,
        ..Config::default()
    };
    let server = TestServer::start_with(app(), config);
    let mut peer = Peer::connect(&server);
    let long = "y".repeat(400_000);
    peer.send(format!("GET /plaintext HTTP/1.1\r\nHost: a\r\nx: {long}\r\n\r\n"));
    assert_eq!(peer.answer().status, 200);
    expect_usable(&mut peer);
    let longer = "y".repeat(600_000);
    peer.send(format!(
        "GET /plaintext HTTP/1.1\r\nHost: a\r\nx: {longer}\r\n\r\n"
    ));
    assert_eq!(peer.answer().status, 431);
}

#[test]
fn s1_a_head_that_comes_too_slowly_is_408() {
    let server = impatient();
    let mut peer = Peer::connect(&server);
    peer.send("GET /plaintext HTTP/1.1\r\nHo");
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    peer.expect_end();
    // Trickling doesn't move the deadline.
    let mut peer = Peer::connect(&server);
    for _ in 0..100 {
        if peer.try_send("x").is_err() {
            break;
        }
        std::thread::sleep(SHORT / 15);
    }
    let answers = peer.some().expect("an answer before the end");
    assert!(answers.starts_with(b"HTTP/1.1 408 "));
}

#[test]
fn s1_s5_a_connection_without_a_byte_is_closed_silently() {
    Peer::connect(&impatient()).expect_end();
}

#[test]
fn s2_a_body_that_stalls_is_408() {
    let server = impatient();
    let mut peer = Peer::connect(&server);
    peer.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    peer.expect_end();
}

#[test]
fn s2_a_body_that_trickles_is_408() {
    let server = impatient();
    let mut peer = Peer::connect(&server);
    peer.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for _ in 0..500 {
        if peer.try_send("x").is_err() {
            break;
        }
        std::thread::sleep(SHORT / 15);
    }
    let answers = peer.some().expect("an answer before the end");
    assert!(
        answers.starts_with(b"HTTP/1.1 408 "),
        "{}",
        String::from_utf8_lossy(&answers)
    );
}

#[test]
fn s3_a_peer_that_reads_nothing_is_dropped() {
    let server = impatient();
    let mut peer = Peer::connect(&server);
    // Far more than all socket buffers take.
    for _ in 0..100 {
        if peer.try_send(get("/large")).is_err() {
            break;
        }
    }
    expect_connections(&server, 0);
}

#[test]
fn s4_an_idle_connection_is_closed_silently() {
    let server = impatient();
    let mut peer = Peer::connect(&server);
    peer.send(get("/plaintext"));
    assert_eq!(peer.answer().status, 200);
    peer.expect_end();
}

#[test]
fn s6_connections_beyond_the_limit_are_answered_503() {
    let config = Config {
        max_connections: 2,
        ..Config::default()
    };
    let server = TestServer::start_with(app(), config);
    let mut first = Peer::connect(&server);
    let mut second = Peer::connect(&server);
    expect_usable(&mut first);
    expect_usable(&mut second);
    let mut third = Peer::connect(&server);
    let answer = third.answer();
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    third.expect_end();
    assert_eq!(server.handle().counters().refused, 1);
    // A place that comes free is given away again.
    drop(first);
    expect_connections(&server, 1);
    expect_usable(&mut Peer::connect(&server));
}

#[test]
fn s7_a_request_is_answered_although_the_client_has_finished_sending() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.send(get("/plaintext"));
    peer.finish();
    assert_eq!(peer.answer().status, 200);
    peer.expect_end();
}

#[test]
fn s7_an_end_in_the_middle_of_a_request_gets_no_answer() {
    let server = server();
    for request in [
        "GET /plaintext HTTP/1.1\r\nHost",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab",
    ] {
        let mut peer = Peer::connect(&server);
        peer.send(request);
        peer.finish();
        peer.expect_end();
    }
}

#[test]
fn s7_resets_at_any_time_leave_nothing_behind() {
    let server = server();
    for request in [
        "",
        "GET /pl",
        &get("/large").repeat(20),
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab",
    ] {
        for _ in 0..10 {
            let mut peer = Peer::connect(&server);
            peer.send(request);
            peer.reset();
        }
    }
    expect_connections(&server, 0);
    expect_usable(&mut Peer::connect(&server));
}

#[test]
fn o1_a_panic_is_a_500_without_its_message_and_closes_only_its_connection() {
    let server = server();
    let mut other = Peer::connect(&server);
    expect_usable(&mut other);
    let mut peer = Peer::connect(&server);
    peer.send(get("/plaintext") + &get("/panic"));
    assert_eq!(peer.answer().status, 200);
    let answer = peer.answer();
    assert_eq!((answer.status, answer.header("connection")), (500, Some("close")));
    assert!(answer.header("x-request-id").is_some());
    assert!(!answer.text().contains("tulip"));
    peer.expect_end();
    expect_usable(&mut other);
    assert_eq!(server.handle().counters().panics, 1);
}

#[test]
fn o1_a_panic_while_a_body_is_lent_keeps_the_stream() {
    let app = App::new().post("/", |request: &mut Request| -> &'static str {
        request.read_body().unwrap();
        panic!("after the body")
    });
    let server = TestServer::start(app);
    let answer = ask(
        &server,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    );
    assert_eq!((answer.status, answer.header("connection")), (500, Some("close")));
}

#[test]
fn a_connection_with_much_to_do_does_not_starve_the_others() {
    let server = server();
    let mut busy = Peer::connect(&server);
    let mut sender = busy.stream().try_clone().unwrap();
    let requests = get("/plaintext").repeat(20_000);
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut sender, requests.as_bytes()));
    for _ in 0..8 {
        expect_usable(&mut Peer::connect(&server));
    }
    for _ in 0..20_000 {
        assert_eq!(busy.answer().status, 200);
    }
    writer.join().unwrap().unwrap();
}

#[test]
fn o12_a_drain_finishes_what_is_in_flight_and_closes_the_rest() {
    let (started, has_started) = std::sync::mpsc::channel();
    let app = app().get("/slow", move || {
        started.send(()).unwrap();
        greenroom::sleep(Duration::from_millis(300));
        "done"
    });
    let server = TestServer::start(app);
    let mut idle = Peer::connect(&server);
    expect_usable(&mut idle);
    let mut fresh = Peer::connect(&server);
    let mut busy = Peer::connect(&server);
    busy.send(get("/slow") + &get("/plaintext"));
    has_started.recv().unwrap();
    let address = server.address();
    server.handle().stop();
    idle.expect_end();
    fresh.expect_end();
    let answer = busy.answer();
    assert_eq!(
        (answer.text(), answer.header("connection")),
        ("done", Some("close"))
    );
    busy.expect_end();
    server.handle().wait();
    assert!(
        Peer::try_connect(address).is_err(),
        "the listening socket is closed"
    );
    assert_eq!(server.handle().counters().connections, 0);
}

#[test]
fn o12_what_outlasts_the_budget_is_dropped() {
    let server = server();
    let mut peer = Peer::connect(&server);
    // In the middle of a body: waits for 15 s otherwise.
    peer.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    let mut stalled = Peer::connect(&server);
    stalled.send(get("/large").repeat(60));
    stalled.take(1);
    server.handle().abort();
    server.handle().wait();
    assert_eq!(server.handle().counters().connections, 0);
    peer.expect_end();
}

#[test]
fn o17_a_port_in_use_stops_the_start() {
    let server = server();
    let config = Config {
        address: server.address(),
        handle_signals: false,
        ..Config::default()
    };
    let error = app().start(config).unwrap_err();
    assert!(
        error.to_string().contains("another program listens there"),
        "{error}"
    );
}

#[test]
fn the_start_line_tells_address_mode_and_limits() {
    let server = server();
    let line = server.handle().to_string();
    let address = server.address();
    assert!(
        line.starts_with(&format!("listening on http://{address} mode=green workers=")),
        "{line}"
    );
    assert!(line.contains("max_connections="), "{line}");
}

/// Waits until the server has exactly so many connections.
fn expect_connections(server: &TestServer, count: u64) {
    for _ in 0..1000 {
        if server.handle().counters().connections == count {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}, {count} connections expected", server.handle().counters());
}
