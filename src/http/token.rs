//! Tokens and comma-separated lists, the two grammar rules that most fields share (RFC 9110 sections 5.6.1 and
//! 5.6.2).
//!
//! It knows nothing of quoted strings: no field that the server acts on may contain one.

/// Which octets are `tchar`, the characters of method names, field names and list elements.
static TCHAR: [bool; 256] = {
    let mut table = [false; 256];
    let mut octet = 0;
    while octet < 128 {
        let byte = octet as u8;
        table[octet] = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            );
        octet += 1;
    }
    table
};

/// True if the octet may be part of a token.
pub(crate) fn is_tchar(byte: u8) -> bool {
    TCHAR[usize::from(byte)]
}

/// True if all of it is one token; an empty string isn't.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| is_tchar(*byte))
}

/// The elements of a comma-separated list without the optional white space around them; empty elements included.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(trim)
}

/// Without leading and trailing SP and HTAB; nothing else is white space in HTTP (RFC 9110 section 5.6.3).
pub(crate) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc9110_5_6_2_a_token_is_made_of_tchars() {
        assert!(is_token(b"Content-Length") && is_token(b"!#$%&'*+-.^_`|~09azAZ"));
        for bad in [
            &b""[..],
            b"a b",
            b"a:",
            b"a\t",
            b"\"a\"",
            b"a(b)",
            b"caf\xc3\xa9",
            b"a\0",
            b"a/b",
            b"\x7f",
        ] {
            assert!(!is_token(bad), "{bad:?}");
        }
    }

    #[test]
    fn rfc9110_5_6_1_list_elements_lose_only_spaces_and_tabs() {
        let elements: Vec<_> = list(b" close ,\tkeep-alive,,\xa0x").collect();
        assert_eq!(elements, [&b"close"[..], b"keep-alive", b"", b"\xa0x"]);
    }
}
