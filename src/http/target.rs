//! The request target: its form, its parts, and whether its percent-encoding is sound (RFC 9112 section 3.2, RFC 3986
//! section 2.1).
//!
//! It decodes nothing: that happens once, where a path variable or a query value is taken out. Dot segments are the
//! business of whoever maps a path to something.

use super::host;
use super::span::Span;

/// The parts of a target, as ranges of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Of an absolute-form target.
    pub(crate) authority: Option<Span>,
    /// Empty for an absolute-form target without a path, which means "/".
    pub(crate) path: Span,
    /// Without the question mark.
    pub(crate) query: Option<Span>,
}

/// Why a target is refused; always a 400.
pub(crate) type Refusal = &'static str;

/// True for the octets that may stand in a target at all: visible ASCII without `#`, since a fragment is never sent
/// (H27).
pub(crate) fn is_target_octet(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e) && byte != b'#'
}

/// Takes a target apart. All of its octets must be target octets; `options` tells that the method is OPTIONS, the
/// only one that may ask for `*`.
///
/// # Errors
/// Authority-form (CONNECT is refused before), a foreign scheme, an authority that isn't valid, or unsound
/// percent-encoding.
pub(crate) fn parse(target: &[u8], options: bool) -> Result<Target, Refusal> {
    let whole = Span::new(0, target.len());
    if target == b"*" {
        return if options {
            Ok(Target {
                authority: None,
                path: whole,
                query: None,
            })
        } else {
            Err("the target * is for OPTIONS only")
        };
    }
    let (authority, path_start) = if target.first() == Some(&b'/') {
        (None, 0)
    } else {
        // RFC 9112 section 3.2.2: a server must accept the absolute form even though only proxies are sent it.
        let start = scheme_len(target).ok_or("the target is neither a path nor an http or https URI")?;
        let rest = &target[start..];
        let len = rest
            .iter()
            .position(|byte| matches!(byte, b'/' | b'?'))
            .unwrap_or(rest.len());
        if !host::is_valid(&rest[..len]) {
            return Err("the authority of the target is not valid");
        }
        (Some(Span::new(start, start + len)), start + len)
    };
    let question_mark = memchr::memchr(b'?', &target[path_start..]).map(|at| path_start + at);
    let path = Span::new(path_start, question_mark.unwrap_or(target.len()));
    let query = question_mark.map(|at| Span::new(at + 1, target.len()));
    if let Some(first) = memchr::memchr(b'%', target) {
        // The question mark is no part of an encoded character, so path and query can be checked in one go.
        check_encoding(&target[first..])?;
    }
    Ok(Target {
        authority,
        path,
        query,
    })
}

fn scheme_len(target: &[u8]) -> Option<usize> {
    ["http://", "https://"]
        .into_iter()
        .map(str::as_bytes)
        .find(|scheme| {
            target
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        })
        .map(<[u8]>::len)
}

/// Checks that each `%` has two hexadecimal digits and that what they encode is UTF-8 without control characters
/// (H28): a file name, a log line or a header made of it later can't be cut short or split.
fn check_encoding(mut text: &[u8]) -> Result<(), Refusal> {
    while let Some(at) = memchr::memchr(b'%', text) {
        let (first, mut rest) = decode_one(&text[at..])?;
        if first.is_ascii_control() {
            return Err("an encoded control character in the target");
        }
        if !first.is_ascii() {
            let mut character = [first, 0, 0, 0];
            let len = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Err("the target is not UTF-8 when decoded"),
            };
            for slot in &mut character[1..len] {
                (*slot, rest) = decode_one(rest)?;
            }
            // Overlong forms, surrogates and what lies beyond U+10FFFF are caught here.
            if std::str::from_utf8(&character[..len]).is_err() {
                return Err("the target is not UTF-8 when decoded");
            }
        }
        text = rest;
    }
    Ok(())
}

/// The octet encoded at the start of `text`, and what follows it.
fn decode_one(text: &[u8]) -> Result<(u8, &[u8]), Refusal> {
    let hex = |byte: u8| char::from(byte).to_digit(16);
    match text {
        [b'%', high, low, rest @ ..] => match (hex(*high), hex(*low)) {
            (Some(high), Some(low)) => Ok(((high * 16 + low) as u8, rest)),
            _ => Err("malformed percent-encoding in the target"),
        },
        [b'%', ..] => Err("malformed percent-encoding in the target"),
        _ => Err("the target is not UTF-8 when decoded"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Authority, path and query of a target.
    fn parts(target: &str) -> Result<(Option<&str>, &str, Option<&str>), Refusal> {
        let parsed = parse(target.as_bytes(), false)?;
        let text = |span: Span| std::str::from_utf8(span.of(target.as_bytes())).expect("targets are ASCII");
        Ok((
            parsed.authority.map(text),
            text(parsed.path),
            parsed.query.map(text),
        ))
    }

    #[test]
    fn rfc9112_3_2_1_origin_form() {
        assert_eq!(parts("/"), Ok((None, "/", None)));
        assert_eq!(parts("/a/b?c=d?e"), Ok((None, "/a/b", Some("c=d?e"))));
        assert_eq!(parts("/?"), Ok((None, "/", Some(""))));
        assert_eq!(parts("//evil.example/"), Ok((None, "//evil.example/", None)));
    }

    #[test]
    fn h25_absolute_form() {
        assert_eq!(parts("http://a.example"), Ok((Some("a.example"), "", None)));
        assert_eq!(parts("HTTPS://a:8443/x?y"), Ok((Some("a:8443"), "/x", Some("y"))));
        assert_eq!(parts("http://a?y"), Ok((Some("a"), "", Some("y"))));
        for bad in [
            "http://",
            "http:///x",
            "http://u@a/",
            "ftp://a/",
            "http:/a",
            "file:///etc/passwd",
            "http:a",
            "httpx://a/",
        ] {
            assert!(parts(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn h26_authority_form_is_refused_and_the_asterisk_is_for_options() {
        assert!(parts("example.com:80").is_err() && parts("x").is_err() && parts("").is_err());
        assert!(parts("*").is_err() && parts("**").is_err());
        assert!(parse(b"*", true).is_ok_and(|target| target.path == Span::new(0, 1)));
        assert!(parse(b"*x", true).is_err());
    }

    #[test]
    fn h28_sound_percent_encoding_is_accepted() {
        for good in [
            "/%20",
            "/%41?%7e=%2f",
            "/%C3%A4%e2%82%ac",
            "/?q=%F0%9F%98%80",
            "/%25zz",
            "/%F4%8F%BF%BF",
        ] {
            assert!(parts(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn h28_unsound_percent_encoding_is_refused_in_path_and_query() {
        for bad in [
            "%",
            "%4",
            "%zz",
            "%4g",
            "%-1",
            "%+1",
            "%00",
            "%0d%0a",
            "%09",
            "%1f",
            "%7F",
            "%80",
            "%C0%AF",
            "%C3",
            "%C3x",
            "%C3%41",
            "%E0%80%AF",
            "%ED%A0%80",
            "%F4%90%80%80",
            "%F8%88%80%80%80",
            "%FF",
            "%e2%82",
            "%e2%82/%ac",
            "%C3%",
        ] {
            assert!(parts(&format!("/{bad}")).is_err(), "path {bad}");
            assert!(parts(&format!("/?{bad}")).is_err(), "query {bad}");
            assert!(parts(&format!("http://a/%20{bad}")).is_err(), "absolute {bad}");
        }
        assert!(
            parts("/%C3?%A4").is_err(),
            "a character can't span path and query"
        );
    }

    #[test]
    fn h27_what_may_stand_in_a_target() {
        let legal = (0..=255u8).filter(|byte| is_target_octet(*byte)).count();
        assert_eq!(
            legal, 93,
            "the 94 visible ASCII characters without the number sign"
        );
        assert!(!is_target_octet(b'#') && !is_target_octet(b' ') && !is_target_octet(0x7f));
    }
}
