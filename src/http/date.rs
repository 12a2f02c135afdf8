//! The Date field, formatted once a second (RFC 9110 sections 5.6.7 and 6.6.1).

use std::cell::Cell;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// An IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`.
type Text = [u8; 29];

thread_local! {
    /// The second last formatted on this thread, and its text. No second formatted yet: one that no clock shows.
    static CACHE: Cell<(u64, Text)> = const { Cell::new((u64::MAX, [0; 29])) };
}

/// Calls `f` with the text of the current time; cached per thread. The clock is read without a system call where the
/// kernel offers that.
pub(crate) fn with_date<R>(f: impl FnOnce(&Text) -> R) -> R {
    f(&at(SystemTime::now()))
}

/// The text of a time; times before 1970 count as 1970 and those after 9999 as the last second that can be written.
fn at(time: SystemTime) -> Text {
    /// The last second of the year 9999.
    const LAST: u64 = 253_402_300_799;
    let second = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
        .min(LAST);
    // A copy is taken, so that nothing is borrowed while the caller's closure runs.
    let (cached, text) = CACHE.get();
    if cached == second {
        return text;
    }
    let mut text = [0; 29];
    let date = httpdate::HttpDate::from(UNIX_EPOCH + std::time::Duration::from_secs(second));
    // The text always has 29 bytes; were it ever longer, a cut one would be sent rather than the server stopped.
    let _ = write!(&mut text[..], "{date}");
    CACHE.set((second, text));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn text_at(second: u64) -> String {
        String::from_utf8(at(UNIX_EPOCH + Duration::from_secs(second)).to_vec()).expect("dates are ASCII")
    }

    #[test]
    fn rfc9110_5_6_7_imf_fixdate() {
        assert_eq!(text_at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(text_at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(text_at(1 << 40), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn the_cache_follows_the_clock_in_both_directions() {
        for second in [100, 101, 101, 99] {
            assert!(
                text_at(second).ends_with(&format!("00:01:{} GMT", second - 60)),
                "{second}"
            );
        }
    }

    #[test]
    fn with_date_tells_the_current_time() {
        let text = with_date(|date| String::from_utf8(date.to_vec()).expect("dates are ASCII"));
        let told = httpdate::parse_http_date(&text).expect("an HTTP date");
        let age = SystemTime::now().duration_since(told).expect("not in the future");
        assert!(age < Duration::from_secs(60), "{age:?}");
    }
}
