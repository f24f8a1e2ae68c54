//! Exact numbers in plans: seconds as nanoseconds, and rates in thousandths of a bit per second.

use bentpipe_core::{Span, Time};

/// A transmission rate above zero, in thousandths of a bit per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitRate(u64);

impl BitRate {
    /// Creates a rate in thousandths of a bit per second; `None` if it is zero.
    pub const fn from_millibits(millibits_per_second: u64) -> Option<BitRate> {
        match millibits_per_second {
            0 => None,
            rate => Some(BitRate(rate)),
        }
    }

    /// Creates a rate from a rate in whole bits per second.
    pub const fn of(rate: bentpipe_core::Rate) -> BitRate {
        BitRate(rate.bits_per_second() * 1000)
    }

    /// Returns the rate in bit/s.
    pub fn bits_per_second(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Returns the transmission time of `bytes`, rounded to the nearest nanosecond.
    pub const fn span_of(self, bytes: u64) -> Span {
        // 64-bit division is several times faster, and sufficient below 1 MiB.
        if bytes < 1 << 20 {
            let (scaled, rate) = (bytes * 8_000_000_000_000, self.0);
            return Span::from_nanos(scaled / rate + (scaled % rate >= rate.div_ceil(2)) as u64);
        }
        let (scaled, rate) = (bytes as u128 * 8_000_000_000_000, self.0 as u128);
        let nanoseconds = (scaled + rate / 2) / rate;
        Span::from_nanos(if nanoseconds > u64::MAX as u128 { u64::MAX } else { nanoseconds as u64 })
    }

    /// Returns the number of complete bytes that can be sent within a span.
    pub const fn bytes_in(self, span: Span) -> u64 {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / 8_000_000_000_000;
        if bytes > u64::MAX as u128 {
            u64::MAX
        } else {
            bytes as u64
        }
    }
}

/// Reads a decimal number such as `12`, `0.25` or `1e3`. Returns it as an integer in units of
/// `10^-places`, rounded half away from zero, or `None` if it is not a finite decimal number or is
/// too large.
pub fn decimal(text: &str, places: i32) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // The value is digits * 10^power in units of 10^-places.
    let power = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_add(places)?;
    let mut significant = digits().skip_while(|digit| *digit == b'0').collect::<Vec<_>>();
    let dropped = usize::try_from(-i64::from(power)).unwrap_or(0);
    let up = dropped > 0 && significant.len() >= dropped && significant[significant.len() - dropped] >= b'5';
    significant.truncate(significant.len().saturating_sub(dropped));
    if significant.is_empty() {
        return Some(sign(negative, i128::from(up)));
    }
    if significant.len() as i64 + i64::from(power.max(0)) > 36 {
        return None;
    }
    let value = significant.iter().fold(0_i128, |value, digit| value * 10 + i128::from(digit - b'0'));
    Some(sign(negative, value * 10_i128.pow(power.max(0) as u32) + i128::from(up)))
}

fn sign(negative: bool, value: i128) -> i128 {
    if negative {
        -value
    } else {
        value
    }
}

/// Maximum time in a plan in nanoseconds: about 570 years.
const LATEST: i128 = 18_000_000_000_000_000_000;

/// Reads a number of seconds, zero or more, and returns it in nanoseconds.
///
/// # Errors
/// If the text is invalid. The error names `field` and the allowed values.
pub fn nanoseconds(field: &str, text: &str) -> Result<u64, String> {
    match decimal(text, 9) {
        Some(value) if (0..=LATEST).contains(&value) => Ok(value as u64),
        _ => Err(format!("{field} is {text}; allowed: a number of seconds from 0")),
    }
}

/// Reads a rate in units of `bits` bit/s: 1 for bit/s, 8 for byte/s.
///
/// # Errors
/// If the text is invalid. The error names `field` and the allowed values.
pub fn rate(field: &str, text: &str, bits: i128) -> Result<BitRate, String> {
    let value = decimal(text, 3).and_then(|value| value.checked_mul(bits));
    let rate = value.and_then(|value| u64::try_from(value).ok()).and_then(BitRate::from_millibits);
    let unit = if bits == 8 { "byte/s" } else { "bit/s" };
    rate.ok_or_else(|| format!("{field} is {text}; allowed: a number of {unit} above 0"))
}

/// Formats a time in seconds, exactly and without trailing zeros.
pub fn seconds(time: Time) -> String {
    let nanoseconds = time.as_nanos();
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:09}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, expected) in [
            ("0", Some(0)),
            ("12", Some(12_000_000_000)),
            ("0.1", Some(100_000_000)),
            ("1700000000.123456789", Some(1_700_000_000_123_456_789)),
            ("1e3", Some(1_000_000_000_000)),
            ("1.5E-3", Some(1_500_000)),
            ("0.0000000005", Some(1)),
            ("0.00000000049", Some(0)),
            ("-2", Some(-2_000_000_000)),
            ("NaN", None),
            ("inf", None),
            ("", None),
            (".", None),
            ("1e400", None),
            ("1x", None),
        ] {
            assert_eq!(decimal(text, 9), expected, "{text}");
        }
        assert_eq!(seconds(Time::from_nanos(12_500_000_000)), "12.5");
        assert_eq!(seconds(Time::from_nanos(12_000_000_000)), "12");
    }

    #[test]
    fn transmission_times_are_rounded_to_the_nanosecond() {
        let rate = |millibits| BitRate::from_millibits(millibits).unwrap();
        assert_eq!(rate(8_000).span_of(10), Span::from_secs(10));
        assert_eq!(rate(3_000_000).span_of(1), Span::from_nanos(2_666_667));
        assert_eq!(rate(1_000_000_000).span_of(5_000_000), Span::from_secs(40));
        assert_eq!(rate(1).span_of(1), Span::from_secs(8000));
        assert_eq!(rate(8_000).bytes_in(Span::from_millis(1999)), 1);
    }
}
