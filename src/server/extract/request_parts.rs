//! Small facts of the request: method, header fields, peer.

use super::{FromRequest, Rejection};
use crate::server::request::Request;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use std::net::SocketAddr;

/// The request's method, for handlers of several.
impl FromRequest for Method {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        Ok(request.method().clone())
    }
}

/// The address at the other end of the connection (a proxy's, if one stands in between).
///
/// ```
/// use greenroom::{App, Peer};
/// let app = App::new().get("/whoami", |Peer(address): Peer| address.ip().to_string());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

impl FromRequest for Peer {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        Ok(Peer(request.peer()))
    }
}

/// A copy of all header fields. For one field, `Fn(&mut Request)` with [`Request::header`] copies less.
///
/// ```
/// use greenroom::{App, Headers};
/// let app = App::new().get("/count", |Headers(fields): Headers| fields.len().to_string());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub HeaderMap);

impl FromRequest for Headers {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        // The head has checked names and values already: none is lost here.
        let fields = request.head().headers().filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_bytes(value).ok()?))
        });
        let mut map = HeaderMap::new();
        fields.for_each(|(name, value)| {
            map.append(name, value);
        });
        Ok(Headers(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::request::tests::request;

    #[test]
    fn parts_are_what_was_sent() {
        let mut request = request("PUT / HTTP/1.1\nHost: a\nX-A: 1\nx-a: 2");
        assert_eq!(Method::from_request(&mut request).unwrap(), Method::PUT);
        assert_eq!(Peer::from_request(&mut request).unwrap().0.port(), 4711);
        let Headers(fields) = Headers::from_request(&mut request).unwrap();
        let values: Vec<_> = fields.get_all("x-a").iter().collect();
        assert_eq!(values, ["1", "2"]);
        assert_eq!(fields.len(), 3);
    }
}
