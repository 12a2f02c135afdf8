//! What a Host field or the authority of an absolute-form target may look like (RFC 9110 section 7.2, RFC 3986
//! section 3.2).
//!
//! Narrower than the grammar on purpose: user information, percent-encoding and the sub-delimiters (a comma above
//! all) never occur in the name of a real server, while attacks on routing by host need them. No name is resolved
//! here.

use std::net::Ipv6Addr;

/// True for `name`, `name:port`, `1.2.3.4:port` and `[v6]:port`; the port may be empty and is at most 65,535.
pub(crate) fn is_valid(authority: &[u8]) -> bool {
    let port = if let Some(literal) = authority.strip_prefix(b"[") {
        let Some(end) = literal.iter().position(|byte| *byte == b']') else {
            return false;
        };
        if !is_ipv6(&literal[..end]) {
            return false;
        }
        &literal[end + 1..]
    } else {
        let end = authority
            .iter()
            .position(
                |byte| !matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~'),
            )
            .unwrap_or(authority.len());
        if end == 0 {
            return false;
        }
        &authority[end..]
    };
    match port {
        [] => true,
        [b':', digits @ ..] => is_port(digits),
        _ => false,
    }
}

/// Zone identifiers (RFC 6874) mean nothing outside the host that sent them and are refused.
fn is_ipv6(literal: &[u8]) -> bool {
    std::str::from_utf8(literal).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

fn is_port(digits: &[u8]) -> bool {
    // Leading zeros are legal but endless ones are not a port anybody means.
    digits.len() <= 5
        && digits.iter().all(u8::is_ascii_digit)
        && digits
            .iter()
            .fold(0, |port, digit| port * 10 + u32::from(digit - b'0'))
            <= 65_535
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn h24_authorities_that_real_servers_have_are_accepted() {
        for good in [
            "a",
            "example.com",
            "EXAMPLE.com:80",
            "my_service:8080",
            "127.0.0.1:1",
            "[::1]",
            "[2001:db8::1]:443",
            "example.com:",
            "example.com.:65535",
            "xn--bcher-kva.example",
        ] {
            assert!(is_valid(good.as_bytes()), "{good}");
        }
    }

    #[test]
    fn h24_userinfo_path_comma_space_and_impossible_ports_are_refused() {
        for bad in [
            "",
            ":80",
            "user@example.com",
            "example.com/x",
            "a,b",
            "a b",
            "a:65536",
            "a:99999999999",
            "a:+1",
            "a:8 0",
            "a:b",
            "a:1:2",
            "::1",
            "[::1",
            "[]",
            "[::1]x",
            "[fe80::1%eth0]",
            "[v1.a]",
            "a?b",
            "a#b",
            "a%41",
            "a\\b",
            "b\u{fc}cher",
            "a\t",
            "a:\u{661}",
        ] {
            assert!(!is_valid(bad.as_bytes()), "{bad}");
        }
        assert!(!is_valid(b"a\xa0"));
    }
}
