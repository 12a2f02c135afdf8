//! Where a run is aimed: a `ws://` URL taken apart and its name resolved.

use std::net::{SocketAddr, ToSocketAddrs};

/// A resolved `ws://host:port/path`.
#[derive(Clone, Debug)]
pub struct Target {
    /// As it was given.
    pub url: String,
    /// The first address of the host.
    pub address: SocketAddr,
    /// The `Host` header: host and, unless it is 80, port.
    pub host: String,
    /// Path and query.
    pub path: String,
}

impl Target {
    /// Parses and resolves; this may wait for a name server.
    ///
    /// # Errors
    /// A sentence for the user: another scheme, no host, a control character or blank, or a name that does not resolve.
    pub fn resolve(url: &str) -> Result<Self, String> {
        if url.starts_with("wss://") {
            return Err("wss:// is not supported yet: aim at the server's ws:// port".into());
        }
        let rest = url
            .strip_prefix("ws://")
            .ok_or_else(|| format!("{url} does not start with ws://"))?;
        if rest.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err("a URL has no blanks or control characters".into());
        }
        let rest = rest.split('#').next().unwrap_or(rest);
        let (host, path) = match rest.find(['/', '?']) {
            Some(at) if rest.as_bytes()[at] == b'?' => (&rest[..at], format!("/{}", &rest[at..])),
            Some(at) => (&rest[..at], rest[at..].to_owned()),
            None => (rest, "/".to_owned()),
        };
        // The colon of a port stands behind any bracket of an IPv6 address.
        let has_port = host.rfind(':') > host.rfind(']');
        let with_port = if has_port {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        let address = with_port
            .to_socket_addrs()
            .map_err(|error| format!("{host}: {error}"))?
            .next()
            .ok_or_else(|| format!("{host} has no address"))?;
        Ok(Self {
            url: url.to_owned(),
            address,
            host: host.to_owned(),
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_falls_into_address_host_and_path() {
        let target = Target::resolve("ws://127.0.0.1:8080/echo?a=b").unwrap();
        assert_eq!(
            (target.host.as_str(), target.path.as_str()),
            ("127.0.0.1:8080", "/echo?a=b")
        );
        assert_eq!(target.address.port(), 8080);
        let bare = Target::resolve("ws://[::1]?q").unwrap();
        assert_eq!((bare.address.port(), bare.path.as_str()), (80, "/?q"));
    }

    #[test]
    fn other_schemes_and_line_breaks_are_refused() {
        assert!(
            Target::resolve("wss://h/")
                .unwrap_err()
                .contains("not supported yet")
        );
        for wrong in [
            "http://h/",
            "ws://127.0.0.1/a\r\nb",
            "ws://",
            "ws://127.0.0.1:99999/",
        ] {
            assert!(Target::resolve(wrong).is_err(), "{wrong}");
        }
    }
}
