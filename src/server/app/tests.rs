use super::*;
use crate::http::response::Response;
use crate::server::extract::{Ext, Json, Path, Query, State};
use crate::server::middleware::Next;
use crate::server::request::Request;
use crate::server::request::tests::request_with;
use bytes::Bytes;
use std::collections::HashMap;

/// Status, body, Allow.
fn send(app: &BuiltApp, line: &str, body: &'static [u8]) -> (u16, String, String) {
    let head = format!("{line} HTTP/1.1\nHost: a\nContent-Type: application/json");
    let mut request = request_with(&head, body, Arc::clone(app.state()));
    let response = app.call(&mut request);
    let allow = response
        .headers()
        .get("allow")
        .map(|value| value.to_str().unwrap());
    (
        response.status().as_u16(),
        String::from_utf8(response.body().to_vec()).unwrap(),
        allow.unwrap_or_default().to_owned(),
    )
}

fn body(app: &BuiltApp, line: &str) -> String {
    let (status, body, _) = send(app, line, b"");
    assert_eq!(status, 200, "{line}: {body}");
    body
}

fn problems(app: App) -> String {
    let error = app.build().err().expect("an error");
    assert!(error.is_config());
    error.to_string()
}

#[test]
fn static_segments_win_over_variables_and_lookup_goes_back_where_they_lead_nowhere() {
    let app = App::new()
        .get("/users/me", || "me")
        .get("/users/{id}", |Path(id): Path<String>| format!("user {id}"))
        .get("/users/{id}/posts", |Path(id): Path<String>| {
            format!("posts of {id}")
        })
        .get(
            "/users/{id}/{*rest}",
            |Path((id, rest)): Path<(String, String)>| format!("{id}: {rest}"),
        )
        .build()
        .unwrap();
    assert_eq!(body(&app, "GET /users/me"), "me");
    assert_eq!(body(&app, "GET /users/you"), "user you");
    assert_eq!(body(&app, "GET /users/me/posts"), "posts of me");
    assert_eq!(body(&app, "GET /users/me/a/b/"), "me: a/b/");
}

#[test]
fn paths_are_compared_as_sent() {
    let app = App::new()
        .get("/a", || "a")
        .get("/b/", || "b")
        .get("/v/{x}", |Path(x): Path<String>| x)
        .build()
        .unwrap();
    for target in [
        "/a/", "/b", "/A", "/%61", "//a", "/./a", "/v", "/v/", "/v/x/", "/v/x/y", "/c",
    ] {
        assert_eq!(send(&app, &format!("GET {target}"), b"").0, 404, "{target}");
    }
    assert_eq!(body(&app, "GET /a?/v/x"), "a");
    assert_eq!(body(&app, "GET /v/x%2Fy"), "x/y");
    assert_eq!(body(&app, "GET http://a/v/x"), "x", "absolute form");
}

#[test]
fn eight_variables_are_possible_and_nine_are_not() {
    let eight = "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}";
    let app = App::new()
        .get(eight, |Path(all): Path<Vec<String>>| all.concat())
        .build()
        .unwrap();
    assert_eq!(body(&app, "GET /1/2/3/4/5/6/7/8"), "12345678");
    assert!(problems(App::new().get(&format!("{eight}/{{i}}"), || ())).contains("at most 8"));
}

#[test]
fn h2_another_method_on_a_known_path_is_405_with_allow() {
    let app = App::new()
        .get("/x", || "x")
        .post("/x", || "posted")
        .delete("/y", || ())
        .build()
        .unwrap();
    let (status, _, allow) = send(&app, "PUT /x", b"");
    assert_eq!((status, allow.as_str()), (405, "GET, HEAD, POST, OPTIONS"));
    let (status, _, allow) = send(&app, "HEAD /y", b"");
    assert_eq!((status, allow.as_str()), (405, "DELETE, OPTIONS"));
    assert_eq!(send(&app, "PUT /z", b"").0, 404);
}

#[test]
fn head_falls_back_to_get_unless_it_has_a_handler() {
    let app = App::new()
        .get("/a", || "get")
        .get("/b", || "get")
        .head("/b", || "head")
        .build()
        .unwrap();
    assert_eq!(body(&app, "HEAD /a"), "get");
    assert_eq!(body(&app, "HEAD /b"), "head");
}

#[test]
fn options_are_answered_unless_there_is_a_handler() {
    let app = App::new()
        .get("/a", || ())
        .patch("/b", || ())
        .options("/b", || "mine")
        .build()
        .unwrap();
    let (status, _, allow) = send(&app, "OPTIONS /a", b"");
    assert_eq!((status, allow.as_str()), (204, "GET, HEAD, OPTIONS"));
    assert_eq!(body(&app, "OPTIONS /b"), "mine");
    let (status, _, allow) = send(&app, "OPTIONS *", b"");
    assert_eq!((status, allow.as_str()), (204, "GET, HEAD, PATCH, OPTIONS"));
    assert_eq!(send(&app, "OPTIONS /c", b"").0, 404);
}

#[test]
fn any_answers_all_methods() {
    let app = App::new()
        .any("/", |method: Method, body: Bytes| {
            format!("{method} {}", body.len())
        })
        .build()
        .unwrap();
    for method in METHODS.iter() {
        let (status, body, _) = send(&app, &format!("{method} /"), b"abc");
        assert_eq!((status, body), (200, format!("{method} 3")));
    }
}

#[test]
fn extractors_run_in_order_and_the_first_refusal_answers() {
    let handler = |_: Query<HashMap<String, u8>>, Json(n): Json<u8>| n.to_string();
    let app = App::new().post("/", handler).build().unwrap();
    assert_eq!(send(&app, "POST /?a=1", b"7"), (200, "7".into(), String::new()));
    assert!(send(&app, "POST /?a=x", b"x").1.contains("query"));
    assert!(send(&app, "POST /?a=1", b"x").1.contains("JSON"));
}

#[test]
fn a_handler_may_take_the_whole_request() {
    fn path(request: &mut Request) -> String {
        format!("{} {:?}", request.path(), request.param("x"))
    }
    let app = App::new()
        .get("/f/{x}", path)
        .get("/c/{x}", |request: &mut Request| {
            request.query().map(str::to_owned)
        })
        .build()
        .unwrap();
    assert_eq!(body(&app, "GET /f/%41"), "/f/%41 Some(\"A\")");
    assert_eq!(body(&app, "GET /c/1?q"), "q");
    assert_eq!(send(&app, "GET /c/1", b"").0, 404);
}

#[test]
fn eight_extractors_fit() {
    type M = Method;
    let app = App::new()
        .get("/", |_: M, _: M, _: M, _: M, _: M, _: M, _: M, last: M| {
            last.to_string()
        })
        .build()
        .unwrap();
    assert_eq!(body(&app, "GET /"), "GET");
}

/// A middleware that writes its name before and after.
fn named(name: &'static str) -> impl Middleware {
    move |request: &mut Request, next: Next| {
        let trail = request.get::<String>().cloned().unwrap_or_default();
        request.set(format!("{trail}{name}"));
        let response = next.run(request);
        let body = String::from_utf8(response.body().to_vec()).unwrap();
        response.with_body(format!("{body}{name}"))
    }
}

fn trail(Ext(trail): Ext<String>) -> String {
    format!("{trail}|")
}

#[test]
fn layers_stand_around_the_routes_before_them_the_first_outermost() {
    let app = App::new()
        .get("/ab", trail)
        .layer(named("a"))
        .get("/b", trail)
        .layer(named("b"))
        .get("/none", |trail: Option<Ext<String>>| trail.is_none().to_string())
        .build()
        .unwrap();
    assert_eq!(body(&app, "GET /ab"), "ab|ba");
    assert_eq!(body(&app, "GET /b"), "b|b");
    assert_eq!(body(&app, "GET /none"), "true");
}

#[test]
fn groups_have_a_prefix_and_layers_within_those_of_the_app() {
    let app = App::new()
        .group("/g", |group| {
            group
                .get("", trail)
                .get("/", trail)
                .group("/{h}", |inner| {
                    inner.get("/x", trail).layer(named("3")).layer(named("4"))
                })
                .layer(named("2"))
        })
        .get("/plain", trail)
        .layer(named("1"))
        .build()
        .unwrap();
    assert_eq!(body(&app, "GET /g"), "12|21");
    assert_eq!(body(&app, "GET /g/"), "12|21");
    assert_eq!(body(&app, "GET /g/h/x"), "1234|4321");
    assert_eq!(body(&app, "GET /plain"), "1|1");
}

#[test]
fn middleware_may_answer_itself_and_does_not_run_around_404_and_405() {
    let app = App::new()
        .get("/", || -> String { unreachable!("guarded") })
        .layer(|_: &mut Request, _: Next| Response::text("no").with_status(http::StatusCode::FORBIDDEN))
        .build()
        .unwrap();
    assert_eq!(send(&app, "GET /", b"").0, 403);
    assert_eq!(send(&app, "POST /", b"").0, 405);
    assert_eq!(send(&app, "GET /x", b"").0, 404);
}

#[test]
fn a_missing_ext_is_500() {
    let app = App::new().get("/", trail).build().unwrap();
    assert_eq!(send(&app, "GET /", b"").0, 500);
}

#[test]
fn state_is_found_by_type_whatever_the_order() {
    let app = App::new()
        .get("/", |State(n): State<u8>, State(text): State<&'static str>| {
            format!("{n}{text}")
        })
        .group("/g", |group| {
            group.state("a").get("/", |State(n): State<u8>| n.to_string())
        })
        .state(7u8)
        .build()
        .unwrap();
    assert_eq!(body(&app, "GET /"), "7a");
    assert_eq!(body(&app, "GET /g/"), "7");
}

#[test]
fn o17_all_that_is_wrong_is_reported_together_by_route() {
    let text = problems(
        App::new()
            .layer(named("too early"))
            .post(
                "/notes",
                |_: State<u8>, _: Result<State<u16>, crate::server::extract::Rejection>| (),
            )
            .get("/notes", || ())
            .get("/notes", || ())
            .get("/a/{x}", || ())
            .get("/a/{y}", || ())
            .get("no-slash", || ())
            .state(1u32)
            .state(2u32)
            .group("/g/", |group| group.state(3u32).get("/", || ()))
            .public_origin("chat.example")
            .route([Method::TRACE], "/trace", || ())
            .route([], "/nothing", || ()),
    );
    for part in [
        "before any route",
        "POST \"/notes\": the handler asks for State<u8>",
        "State<u16>",
        "GET \"/notes\": there are two routes",
        "\"/a/{x}\"",
        "\"/a/{y}\"",
        "must begin with",
        "two values of the type u32",
        "group \"/g/\": it must begin",
        "group \"/g/\": a value of a type",
        "\"chat.example\" is not an origin",
        "TRACE \"/trace\"",
        "\"/nothing\": it has no methods",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn an_optional_state_may_be_missing() {
    let app = App::new().get("/", |state: Option<State<u8>>| state.is_none().to_string());
    assert_eq!(body(&app.build().unwrap(), "GET /"), "true");
}
