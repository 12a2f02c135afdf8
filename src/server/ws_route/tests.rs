use super::*;
use crate::server::app::App;
use crate::server::built_app::BuiltApp;
use crate::server::extract::{Bearer, Path, State};
use crate::server::middleware::Next;
use crate::server::request::tests::request_with;
use crate::server::session_handler::SessionHandler;
use crate::server::upgrade::PreparedUpgrade;
use crate::server::upgrade::SessionStart;
use crate::session::{Session, SessionRef};
use greenroom_ws::Message;
use std::sync::Arc;

const HANDSHAKE: &str = "Host: chat.example\nUpgrade: websocket\nConnection: keep-alive, Upgrade\n\
                         Sec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";

fn send(app: &BuiltApp, line: &str, fields: &str) -> (Response, Option<Box<PreparedUpgrade>>) {
    let head = format!("{line}\n{fields}");
    let mut request = request_with(&head, b"", Arc::clone(app.state()));
    let response = app.call(&mut request);
    (response, request.upgrade.take())
}

fn open(app: &BuiltApp, more: &str) -> (Response, Box<PreparedUpgrade>) {
    let (response, upgrade) = send(app, "GET /ws HTTP/1.1", &format!("{HANDSHAKE}\n{more}"));
    assert_eq!(response.status(), 101);
    (response, upgrade.expect("a session to start"))
}

fn refused(app: &BuiltApp, line: &str, fields: &str) -> Response {
    let (response, upgrade) = send(app, line, fields);
    assert_ne!(response.status(), 101, "{line} {fields}");
    assert!(upgrade.is_none(), "{line} {fields}");
    response
}

fn plain() -> BuiltApp {
    App::new().ws("/ws", |_: Session| {}).build().unwrap()
}

fn echo(_: Session) -> crate::Result<()> {
    Err("it broke".into())
}

#[test]
fn rfc6455_4_2_2_the_101_has_the_accept_key_and_no_protocol_unasked() {
    let (response, upgrade) = open(&plain(), "X: y");
    assert_eq!(response.status(), 101);
    assert_eq!(response.headers()["upgrade"], "websocket");
    assert_eq!(
        response.headers()["sec-websocket-accept"],
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
    assert!(!response.headers().contains_key("sec-websocket-protocol"));
    assert_eq!(
        (upgrade.subprotocol, upgrade.options),
        (None, SessionOptions::default())
    );
}

#[test]
fn w1_to_w4_refused_handshakes_are_ordinary_answers() {
    let app = plain();
    let response = refused(&app, "GET /ws HTTP/1.1", "Host: a");
    assert_eq!(response.status(), 426);
    assert_eq!(response.headers()["upgrade"], "websocket");
    let version = HANDSHAKE.replace("13", "8");
    let response = refused(&app, "GET /ws HTTP/1.1", &version);
    assert_eq!(response.status(), 426);
    assert_eq!(response.headers()["sec-websocket-version"], "13");
    assert_eq!(refused(&app, "GET /ws HTTP/1.0", HANDSHAKE).status(), 426);
    let body = format!("{HANDSHAKE}\nContent-Length: 3");
    assert_eq!(refused(&app, "GET /ws HTTP/1.1", &body).status(), 400);
    let key = HANDSHAKE.replace("dGhl", "dGh");
    assert_eq!(refused(&app, "GET /ws HTTP/1.1", &key).status(), 400);
    for method in ["POST", "HEAD"] {
        let response = refused(&app, &format!("{method} /ws HTTP/1.1"), HANDSHAKE);
        assert_eq!(response.status(), 405);
        assert_eq!(response.headers()["allow"], "GET, OPTIONS");
    }
}

#[test]
fn w5_foreign_origins_are_403() {
    let app = App::new()
        .ws("/ws", |_: Session| {})
        .ws(
            "/list",
            WsRoute::new(|_: Session| {}).origins(["https://b.example"]),
        )
        .ws("/any", WsRoute::new(|_: Session| {}).any_origin())
        .build()
        .unwrap();
    let status = |path: &str, origin: &str| {
        let fields = format!("{HANDSHAKE}\nOrigin: {origin}");
        send(&app, &format!("GET {path} HTTP/1.1"), &fields)
            .0
            .status()
            .as_u16()
    };
    assert_eq!(status("/ws", "http://chat.example"), 101);
    assert_eq!(status("/ws", "https://b.example"), 403);
    assert_eq!(status("/ws", "null"), 403);
    assert_eq!(status("/list", "https://b.example"), 101);
    assert_eq!(status("/list", "http://chat.example"), 403);
    assert_eq!(status("/any", "null"), 101);
}

#[test]
fn same_origin_knows_tls_and_the_public_origin() {
    let send = |app: App, secure| {
        let app = app.ws("/ws", |_: Session| {}).build().unwrap();
        let head = format!("GET /ws HTTP/1.1\n{HANDSHAKE}\nOrigin: https://chat.example");
        let mut request = request_with(&head, b"", Arc::clone(app.state()));
        request.secure = secure;
        app.call(&mut request).status().as_u16()
    };
    assert_eq!(send(App::new(), false), 403);
    assert_eq!(send(App::new(), true), 101);
    assert_eq!(send(App::new().public_origin("https://chat.example"), false), 101);
}

#[test]
fn w6_the_servers_order_of_subprotocols_decides() {
    let route = WsRoute::new(|_: Session| {}).subprotocols(["v2", "v1"]);
    let app = App::new().ws("/ws", route).build().unwrap();
    let (response, upgrade) = open(&app, "Sec-WebSocket-Protocol: v0, v1\nSec-WebSocket-Protocol: v2");
    assert_eq!(response.headers()["sec-websocket-protocol"], "v2");
    assert_eq!(upgrade.subprotocol.as_deref(), Some("v2"));
    let (response, _) = open(&app, "Sec-WebSocket-Protocol: v3");
    assert!(!response.headers().contains_key("sec-websocket-protocol"));
}

#[test]
fn extractors_run_before_the_101() {
    let handler = |_: Session, _: Bearer, _: State<u8>| {};
    let app = App::new().state(7u8).ws("/ws", handler).build().unwrap();
    let response = refused(&app, "GET /ws HTTP/1.1", HANDSHAKE);
    assert_eq!(response.status(), 401);
    let (_, upgrade) = open(&app, "Authorization: Bearer x");
    assert!(matches!(upgrade.start, SessionStart::Loop(_)));
}

struct Counter(String);

impl SessionHandler for Counter {
    fn on_message(&mut self, _: &SessionRef, _: Message) -> crate::Result<()> {
        self.0.push('.');
        Ok(())
    }
}

#[test]
fn callback_routes_make_a_handler_for_each_session() {
    let app = App::new()
        .ws_callback("/{name}", |Path(name): Path<String>| Counter(name))
        .build()
        .unwrap();
    let (_, upgrade) = open(&app, "X: y");
    assert!(matches!(upgrade.start, SessionStart::Callback(_)));
}

#[test]
fn middleware_guards_sessions_and_may_take_the_101_back() {
    let app = App::new()
        .ws("/ws", |_: Session| {})
        .layer(|request: &mut Request, next: Next| {
            let response = next.run(request).with_added_header("x-seen", "1");
            match request.header("x-take-back") {
                Some(_) => Response::text("after all, no").with_status(StatusCode::FORBIDDEN),
                None => response,
            }
        })
        .build()
        .unwrap();
    let (response, _) = open(&app, "X: y");
    assert_eq!(response.headers()["x-seen"], "1");
    let fields = format!("{HANDSHAKE}\nX-Take-Back: 1");
    assert_eq!(refused(&app, "GET /ws HTTP/1.1", &fields).status(), 403);
}

#[test]
fn a_101_of_another_request_is_not_sent() {
    let (response, _) = open(&plain(), "X: y");
    let app = App::new().get("/ws", move || response.clone()).build().unwrap();
    assert_eq!(refused(&app, "GET /ws HTTP/1.1", HANDSHAKE).status(), 500);
}

#[test]
fn settings_reach_the_session() {
    let route = WsRoute::new(|_: Session| {}).max_message(1000).max_queue(2000);
    let app = App::new().ws("/ws", route).build().unwrap();
    let options = SessionOptions {
        max_message: Some(1000),
        max_queue: Some(2000),
    };
    assert_eq!(open(&app, "X: y").1.options, options);
}

#[test]
fn o17_wrong_settings_stop_the_start() {
    let route = || WsRoute::new(|_: Session, _: State<u8>| {});
    let app = App::new()
        .get("/ws", || ())
        .ws(
            "/ws",
            route().origins(["https://a.example/", "https://b.example"]),
        )
        .ws("/p", route().subprotocols(["v 1"]).max_message(0));
    let text = app.build().err().unwrap().to_string();
    for part in [
        "GET \"/ws\": there are two routes",
        "\"https://a.example/\" is not an origin",
        "GET \"/ws\": the handler asks for State<u8>",
        "\"v 1\" can't be a subprotocol",
        "max_message",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("b.example"), "{text}");
}
