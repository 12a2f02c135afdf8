//! The Date field, formatted once a second (RFC 9110 sections 5.6.7 and 6.6.1).

use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

/// An IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`.
type Text = [u8; 29];

thread_local! {
    /// The second last formatted on this thread, and its text. No second formatted yet: one that no clock shows.
    static CACHE: Cell<(u64, Text)> = const { Cell::new((u64::MAX, [0; 29])) };
}

/// Calls `f` with the text of the current time; cached per thread. It is the kernel's coarse clock that is read, a few
/// milliseconds behind at most and a quarter of the cost.
pub(crate) fn with_date<R>(f: impl FnOnce(&Text) -> R) -> R {
    f(&at(clock_gettime(ClockId::RealtimeCoarse).tv_sec))
}

/// The text of a Unix time; times before 1970 count as 1970 and those after 9999 as the last second that can be written.
fn at(second: i64) -> Text {
    /// The last second of the year 9999.
    const LAST: i64 = 253_402_300_799;
    let second = second.clamp(0, LAST) as u64;
    // A copy is taken, so that nothing is borrowed while the caller's closure runs.
    let (cached, text) = CACHE.get();
    if cached == second {
        return text;
    }
    let mut text = [0; 29];
    let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
    // The text always has 29 bytes; were it ever longer, a cut one would be sent rather than the server stopped.
    let _ = write!(&mut text[..], "{date}");
    CACHE.set((second, text));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn text_at(second: i64) -> String {
        String::from_utf8(at(second).to_vec()).expect("dates are ASCII")
    }

    #[test]
    fn rfc9110_5_6_7_imf_fixdate() {
        assert_eq!(text_at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(text_at(-1), "Thu, 01 Jan 1970 00:00:00 GMT");
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
