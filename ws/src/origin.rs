//! Which web pages may open a WebSocket (RFC 6455 sections 4.2.2 and 10.2).
//!
//! A browser lets any page connect anywhere and sends the visitor's cookies along; the Origin field, which pages
//! can't forge, is what tells them apart. It proves nothing about clients that are no browsers.

use crate::handshake::values;
use std::fmt;
use std::str::FromStr;

/// A web origin: scheme, host and port (RFC 6454), or the opaque one that is written `null`.
///
/// Compared exactly, after lower-casing scheme and host and filling in the scheme's default port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin(Repr);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Null,
    /// `port` is `None` for a scheme without a default where none is given.
    Tuple {
        scheme: Box<str>,
        host: Box<str>,
        port: Option<u16>,
    },
}

/// Not of the form `scheme://host[:port]`, nor `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidOrigin;

/// Which Origins are welcome. An absent Origin always is: it comes from no browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginPolicy {
    /// Only pages that this server itself has served.
    SameOrigin {
        /// The origin that the outside sees, where that isn't what Host and TLS say here: behind a proxy that
        /// ends TLS.
        public_origin: Option<Origin>,
    },
    /// These only. `null` must be listed to be welcome.
    List(Vec<Origin>),
    /// All, even `null` and malformed ones: for services that don't know their clients by cookies.
    Any,
}

impl Default for OriginPolicy {
    /// Same origin: what is right for pages with their own server, and safe for the rest.
    fn default() -> Self {
        OriginPolicy::SameOrigin { public_origin: None }
    }
}

impl OriginPolicy {
    /// Whether a request with these headers may become a WebSocket; if not, the answer is 403 (section 4.2.2).
    /// `authority` is host and port that the request is for; `tls` whether it came over TLS.
    pub fn allows<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
        authority: &str,
        tls: bool,
    ) -> bool {
        if *self == OriginPolicy::Any {
            return true;
        }
        let mut origins = values(headers, "origin");
        let Some(origin) = origins.next() else { return true };
        if origins.next().is_some() {
            return false;
        }
        let origin = std::str::from_utf8(origin)
            .ok()
            .and_then(|origin| origin.parse::<Origin>().ok());
        let Some(origin) = origin else { return false };
        match self {
            OriginPolicy::SameOrigin {
                public_origin: Some(public),
            } => origin == *public,
            OriginPolicy::SameOrigin { public_origin: None } => {
                let scheme = if tls { "https" } else { "http" };
                Origin::from_parts(scheme, authority).is_ok_and(|own| own == origin)
            }
            OriginPolicy::List(welcome) => welcome.contains(&origin),
            OriginPolicy::Any => true,
        }
    }
}

impl Origin {
    /// The opaque origin: sandboxed frames, local files, redirects across origins.
    pub const NULL: Origin = Origin(Repr::Null);

    /// From a scheme and `host[:port]`.
    fn from_parts(scheme: &str, authority: &str) -> Result<Origin, InvalidOrigin> {
        let scheme_ok = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        // An IPv6 address has colons of its own, inside brackets.
        let host_end = authority.find(']').map_or(0, |bracket| bracket + 1);
        let (host, port) = match authority[host_end..].find(':') {
            Some(colon) => (
                &authority[..host_end + colon],
                Some(&authority[host_end + colon + 1..]),
            ),
            None => (authority, None),
        };
        let host_ok = match host.strip_prefix('[') {
            Some(rest) => rest
                .strip_suffix(']')
                .is_some_and(|ip| ip.parse::<std::net::Ipv6Addr>().is_ok()),
            None => {
                !host.is_empty()
                    && host
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
            }
        };
        if !scheme_ok || !host_ok {
            return Err(InvalidOrigin);
        }
        let scheme = scheme.to_ascii_lowercase();
        let port = match port {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                Some(digits.parse().map_err(|_| InvalidOrigin)?)
            }
            Some(_) => return Err(InvalidOrigin),
            None => match scheme.as_str() {
                "http" => Some(80),
                "https" => Some(443),
                _ => None,
            },
        };
        Ok(Origin(Repr::Tuple {
            scheme: scheme.into(),
            host: host.to_ascii_lowercase().into(),
            port,
        }))
    }
}

impl FromStr for Origin {
    type Err = InvalidOrigin;
    fn from_str(origin: &str) -> Result<Self, InvalidOrigin> {
        if origin == "null" {
            return Ok(Origin::NULL);
        }
        let (scheme, authority) = origin.split_once("://").ok_or(InvalidOrigin)?;
        Origin::from_parts(scheme, authority)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Null => f.write_str("null"),
            Repr::Tuple { scheme, host, port } => {
                write!(f, "{scheme}://{host}")?;
                match (&**scheme, port) {
                    ("http", Some(80)) | ("https", Some(443)) | (_, None) => Ok(()),
                    (_, Some(port)) => write!(f, ":{port}"),
                }
            }
        }
    }
}

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an origin is scheme://host or scheme://host:port, or null")
    }
}

impl std::error::Error for InvalidOrigin {}
