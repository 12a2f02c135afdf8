//! RFC 6455 section 4: the opening handshake, and which Origins may make it.

use greenroom_ws::{Accept, AnswerError, ClientHandshake, Origin, OriginPolicy, Refusal, UpgradeRequest};

type Field = (&'static str, &'static str);

const GOOD: [Field; 5] = [
    ("Host", "server.example.com"),
    ("upgrade", "WebSocket"),
    ("Connection", "keep-alive, UPGRADE"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Version", "13"),
];

fn fields(list: &[Field]) -> impl Iterator<Item = (&str, &[u8])> + Clone {
    list.iter().map(|(name, value)| (*name, value.as_bytes()))
}

fn refusal(list: &[Field]) -> Option<Refusal> {
    UpgradeRequest {
        method: "GET",
        http11: true,
        headers: fields(list),
        has_body: false,
    }
    .accept()
    .err()
}

/// The good request with its fields of that name replaced.
fn with(name: &'static str, values: &[&'static str]) -> Vec<Field> {
    let kept = GOOD
        .into_iter()
        .filter(|(found, _)| !found.eq_ignore_ascii_case(name));
    kept.chain(values.iter().map(|value| (name, *value))).collect()
}

fn accept(list: &[Field]) -> Accept<impl Iterator<Item = (&str, &[u8])> + Clone> {
    UpgradeRequest {
        method: "GET",
        http11: true,
        headers: fields(list),
        has_body: false,
    }
    .accept()
    .unwrap()
}

#[test]
fn s04_2_2_accept_key_of_the_rfcs_example() {
    assert_eq!(accept(&GOOD).key().as_str(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[test]
fn w1_missing_tokens_are_426_with_upgrade() {
    for name in ["upgrade", "connection"] {
        for values in [&[][..], &["keep-alive"], &["websocketx", "xupgrade"], &[""]] {
            assert_eq!(
                refusal(&with(name, values)),
                Some(Refusal::NoUpgrade),
                "{name}: {values:?}"
            );
        }
    }
    assert_eq!(Refusal::NoUpgrade.status(), 426);
    assert_eq!(Refusal::NoUpgrade.header(), Some(("upgrade", "websocket")));
    assert_eq!(
        refusal(&with("connection", &["keep-alive", "a ,\tuPgRaDe"])),
        None
    );
}

#[test]
fn w2_other_missing_or_repeated_version_is_426_with_13() {
    for values in [
        &[][..],
        &["8"],
        &["12"],
        &["13", "13"],
        &["13, 8"],
        &["013"],
        &[""],
    ] {
        assert_eq!(
            refusal(&with("sec-websocket-version", values)),
            Some(Refusal::Version),
            "{values:?}"
        );
    }
    assert_eq!(Refusal::Version.status(), 426);
    assert_eq!(Refusal::Version.header(), Some(("sec-websocket-version", "13")));
}

#[test]
fn w3_key_missing_twice_or_not_16_octets_is_400() {
    let good = "dGhlIHNhbXBsZSBub25jZQ==";
    let bad = [
        &[][..],
        &[good, good],
        &[""],
        &["dGhlIHNhbXBsZSBub25jZQ"],
        &["dGhlIHNhbXBsZSBub25jZXg="],
        &["dGhlIHNhbXBsZSBub25j"],
        &["!GhlIHNhbXBsZSBub25jZQ=="],
    ];
    for values in bad {
        assert_eq!(
            refusal(&with("sec-websocket-key", values)),
            Some(Refusal::Key),
            "{values:?}"
        );
    }
    assert_eq!(Refusal::Key.status(), 400);
    assert_eq!(
        refusal(&with("sec-websocket-key", &["  dGhlIHNhbXBsZSBub25jZQ== "])),
        None
    );
}

#[test]
fn w4_other_method_version_or_a_body_is_refused() {
    let request = UpgradeRequest {
        method: "GET",
        http11: true,
        headers: fields(&GOOD),
        has_body: false,
    };
    let post = UpgradeRequest {
        method: "POST",
        ..request.clone()
    };
    assert_eq!(
        post.accept().err().map(|r| (r.status(), r.header())),
        Some((405, Some(("allow", "GET"))))
    );
    let old = UpgradeRequest {
        http11: false,
        ..request.clone()
    };
    assert_eq!(
        old.accept().err().map(|r| (r.status(), r.header())),
        Some((426, Some(("upgrade", "websocket"))))
    );
    let body = UpgradeRequest {
        has_body: true,
        ..request
    };
    assert_eq!(body.accept().err().map(|r| r.status()), Some(400));
}

#[test]
fn w6_subprotocol_is_in_the_servers_order_and_never_one_not_offered() {
    let list = with("sec-websocket-protocol", &["chat, v1", "v2"]);
    let accept = accept(&list);
    assert_eq!(accept.offered().collect::<Vec<_>>(), ["chat", "v1", "v2"]);
    assert_eq!(accept.select(&["v3", "v2", "v1"]), Some("v2"));
    assert_eq!(accept.select(&["V1", "cha"]), None);
    assert_eq!(accept.select(&[] as &[&str]), None);
    for bad in ["a b", ",", "", "chat/1", "a,\"b\"", "ü"] {
        assert_eq!(
            refusal(&with("sec-websocket-protocol", &[bad])),
            Some(Refusal::Protocols),
            "{bad}"
        );
    }
    assert_eq!(Refusal::Protocols.status(), 400);
}

#[test]
fn w7_extensions_are_400_only_if_malformed() {
    for good in [
        "permessage-deflate; client_max_window_bits, x-webkit-deflate-frame",
        "constructor",
        "permessage-deflate; server_max_window_bits=99",
        "a; b=\"c\"; d = \"\\e\", ,f",
    ] {
        assert_eq!(
            refusal(&with("sec-websocket-extensions", &[good])),
            None,
            "{good}"
        );
    }
    for bad in [
        "",
        ";",
        "a;",
        "a; =1",
        "a; b=",
        "a b",
        "a; b=\"\"",
        "a; b=\"c d\"",
        "a; b=\"c",
        "a; b=\"\\\"",
    ] {
        assert_eq!(
            refusal(&with("sec-websocket-extensions", &[bad])),
            Some(Refusal::Extensions),
            "{bad}"
        );
    }
    assert_eq!(Refusal::Extensions.status(), 400);
}

#[test]
fn w5_origin_must_match_scheme_host_and_port() {
    let allows = |policy: &OriginPolicy, origin: &'static str| {
        policy.allows(fields(&[("origin", origin)]), "Chat.Example", true)
    };
    let listed = OriginPolicy::List(vec!["https://chat.example".parse().unwrap()]);
    let behind_proxy = OriginPolicy::SameOrigin {
        public_origin: Some("https://chat.example:443".parse().unwrap()),
    };
    for policy in [OriginPolicy::default(), listed, behind_proxy] {
        for good in [
            "https://chat.example",
            "https://CHAT.example:443",
            "HTTPS://chat.example",
        ] {
            assert!(allows(&policy, good), "{good} {policy:?}");
        }
        for bad in [
            "http://chat.example",
            "https://chat.example:8443",
            "https://chat.example.evil",
            "https://evilchat.example",
            "https://chat.example@evil",
            "https://chat.example/",
            "https://chat.example:",
            "chat.example",
            "null",
            "",
        ] {
            assert!(!allows(&policy, bad), "{bad} {policy:?}");
            assert!(allows(&OriginPolicy::Any, bad));
        }
        assert!(policy.allows(fields(&[]), "chat.example", true), "no browser");
        let twice = [
            ("origin", "https://chat.example"),
            ("Origin", "https://chat.example"),
        ];
        assert!(!policy.allows(fields(&twice), "chat.example", true));
    }
    assert!(allows(&OriginPolicy::List(vec![Origin::NULL]), "null"));
    let local = OriginPolicy::default();
    assert!(local.allows(fields(&[("origin", "http://[::1]:8080")]), "[::1]:8080", false));
    assert!(local.allows(fields(&[("origin", "http://localhost")]), "localhost:80", false));
}

#[test]
fn s04_1_client_asks_and_checks_the_answer() {
    let client = ClientHandshake {
        host: "server.example.com",
        path: "/chat?x=1",
        key: *b"the sample nonce",
        protocols: &["chat", "v1"],
        headers: &[("Origin", "http://example.com")],
    };
    let mut request = Vec::new();
    client.write(&mut request).unwrap();
    assert_eq!(
        String::from_utf8(request).unwrap(),
        "GET /chat?x=1 HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: chat, v1\r\nOrigin: http://example.com\r\n\r\n"
    );
    let injected = ClientHandshake {
        headers: &[("X", "a\r\nb: c")],
        ..client
    };
    assert_eq!(injected.write(&mut Vec::new()), Err(AnswerError::InvalidRequest));

    let answer = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    ];
    let check = |status, more: &[Field]| client.check(status, fields(&[&answer, more].concat()));
    assert_eq!(check(101, &[]), Ok(None));
    assert_eq!(check(101, &[("sec-websocket-protocol", "v1")]), Ok(Some("v1")));
    assert_eq!(
        check(101, &[("sec-websocket-protocol", "v2")]),
        Err(AnswerError::Protocol)
    );
    assert_eq!(
        check(101, &[("sec-websocket-extensions", "x")]),
        Err(AnswerError::Extension)
    );
    assert_eq!(check(503, &[]), Err(AnswerError::Status(503)));
    assert_eq!(
        client.check(101, fields(&answer[1..])),
        Err(AnswerError::NoUpgrade)
    );
    assert_eq!(
        client.check(101, fields(&answer[..2])),
        Err(AnswerError::AcceptKey)
    );
}
