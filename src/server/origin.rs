//! Who may open a WebSocket from a browser: the Origin policy (RFC 6455 sections 4.2.2 and 10.2).
//!
//! Cookies travel with a WebSocket handshake from any page, so without this check any page could act for its visitor.
//! Programs that are no browsers send no Origin and are let in; the check protects browsers' users, not the server.

use crate::server::request::Request;

/// Scheme, host and port: what is compared, exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    https: bool,
    /// In lower case, IPv6 in brackets.
    host: String,
    port: u16,
}

impl Origin {
    /// An `http` or `https` origin as browsers write it (RFC 6454 section 6.2): no path, not even a slash. `None` for
    /// anything else, `null` among it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        Self::of(https, authority)
    }

    fn of(https: bool, authority: &str) -> Option<Self> {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._~[]:%".contains(c);
        let ipv6 = host.starts_with('[') && host.ends_with(']');
        if host.is_empty() || !host.chars().all(fits) || (host.contains(['[', ']', ':']) && !ipv6) {
            return None;
        }
        let port = match port {
            None | Some("") => [80, 443][usize::from(https)],
            Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => port.parse().ok()?,
            Some(_) => return None,
        };
        Some(Self {
            https,
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

/// Which origins a WebSocket route lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OriginPolicy {
    /// The server's own, as browsers see it: `public` where it is named, else made of the request's authority.
    Same { public: Option<Origin> },
    /// These and no others, not even the server's own.
    List(Vec<Origin>),
    /// Whoever asks.
    Any,
}

impl OriginPolicy {
    /// May this request open a session? An absent Origin may; two of them, `null`, or one that can't be read may not.
    pub(crate) fn admits(&self, request: &Request) -> bool {
        if *self == Self::Any {
            return true;
        }
        let mut fields = request
            .head()
            .headers()
            .filter(|(name, _)| name.eq_ignore_ascii_case("origin"));
        let origin = match (fields.next(), fields.next()) {
            (None, _) => return true,
            (Some((_, value)), None) => std::str::from_utf8(value).ok().and_then(Origin::parse),
            _ => None,
        };
        let Some(origin) = origin else { return false };
        match self {
            Self::Any => true,
            Self::List(list) => list.contains(&origin),
            Self::Same { public: Some(own) } => *own == origin,
            Self::Same { public: None } => {
                let own = request.head().host().and_then(|host| Origin::of(request.secure, host));
                own == Some(origin)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::request::tests::request;

    fn admits(policy: &OriginPolicy, fields: &str) -> bool {
        let head = format!("GET / HTTP/1.1\nHost: chat.example:8080\n{fields}");
        policy.admits(&request(&head))
    }

    const SAME: OriginPolicy = OriginPolicy::Same { public: None };

    #[test]
    fn w5_same_origin_compares_scheme_host_and_port() {
        assert!(admits(&SAME, "Origin: http://chat.example:8080"));
        assert!(admits(&SAME, "Origin: http://CHAT.example:8080"));
        assert!(admits(&SAME, "X: no origin"));
        for origin in [
            "https://chat.example:8080",
            "http://chat.example",
            "http://chat.example:80",
            "http://evil.chat.example:8080",
            "http://chat.example.evil:8080",
            "http://evilchat.example:8080",
            "http://chat.example:8080/",
            "http://chat.example:8080@evil.example",
            "ws://chat.example:8080",
            "null",
            "",
        ] {
            assert!(!admits(&SAME, &format!("Origin: {origin}")), "{origin}");
        }
    }

    #[test]
    fn w5_two_origins_are_refused() {
        let field = "Origin: http://chat.example:8080";
        assert!(!admits(&SAME, &format!("{field}\n{field}")));
    }

    #[test]
    fn same_origin_takes_the_default_port_of_its_scheme() {
        let mut request = request("GET / HTTP/1.1\nHost: chat.example\nOrigin: https://chat.example:443");
        assert!(!SAME.admits(&request));
        request.secure = true;
        assert!(SAME.admits(&request));
    }

    #[test]
    fn behind_a_proxy_the_public_origin_is_the_servers_own() {
        let policy = OriginPolicy::Same {
            public: Origin::parse("https://chat.example"),
        };
        assert!(admits(&policy, "Origin: https://chat.example"));
        assert!(!admits(&policy, "Origin: http://chat.example:8080"));
    }

    #[test]
    fn a_list_admits_its_own_only() {
        let policy = OriginPolicy::List(vec![Origin::parse("https://a.example").unwrap()]);
        assert!(admits(&policy, "Origin: https://a.example"));
        assert!(admits(&policy, "Origin: https://a.example:443"));
        assert!(!admits(&policy, "Origin: http://chat.example:8080"));
        assert!(!admits(&policy, "Origin: null"));
        assert!(admits(&OriginPolicy::Any, "Origin: null"));
    }

    #[test]
    fn origins_are_read_as_browsers_write_them() {
        assert_eq!(Origin::parse("http://[::1]"), Origin::parse("http://[::1]:80"));
        assert!(Origin::parse("http://[::1]:8080").is_some());
        for bad in ["", "null", "example", "http://", "http://:80", "http://::1", "http://a:x", "http://a:+1"] {
            assert_eq!(Origin::parse(bad), None, "{bad}");
        }
        assert_eq!(Origin::parse("http://a:99999"), None);
        assert_eq!(Origin::parse("http://a b"), None);
    }
}
