//! Counts and durations as they are typed: `10k`, `2m`, `500ms`, `30s`.

use std::time::Duration;

/// A count with an optional `k` (thousand) or `m` (million).
///
/// # Errors
/// A sentence for the user when it is no whole number above zero or does not fit.
pub fn count(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    let number: usize = digits
        .parse()
        .map_err(|_| format!("{text} is not a count such as 64, 10k or 1m"))?;
    match number.checked_mul(unit) {
        Some(0) => Err("a count of 0 measures nothing".into()),
        Some(count) => Ok(count),
        None => Err(format!("{text} is too large")),
    }
}

/// A duration in `ms`, `s` or `m`.
///
/// # Errors
/// A sentence for the user when the unit is missing, the number is none, or the result is zero or over a day.
pub fn duration(text: &str) -> Result<Duration, String> {
    let unit_at = text
        .find(|char: char| char.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let millis = match unit {
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" => 60_000.0,
        _ => return Err(format!("{text} is not a duration such as 500ms, 30s or 2m")),
    };
    let number: f64 = digits
        .parse()
        .map_err(|_| format!("{text} is not a duration such as 500ms, 30s or 2m"))?;
    let seconds = number * millis / 1_000.0;
    if !(0.001..=86_400.0).contains(&seconds) {
        return Err(format!("{text} is not between 1ms and a day"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_take_k_and_m() {
        assert_eq!(
            [count("64"), count("10k"), count("2m")],
            [Ok(64), Ok(10_000), Ok(2_000_000)]
        );
        for wrong in [
            "",
            "0",
            "-1",
            "1.5k",
            "10q",
            "99999999999999999999",
            "99999999999999999m",
        ] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_need_a_unit_and_are_bounded() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "5", "0s", "-1s", "s", "5h", "2000m"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
