//! Chunked bodies by row of the list of bad inputs, whole and cut at every byte.

use super::super::body::BodyDecoder;
use super::*;
use crate::http::head::Framing;
use proptest::prelude::*;

/// Decodes input that comes in pieces: content, bytes consumed, whether it is done.
fn decode_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    max_body: u64,
) -> Result<(Vec<u8>, usize, bool), u16> {
    let mut decoder = BodyDecoder::new(Framing::Chunked, max_body).expect("chunked bodies announce nothing");
    let (mut content, mut consumed) = (Vec::new(), 0);
    for mut piece in pieces {
        while !piece.is_empty() && !decoder.is_done() {
            let step = decoder.decode(piece).map_err(|error| error.status.as_u16())?;
            assert!(step.consumed > 0, "no progress");
            assert!(step.data.end <= step.consumed);
            assert_eq!(step.done, decoder.is_done());
            content.extend_from_slice(&piece[step.data]);
            consumed += step.consumed;
            piece = &piece[step.consumed..];
        }
    }
    Ok((content, consumed, decoder.is_done()))
}

/// Decodes input in one piece, in single bytes, and cut in two at every place; all must agree.
fn decode_within(input: &[u8], max_body: u64) -> Result<(Vec<u8>, usize, bool), u16> {
    let whole = decode_pieces([input], max_body);
    assert_eq!(decode_pieces(input.chunks(1), max_body), whole, "in single bytes");
    if input.len() < 1024 {
        for cut in 0..input.len() {
            let (first, second) = input.split_at(cut);
            assert_eq!(decode_pieces([first, second], max_body), whole, "cut at {cut}");
        }
    }
    whole
}

fn decode(input: impl AsRef<[u8]>) -> Result<(Vec<u8>, usize, bool), u16> {
    decode_within(input.as_ref(), 1024 * 1024)
}

/// The content of a body that must be complete, with nothing left over.
fn content(input: impl AsRef<[u8]>) -> Vec<u8> {
    let input = input.as_ref();
    let text = String::from_utf8_lossy(input);
    let (content, consumed, done) = decode(input).unwrap_or_else(|status| panic!("{text:?} gave {status}"));
    assert!(done && consumed == input.len(), "{text:?}");
    content
}

fn all_refused<T: AsRef<[u8]>>(status: u16, inputs: impl IntoIterator<Item = T>) {
    for input in inputs {
        let text = String::from_utf8_lossy(input.as_ref()).into_owned();
        assert_eq!(decode(input), Err(status), "{text:?}");
    }
}

#[test]
fn rfc9112_7_1_chunks_are_joined_and_what_follows_is_left_alone() {
    assert_eq!(content("0\r\n\r\n"), b"");
    assert_eq!(
        content("5\r\nhello\r\n1\r\n,\r\n0a\r\n greenroom\r\n000\r\n\r\n"),
        b"hello, greenroom"
    );
    assert_eq!(
        content("a\r\n0123456789\r\nA\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n").len(),
        20
    );
    assert_eq!(
        decode("1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n"),
        Ok((b"x".to_vec(), 11, true))
    );
    assert_eq!(decode("5\r\nhel"), Ok((b"hel".to_vec(), 6, false)));
}

#[test]
fn h16_content_beyond_the_limit_is_413_at_the_chunk_that_crosses_it() {
    assert_eq!(
        decode_within(b"5\r\nhello\r\n0\r\n\r\n", 5).map(|body| body.0),
        Ok(b"hello".to_vec())
    );
    assert_eq!(decode_within(b"5\r\nhello\r\n1\r\n", 5), Err(413));
    assert_eq!(decode_within(b"6\r\n", 5), Err(413));
    assert_eq!(decode_within(b"7fffffffffffffff\r\n", 5), Err(413));
    assert_eq!(decode_within(b"1\r\n", 0), Err(413));
    assert_eq!(decode_within(b"0\r\n\r\n", 0), Ok((vec![], 5, true)));
}

#[test]
fn h18_chunk_sizes_that_would_wrap_or_never_end_are_400() {
    all_refused(
        400,
        [
            "FFFFFFFFFFFFFFFF\r\n",
            "FFFFFFFFFFFFFFFE\r\n",
            "8000000000000000\r\n",
        ],
    );
    all_refused(400, ["10000000000000000\r\n", "00000000000000005\r\n"]);
    all_refused(400, ["0".repeat(17), "0".repeat(5000)]);
    assert_eq!(content("0000000000000001\r\nx\r\n0\r\n\r\n"), b"x");
}

#[test]
fn h19_malformed_chunk_sizes_are_400() {
    all_refused(
        400,
        [
            "0x5\r\n", "+5\r\n", "-0\r\n", "5_0\r\n", " 5\r\n", "5 \r\n", "5\t\r\n", "\r\n", ";a\r\n",
            "g\r\n",
        ],
    );
    all_refused(400, ["5\0\r\n", "5\u{a0}\r\n", "\u{665}\r\n", "5,\r\n"]);
}

#[test]
fn h20_lines_and_data_end_with_exactly_crlf() {
    all_refused(
        400,
        [
            "5\nhello",
            "5\rX",
            "5\r\r\n",
            "5;a\nhello",
            "5;a\rX",
            "5;a=\"b\"\n",
            "0\n",
        ],
    );
    all_refused(
        400,
        [
            "1\r\nx\n",
            "1\r\nx\rX",
            "1\r\nxyz",
            "1\r\nx0\r\n\r\n",
            "1\r\nx\r\r\n",
            "1\r\nx\n\r0",
        ],
    );
    all_refused(
        400,
        [
            "0\r\n\n",
            "0\r\n\rX",
            "0\r\nA: b\n",
            "0\r\nA: b\rX",
            "0\r\nA: b\r\n\n",
        ],
    );
}

#[test]
fn h21_valid_extensions_are_ignored() {
    for extension in [
        ";a",
        ";a=b",
        ";a=\"b\"",
        ";a=\"\"",
        ";a=\"\\\"\\\\; \t\"",
        ";a;b;c=d",
        "; a",
        " ;a",
        "\t; \ta = b ;c = \"d\" ;e",
        ";chunk-signature=0123456789abcdef",
        ";a=\"\u{e4}\"",
        ";a ;b",
    ] {
        assert_eq!(
            content(format!("1{extension}\r\nx\r\n0{extension}\r\n\r\n")),
            b"x",
            "{extension}"
        );
    }
}

#[test]
fn h21_malformed_extensions_are_400() {
    for extension in [
        ";",
        ";;",
        "; ",
        ";a;",
        ";a=",
        ";a= ",
        ";=b",
        ";a b",
        ";a=b c",
        ";a=\"b\"c",
        ";a=\"b",
        ";a ",
        ";a=b ",
        ";a=\"b\" ",
        ";a=\"\n\"",
        ";a=\"\r\n\"",
        ";a=\"\\\r\n\"",
        ";a=\"\0\"",
        ";a\0",
        ";\u{e4}",
        ";a=\u{e4}",
        ";a=\"\\\u{7f}\"",
        " a",
        ";a=b=c",
        ";a\n",
    ] {
        assert_eq!(
            decode(format!("1{extension}\r\nx\r\n0\r\n\r\n")),
            Err(400),
            "{extension:?}"
        );
    }
}

#[test]
fn h21_extensions_have_a_budget_of_their_own() {
    let budget = MAX_EXTENSION_BYTES as usize;
    let one = |len: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "a".repeat(len - 1));
    assert_eq!(content(one(budget)), b"x");
    assert_eq!(decode(one(budget + 1)), Err(400));
    let many = "1;abcdefg\r\nx\r\n".repeat(budget / 8);
    assert!(decode(&many).is_ok());
    assert_eq!(decode(format!("{many}1;a\r\n")), Err(400));
}

#[test]
fn h22_trailers_are_checked_and_dropped() {
    assert_eq!(
        content("1\r\nx\r\n0\r\nX-Checksum: abc\r\nx-empty:\r\nETag:\t\u{e4}\r\n\r\n"),
        b"x"
    );
    assert_eq!(
        content("0\r\nContent-Lengthy: 1\r\nHosts: a\r\nTransfer-Encoding-Extra-Long-Name: x\r\n\r\n"),
        b""
    );
}

#[test]
fn h22_malformed_trailers_are_400() {
    for trailer in [
        "x\r\n",
        ": x\r\n",
        "x : y\r\n",
        " x: y\r\n",
        "x: y\r\n z\r\n",
        "x: \0\r\n",
        "x: \x7f\r\n",
        "\u{e4}: x\r\n",
        "x(: y\r\n",
    ] {
        assert_eq!(decode(format!("0\r\n{trailer}\r\n")), Err(400), "{trailer:?}");
    }
}

#[test]
fn h22_framing_routing_and_authentication_are_refused_in_trailers() {
    for name in FORBIDDEN_TRAILERS {
        for name in [name.to_owned(), name.to_uppercase()] {
            assert_eq!(decode(format!("0\r\n{name}: 1\r\n\r\n")), Err(400), "{name}");
        }
        assert!(name.len() < NAME_BUFFER, "{name} would never be found");
    }
}

#[test]
fn h22_too_many_or_too_long_trailers_are_431() {
    let lines = |count: u32| format!("0\r\n{}\r\n", "a: b\r\n".repeat(count as usize));
    assert_eq!(content(lines(MAX_TRAILERS)), b"");
    assert_eq!(decode(lines(MAX_TRAILERS + 1)), Err(431));
    let long = |len: u32| format!("0\r\na: {}\r\n\r\n", "b".repeat(len as usize - 5));
    assert_eq!(content(long(MAX_TRAILER_BYTES)), b"");
    assert_eq!(decode(long(MAX_TRAILER_BYTES + 1)), Err(431));
}

#[test]
fn a_refused_body_stays_refused() {
    let mut decoder = Chunked::new(10);
    assert!(decoder.decode(b"x").is_err());
    assert!(decoder.decode(b"0\r\n\r\n").is_err());
    assert!(!decoder.is_done());
}

/// Bytes that chunked bodies are made of, so that random input gets beyond the first byte.
fn chunked_noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "0",
        "1",
        "2",
        "a",
        "F",
        "\r\n",
        "\r",
        "\n",
        ";",
        "=",
        "\"",
        "\\",
        " ",
        "x",
        ":",
        "0\r\n",
        "1\r\nx\r\n",
        "\r\n\r\n",
        "\u{e4}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_content_in_any_chunks_comes_back(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8)) {
        let mut wire = Vec::new();
        for chunk in &chunks {
            wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            wire.extend_from_slice(chunk);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(b"0\r\n\r\n");
        prop_assert_eq!(content(&wire), chunks.concat());
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_splits_do_not_matter(input in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&input);
    }

    #[test]
    fn arbitrary_framing_never_panics_and_splits_do_not_matter(input in chunked_noise()) {
        let _ = decode(&input);
    }
}
