//! The app as its author writes it: routes, state, middleware.
//!
//! Calls never fail on the spot: what is wrong (two routes for one path, a bad pattern, state that a handler asks for
//! and nobody gave) is collected and reported together when the app is built, before anything listens.

use crate::error::{Error, Kind, Result};
use crate::server::built_app::BuiltApp;
use crate::server::endpoint::{Endpoint, HandlerEndpoint};
use crate::server::extract::BuildContext;
use crate::server::handler::Handler;
use crate::server::middleware::Middleware;
use crate::server::request::StateMap;
use crate::server::router::{METHODS, Route, RouterBuilder};
use crate::server::ws_handler::WsFactory;
use crate::server::ws_route::{IntoWsRoute, WsRoute};
use greenroom_ws::Origin;
use http::Method;
use std::any::{TypeId, type_name};
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// An application: paths and their handlers, what the handlers share, and middleware around them.
///
/// ```
/// use greenroom::{App, Json, Next, Path, Request, State};
/// use std::sync::Arc;
///
/// let app = App::new()
///     .state(Arc::new(vec!["tea", "cake"]))
///     .get("/", || "Hello, World!")
///     .get("/menu", |State(menu): State<Arc<Vec<&'static str>>>| Json(menu.to_vec()))
///     .get("/hello/{name}", |Path(name): Path<String>| format!("Hello, {name}!"))
///     .group("/admin", |admin| {
///         admin
///             .get("/stats", || "all is well")
///             .layer(|request: &mut Request, next: Next| next.run(request))
///     });
/// ```
///
/// # Paths
/// A path is compared as the client sent it: neither decoded nor normalised, and a trailing slash counts. `{name}`
/// stands for one segment that is not empty, `{*rest}` at the end for all that is left; static segments win over
/// variables. There may be 8 variables; where a variable has the same place in two paths it has the same name.
///
/// # Methods
/// A known path with another method is answered 405 with `Allow`. GET handlers answer HEAD (the body is not sent),
/// and OPTIONS is answered 204 with `Allow`, unless there are handlers for them. `OPTIONS *` lists the methods of all
/// routes.
#[derive(Default)]
#[must_use]
pub struct App {
    routes: Vec<Definition>,
    state: StateMap,
    public_origin: Option<String>,
    problems: Vec<String>,
}

/// A route as it was added.
struct Definition {
    methods: Vec<Method>,
    path: String,
    endpoint: Definitive,
    /// Middleware of the group in which it was added, and of the groups within that, outermost first.
    inner: Vec<Arc<dyn Middleware>>,
    /// Middleware of the app or group that is being written, outermost first.
    outer: Vec<Arc<dyn Middleware>>,
}

enum Definitive {
    Http(Box<dyn Endpoint>),
    Ws(Box<WsRoute>),
}

/// One method per name.
macro_rules! methods {
    ($($name:ident $method:ident $doc:literal)*) => {$(
        #[doc = $doc]
        pub fn $name<Args: 'static>(self, path: &str, handler: impl Handler<Args>) -> Self {
            self.route([Method::$method], path, handler)
        }
    )*};
}

impl App {
    /// An app without routes: everything is answered 404.
    pub fn new() -> Self {
        Self::default()
    }

    methods! {
        get GET "Answers GET on `path`, and HEAD unless that has a handler of its own."
        head HEAD "Answers HEAD on `path` in place of its GET handler."
        post POST "Answers POST on `path`."
        put PUT "Answers PUT on `path`."
        delete DELETE "Answers DELETE on `path`."
        patch PATCH "Answers PATCH on `path`."
        options OPTIONS "Answers OPTIONS on `path` in place of the automatic 204 with `Allow`."
    }

    /// Answers every method that the server knows (GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS) on `path`.
    ///
    /// ```
    /// use greenroom::{App, Bytes};
    /// let app = App::new().any("/", |body: Bytes| body);
    /// ```
    pub fn any<Args: 'static>(self, path: &str, handler: impl Handler<Args>) -> Self {
        self.route(METHODS.iter().cloned(), path, handler)
    }

    /// Answers these methods on `path`.
    ///
    /// ```
    /// use greenroom::App;
    /// use http::Method;
    /// let app = App::new().route([Method::PUT, Method::PATCH], "/notes", || "saved");
    /// ```
    pub fn route<Args: 'static>(
        mut self,
        methods: impl IntoIterator<Item = Method>,
        path: &str,
        handler: impl Handler<Args>,
    ) -> Self {
        let methods: Vec<Method> = methods.into_iter().collect();
        if methods.is_empty() {
            self.problems.push(format!("route {path:?}: it has no methods"));
        }
        self.push(
            methods,
            path,
            Definitive::Http(Box::new(HandlerEndpoint::new(handler))),
        );
        self
    }

    /// Opens a WebSocket session on `path` and gives it to a handler that runs for as long as the session lasts:
    /// `Fn(Session, extractors..) -> ()` or `greenroom::Result<()>`, or a [`WsRoute`] with settings.
    ///
    /// It takes the place of GET, so a path has either this or a GET handler. A GET that is no handshake is answered
    /// 426.
    ///
    /// ```no_run
    /// use greenroom::{App, Path, Session};
    /// let app = App::new().ws("/rooms/{room}", |session: Session, Path(room): Path<String>| {});
    /// ```
    pub fn ws<Args>(mut self, path: &str, route: impl IntoWsRoute<Args>) -> Self {
        let route = Box::new(route.into_ws_route());
        self.push(vec![Method::GET], path, Definitive::Ws(route));
        self
    }

    /// Opens WebSocket sessions in callback form on `path`; short for [`App::ws`] with [`WsRoute::callback`].
    pub fn ws_callback<Args: 'static>(self, path: &str, factory: impl WsFactory<Args>) -> Self {
        self.ws(path, WsRoute::callback(factory))
    }

    /// Registers a value that handlers take with [`State<T>`](crate::State), by its type; one value per type for the
    /// whole app, groups included. The place of the call doesn't matter.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        match self.state.entry(TypeId::of::<T>()) {
            Entry::Vacant(entry) => {
                entry.insert(Box::new(value));
            }
            Entry::Occupied(_) => {
                let name = type_name::<T>();
                self.problems
                    .push(format!("two values of the type {name} were given to App::state"));
            }
        }
        self
    }

    /// Puts middleware around all routes added **before** this call, to this app or group and the groups in it.
    ///
    /// Of several layers the one added first is outermost: it sees the request first and the answer last. Those of an
    /// app are outside those of its groups. Since a layer without routes before it would guard nothing, that is an
    /// error when the app is built.
    pub fn layer(mut self, middleware: impl Middleware) -> Self {
        if self.routes.is_empty() {
            self.problems
                .push("a layer was added before any route: it is put around the routes before it".into());
        }
        let middleware: Arc<dyn Middleware> = Arc::new(middleware);
        for route in &mut self.routes {
            route.outer.push(Arc::clone(&middleware));
        }
        self
    }

    /// Adds routes under a common prefix, with middleware of their own.
    ///
    /// Prefix and path are joined as they are: within `/admin`, the path `/` is `/admin/` and the empty path is
    /// `/admin`. A prefix may hold variables; the empty prefix only groups.
    pub fn group(mut self, prefix: &str, routes: impl FnOnce(App) -> App) -> Self {
        if !(prefix.is_empty() || prefix.starts_with('/') && !prefix.ends_with('/')) {
            let text = "it must begin with \"/\" and not end with it, or be empty";
            self.problems.push(format!("group {prefix:?}: {text}"));
        }
        let App {
            routes,
            state,
            public_origin,
            problems,
        } = routes(App::new());
        self.routes.extend(routes.into_iter().map(|mut route| {
            route.path.insert_str(0, prefix);
            route.outer.append(&mut route.inner);
            route.inner = std::mem::take(&mut route.outer);
            route
        }));
        for (key, value) in state {
            if self.state.insert(key, value).is_some() {
                let text = "a value of a type that the app has already was given to App::state";
                self.problems.push(format!("group {prefix:?}: {text}"));
            }
        }
        if public_origin.is_some() {
            let text = "public_origin is the whole app's, not a group's";
            self.problems.push(format!("group {prefix:?}: {text}"));
        }
        self.problems.extend(problems);
        self
    }

    /// The origin under which browsers see this app where it differs from what the server can tell, as behind a proxy
    /// that ends TLS: `https://chat.example`. WebSocket routes without a list of origins compare with it.
    pub fn public_origin(mut self, origin: impl Into<String>) -> Self {
        self.public_origin = Some(origin.into());
        self
    }

    fn push(&mut self, methods: Vec<Method>, path: &str, endpoint: Definitive) {
        self.routes.push(Definition {
            methods,
            path: path.to_owned(),
            endpoint,
            inner: Vec::new(),
            outer: Vec::new(),
        });
    }

    /// Checks everything.
    ///
    /// # Errors
    /// All that is wrong, one line for each ([`Error::is_config`]).
    pub(crate) fn build(self) -> Result<BuiltApp> {
        let mut problems = self.problems;
        let public_origin = self.public_origin.and_then(|text| match text.parse::<Origin>() {
            Ok(origin) => Some(origin),
            Err(_) => {
                problems.push(format!("public_origin: {text:?} is not an origin"));
                None
            }
        });
        let mut router = RouterBuilder::default();
        for definition in self.routes {
            let Definition {
                methods,
                path,
                endpoint,
                inner,
                outer,
            } = definition;
            let mut found = Vec::new();
            let (endpoint, websocket): (Arc<dyn Endpoint>, _) = match endpoint {
                Definitive::Http(endpoint) => (endpoint.into(), false),
                Definitive::Ws(route) => (Arc::new(route.build(public_origin.as_ref(), &mut found)), true),
            };
            endpoint.check(&BuildContext::new(&self.state), &mut found);
            let route = Route {
                layers: outer.into_iter().chain(inner).collect(),
                endpoint,
                websocket,
            };
            for method in &methods {
                found.extend(router.add(method, &path, route.clone()).err());
            }
            let name = methods.iter().map(Method::as_str).collect::<Vec<_>>().join(",");
            problems.extend(found.iter().map(|problem| format!("{name} {path:?}: {problem}")));
        }
        let router = router.build(&mut problems);
        match problems.is_empty() {
            true => Ok(BuiltApp::new(router, self.state)),
            false => Err(Error::with_source(Kind::Config, problems.join("\n"))),
        }
    }
}

#[cfg(test)]
mod tests;
