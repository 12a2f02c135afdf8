//! Properties that hold for any bytes: no panic, and the same outcome however they are cut into reads.

use super::*;
use proptest::prelude::*;

/// What can be said of the outcome of a parse without regard to how the input was cut.
fn outcome(pieces: &[usize], input: &[u8], limits: &HeadLimits) -> Result<Option<(usize, String)>, u16> {
    let mut head = Head::default();
    for end in pieces.iter().copied().chain([input.len()]) {
        match head.parse(&input[..end], limits) {
            Ok(Parse::Partial) => {}
            Ok(Parse::Done(len)) => {
                let fields: Vec<_> = head.headers().collect();
                let facts = (
                    head.target(),
                    head.path(),
                    head.query(),
                    head.host(),
                    head.framing(),
                    head.keep_alive(),
                );
                return Ok(Some((len, format!("{head:?} {facts:?} {fields:?}"))));
            }
            Err(error) => return Err(error.status.as_u16()),
        }
    }
    Ok(None)
}

/// Asserts the same outcome for the input in one piece, in single bytes, and cut in two at every place.
fn cuts_do_not_matter(input: &[u8], limits: &HeadLimits) -> Result<(), TestCaseError> {
    let whole = outcome(&[], input, limits);
    let bytes: Vec<usize> = (0..input.len()).collect();
    prop_assert_eq!(
        outcome(&bytes, input, limits),
        whole.clone(),
        "in single bytes: {:?}",
        String::from_utf8_lossy(input)
    );
    for cut in 0..input.len() {
        prop_assert_eq!(
            outcome(&[cut], input, limits),
            whole.clone(),
            "cut at {}: {:?}",
            cut,
            String::from_utf8_lossy(input)
        );
    }
    Ok(())
}

#[test]
fn s11_every_cut_of_some_telling_requests_gives_the_same_outcome() {
    let small = HeadLimits {
        max_bytes: 64,
        max_line: 40,
        max_fields: 2,
    };
    for input in [
        "\r\n\r\nGET /a?b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nGET",
        "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nZ: z\r\n\r\n",
        "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /aaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\n\n",
        "TRACE / HTTP/1.1\r\n\n",
    ] {
        for limits in [&small, &LIMITS] {
            cuts_do_not_matter(input.as_bytes(), limits).expect(input);
        }
    }
}

/// Pieces that requests are made of, whole and broken.
fn request_noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "GET ",
        "POST ",
        "/",
        "*",
        "?",
        "%41",
        "%",
        "http://",
        "a",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        " HTTP/2.0\r\n",
        "Host: a\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Expect: 100-continue\r\n",
        "X: y\r\n",
        "\r\n",
        "\r",
        "\n",
        " ",
        "\t",
        ":",
        "\0",
        "\u{e4}",
        "GET / HTTP/1.1\r\n",
        "\r\n\r\n",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat().into_bytes())
}

/// Requests that are valid, with everything that may vary varied.
fn valid_request() -> impl Strategy<Value = String> {
    let fields = prop::collection::vec(
        (
            "[A-Wa-w][!#$%&'*+.^_`|~0-9A-Za-z-]{0,30}",
            "[ \t]{0,2}",
            "([!-~]([ -~\t]{0,60}[!-~])?)?",
            "[ \t]{0,2}",
        ),
        0..20,
    );
    (
        "(GET|POST|OPTIONS)",
        "/[!$&-;=@-Z_a-z~]{0,40}(\\?[!$&-;=?@-Z_a-z~]{0,20})?",
        "1\\.[01]",
        fields,
    )
        .prop_map(|(method, target, version, fields)| {
            let mut request = format!("{method} {target} HTTP/{version}\r\nHost: a\r\n");
            for (name, before, value, after) in fields {
                // A leading letter that none of the fields with rules of their own has.
                request.push_str(&format!("Z{name}:{before}{value}{after}\r\n"));
            }
            request + "\r\n"
        })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_cuts_do_not_matter(input in prop::collection::vec(any::<u8>(), 0..120)) {
        cuts_do_not_matter(&input, &LIMITS)?;
    }

    #[test]
    fn broken_requests_never_panic_and_cuts_do_not_matter(input in request_noise()) {
        cuts_do_not_matter(&input, &LIMITS)?;
        cuts_do_not_matter(&input, &HeadLimits { max_bytes: 60, max_line: 40, max_fields: 2 })?;
    }

    #[test]
    fn valid_requests_are_read_as_httparse_reads_them(input in valid_request(), rest in "[ -~]{0,10}") {
        let wire = format!("{input}{rest}");
        let (head, len) = parse_with(wire.as_bytes(), &LIMITS).map_err(|error| TestCaseError::fail(error.reason))?;
        let mut fields = [httparse::EMPTY_HEADER; 32];
        let mut theirs = httparse::Request::new(&mut fields);
        let status = theirs.parse(wire.as_bytes()).expect("valid");
        prop_assert_eq!(status, httparse::Status::Complete(len));
        prop_assert_eq!(Some(head.method().as_str()), theirs.method);
        prop_assert_eq!(Some(head.target()), theirs.path);
        prop_assert_eq!(head.version() == Version::HTTP_11, theirs.version == Some(1));
        prop_assert_eq!(
            head.headers().collect::<Vec<_>>(),
            theirs.headers.iter().map(|header| (header.name, header.value)).collect::<Vec<_>>()
        );
        cuts_do_not_matter(input.as_bytes(), &LIMITS)?;
    }

    /// Whatever is accepted, a lenient parser reads the same way: nothing is left to smuggle.
    #[test]
    fn whatever_is_accepted_httparse_reads_the_same(input in request_noise()) {
        if let Ok(Some((len, _))) = outcome(&[], &input, &LIMITS) {
            let mut fields = [httparse::EMPTY_HEADER; 64];
            let mut theirs = httparse::Request::new(&mut fields);
            prop_assert_eq!(theirs.parse(&input), Ok(httparse::Status::Complete(len)));
        }
    }
}
