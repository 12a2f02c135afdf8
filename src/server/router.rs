//! From method and path to a route.
//!
//! A path without variables is looked up whole; nothing can win over it. The others are found by `matchit`, a radix tree
//! without dependencies: static segments win over variables, there are no regular expressions, and a match allocates
//! nothing, but for one small vector where it has to try several branches or there are more than three variables. The
//! path is compared as sent: neither decoded nor normalised, and a trailing slash counts. Beside each path stands a table
//! of methods.

use crate::server::endpoint::Endpoint;
use crate::server::middleware::Middleware;
use crate::server::params::{Names, Params};
use crate::server::pattern;
use http::{HeaderValue, Method};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The methods the server knows, in the order in which `Allow` lists them. Others never come this far (501).
pub(crate) static METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::PATCH,
    Method::OPTIONS,
];

const GET: usize = 0;
const HEAD: usize = 1;
const OPTIONS: usize = 6;

fn slot(method: &Method) -> Option<usize> {
    // Compared one by one: a match on seven constants, no hashing.
    METHODS.iter().position(|known| known == method)
}

/// One endpoint with the middleware around it, outermost first.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) layers: Arc<[Arc<dyn Middleware>]>,
    pub(crate) endpoint: Arc<dyn Endpoint>,
    /// A WebSocket route does not answer HEAD.
    pub(crate) websocket: bool,
}

/// What is known of one path.
struct PathTable {
    names: Names,
    routes: [Option<Route>; METHODS.len()],
    allow: HeaderValue,
}

/// Finds routes; built once, then only read.
pub(crate) struct Router {
    tables: Vec<PathTable>,
    /// Paths without variables: the index of their table.
    fixed: HashMap<Box<str>, usize>,
    /// All paths.
    paths: matchit::Router<usize>,
    allow_any: HeaderValue,
}

/// What a lookup comes to.
pub(crate) enum Lookup<'a> {
    /// This route, with its variables.
    Found(&'a Route, Params),
    /// No route has this path: 404.
    UnknownPath,
    /// The path is known, the method is not among its own: 405 with this `Allow`.
    OtherMethod(&'a HeaderValue),
    /// OPTIONS, and nobody handles it: 204 with this `Allow`.
    Options(&'a HeaderValue),
}

impl Router {
    /// Finds the route of a request; `path` is as sent, without the query.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Lookup<'_> {
        if path == "*" {
            return Lookup::Options(&self.allow_any);
        }
        if let Some(&index) = self.fixed.get(path) {
            return self.tables[index].find(method, |_| Params::default());
        }
        match self.paths.at(path) {
            Ok(found) => {
                let values = found.params.iter().map(|(_, value)| value);
                self.tables[*found.value].find(method, |names| Params::new(names, path, values))
            }
            Err(_) => Lookup::UnknownPath,
        }
    }
}

impl PathTable {
    fn find(&self, method: &Method, params: impl FnOnce(&Names) -> Params) -> Lookup<'_> {
        let route = slot(method).and_then(|slot| match (&self.routes[slot], slot) {
            (None, HEAD) => self.routes[GET].as_ref().filter(|route| !route.websocket),
            (route, _) => route.as_ref(),
        });
        match route {
            Some(route) => Lookup::Found(route, params(&self.names)),
            None if *method == Method::OPTIONS => Lookup::Options(&self.allow),
            None => Lookup::OtherMethod(&self.allow),
        }
    }
}

/// The `Allow` field for a set of methods (RFC 9110 section 10.2.1).
fn allow(has: impl Fn(usize) -> bool) -> HeaderValue {
    let names: Vec<&str> = (0..METHODS.len())
        .filter(|slot| has(*slot))
        .map(|slot| METHODS[slot].as_str())
        .collect();
    HeaderValue::from_str(&names.join(", ")).expect("method names are tokens")
}

/// Collects routes, then builds the [`Router`].
#[derive(Default)]
pub(crate) struct RouterBuilder {
    /// In order of the path, so that messages come in the same order every time.
    paths: BTreeMap<String, [Option<Route>; METHODS.len()]>,
}

impl RouterBuilder {
    /// Adds a route.
    ///
    /// # Errors
    /// What is wrong with it, without the name of the route.
    pub(crate) fn add(&mut self, method: &Method, path: &str, route: Route) -> Result<(), String> {
        let Some(slot) = slot(method) else {
            return Err("the server does not know this method (it answers 501)".into());
        };
        let routes = self.paths.entry(path.to_owned()).or_default();
        if routes[slot].is_some() {
            return Err("there are two routes for this method and path".into());
        }
        routes[slot] = Some(route);
        Ok(())
    }

    /// Builds the router; what doesn't fit is appended to `problems`.
    pub(crate) fn build(self, problems: &mut Vec<String>) -> Router {
        let mut tables: Vec<PathTable> = Vec::new();
        let mut fixed = HashMap::new();
        let mut paths = matchit::Router::new();
        let mut any = [false; METHODS.len()];
        for (path, routes) in self.paths {
            let names = match pattern::variables(&path) {
                Ok(names) => names.into_iter().map(Box::from).collect(),
                Err(problem) => {
                    problems.push(format!("route {path:?}: {problem}"));
                    continue;
                }
            };
            let http_get = routes[GET].as_ref().is_some_and(|route| !route.websocket);
            let has = |slot: usize| routes[slot].is_some() || (slot == HEAD && http_get) || slot == OPTIONS;
            (0..METHODS.len()).for_each(|slot| any[slot] |= has(slot));
            let allow = allow(has);
            if !path.contains(['{', '}']) {
                fixed.insert(Box::from(path.as_str()), tables.len());
            }
            if let Err(error) = paths.insert(path.as_str(), tables.len()) {
                let problem = match error {
                    matchit::InsertError::Conflict { with } => format!(
                        "it would match the same paths as {with:?} (give a variable the same name in both)"
                    ),
                    other => other.to_string(),
                };
                problems.push(format!("route {path:?}: {problem}"));
            }
            tables.push(PathTable { names, routes, allow });
        }
        any[OPTIONS] = true;
        Router {
            tables,
            fixed,
            paths,
            allow_any: allow(|slot| any[slot]),
        }
    }
}
