//! Content-Length and Transfer-Encoding that must be served or refused.

use super::*;

#[test]
fn h12_length_and_chunked_together_is_400() {
    all_refused(
        400,
        [
            with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
            with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
            with("transfer-encoding: CHUNKED\r\nX: y\r\ncontent-length: 0\r\n"),
        ],
    );
}

#[test]
fn h13_transfer_encoding_in_http_1_0_is_400() {
    all_refused(
        400,
        ["POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"],
    );
}

#[test]
fn h14_more_than_one_length_is_400_even_if_equal() {
    all_refused(
        400,
        [
            with("Content-Length: 5\r\nContent-Length: 6\r\n"),
            with("Content-Length: 5\r\nContent-Length: 5\r\n"),
            with("Content-Length: 5\r\ncontent-length: 5\r\n"),
            with("Content-Length: 5, 6\r\n"),
            with("Content-Length: 5, 5\r\n"),
            with("Content-Length: 5,\r\n"),
        ],
    );
}

#[test]
fn h15_a_length_is_digits_that_fit_64_bits() {
    let length = |value: &str| with(format!("Content-Length: {value}\r\n"));
    all_refused(
        400,
        [
            "+5",
            "-5",
            "0x5",
            "1_0",
            "5 5",
            "5Z",
            "",
            " ",
            "18446744073709551616",
            "99999999999999999999999",
            "5.0",
            "5;",
            "\u{665}",
            "five",
            "-0",
            "1e3",
        ]
        .map(length),
    );
    assert_eq!(
        accepted(length("18446744073709551615")).framing(),
        Framing::Length(u64::MAX)
    );
    assert_eq!(accepted(length("0")).framing(), Framing::Length(0));
    assert_eq!(accepted(length("007 ")).framing(), Framing::Length(7));
}

#[test]
fn h17_only_chunked_alone_is_a_transfer_coding_here() {
    let coding = |value: &str| with(format!("Transfer-Encoding: {value}\r\n"));
    for good in ["chunked", "Chunked", "CHUNKED", " \tchunked "] {
        assert_eq!(accepted(coding(good)).framing(), Framing::Chunked, "{good}");
    }
    all_refused(
        400,
        [
            "",
            ",chunked",
            "chunked,",
            "chunked, identity",
            "chunked, chunked",
            "chunked;q=1",
            "chunked chunked",
            "\"chunked\"",
            "chunked, gzip",
            "gzip,,chunked",
            "chunked\u{b}",
            "gzip;q=1, chunked",
            ",",
            "chun ked",
        ]
        .map(coding),
    );
    all_refused(
        501,
        [
            "xchunked",
            "gzip",
            "identity",
            "gzip, chunked",
            "deflate, gzip",
            "chunkedx",
        ]
        .map(coding),
    );
    all_refused(
        400,
        [
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
            with("Transfer_Encoding: chunked\r\n"),
            with("Content_Length: 5\r\n"),
        ],
    );
    all_refused(
        400,
        [
            with(b"Transfer-Encoding: \xa0chunked\r\n"),
            with(b"Transfer-Encoding: chunked\x00\r\n"),
        ],
    );
}
