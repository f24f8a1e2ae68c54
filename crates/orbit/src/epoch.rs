//! Calendar times, such as the start of a run or the epoch of an element set.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{de, Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A time in UTC with a resolution of a nanosecond. Every day has 86 400 s: leap seconds are
/// ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    /// Nanoseconds since 2000-01-01T12:00:00 UTC.
    nanoseconds: i64,
}

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;
/// Days from 1970-01-01 to 2000-01-01.
const DAYS_TO_2000: i64 = 10_957;

impl Epoch {
    /// Noon of 1 January 2000 (UTC).
    pub const J2000: Epoch = Epoch { nanoseconds: 0 };

    /// Creates an epoch from nanoseconds of Unix time.
    pub fn from_unix_nanos(nanoseconds: i64) -> Epoch {
        Epoch { nanoseconds: nanoseconds - DAYS_TO_2000 * DAY - DAY / 2 }
    }

    /// Returns the days since [`Epoch::J2000`], fractions included.
    pub fn days_since_j2000(self) -> f64 {
        self.nanoseconds as f64 / DAY as f64
    }

    /// Returns the seconds from `other` to this time; negative if `other` is later.
    pub fn seconds_since(self, other: Epoch) -> f64 {
        (self.nanoseconds - other.nanoseconds) as f64 / SECOND as f64
    }

    /// Returns the nanoseconds since the last full minute.
    pub fn nanos_in_minute(self) -> u64 {
        (self.nanoseconds - DAY / 2).rem_euclid(60 * SECOND) as u64
    }

    /// Returns the time `seconds` later.
    pub fn after(self, seconds: f64) -> Epoch {
        Epoch { nanoseconds: self.nanoseconds.saturating_add((seconds * SECOND as f64).round() as i64) }
    }
}

/// Returns the number of days from 1970-01-01 to a day of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][month as usize - 1];
    let leap = |year: i64| year / 4 - year / 100 + year / 400;
    let this = i64::from(is_leap(year) && month > 2);
    365 * (year - 1970) + leap(year - 1) - leap(1969) + before + this + day - 1
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The form of a time in a scenario, for messages.
const ALLOWED: &str = "a time in UTC such as \"2026-03-01T12:00:00Z\", from 1957 to 2200";

impl FromStr for Epoch {
    type Err = String;

    /// Parses a time of the form `YYYY-MM-DDTHH:MM:SS[.FRACTION][Z]`.
    fn from_str(text: &str) -> Result<Epoch, String> {
        read(text).ok_or_else(|| format!("\"{text}\" is not a time; allowed: {ALLOWED}"))
    }
}

fn read(text: &str) -> Option<Epoch> {
    let (date, time) = text.strip_suffix('Z').unwrap_or(text).split_once(['T', ' '])?;
    let number = |text: &str, digits: usize| -> Option<i64> {
        (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse().ok())
            .flatten()
    };
    let mut parts = date.split('-');
    let (year, month, day) =
        (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut clock = time.split(':');
    let (hour, minute, second) =
        (number(clock.next()?, 2)?, number(clock.next()?, 2)?, number(clock.next()?, 2)?);
    let known = (1957..=2200).contains(&year) && (1..=12).contains(&month);
    let fits =
        known && (1..=days_in_month(year, month)).contains(&day) && hour < 24 && minute < 60 && second < 60;
    if !fits || parts.next().is_some() || clock.next().is_some() || fraction.len() > 9 {
        return None;
    }
    let nanos = number(fraction, fraction.len())? * 10_i64.pow(9 - fraction.len() as u32);
    let days = days_from_civil(year, month, day) - DAYS_TO_2000;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(Epoch { nanoseconds: seconds * SECOND + nanos - DAY / 2 })
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since_midnight = self.nanoseconds + DAY / 2;
        let (mut days, rest) =
            (since_midnight.div_euclid(DAY) + DAYS_TO_2000, since_midnight.rem_euclid(DAY));
        // The estimate is never too late, because a year has 365 or 366 days.
        let mut year = 1970 + days.div_euclid(if days < 0 { 365 } else { 366 });
        while days_from_civil(year + 1, 1, 1) <= days {
            year += 1;
        }
        days -= days_from_civil(year, 1, 1);
        let mut month = 1;
        while days >= days_in_month(year, month) {
            days -= days_in_month(year, month);
            month += 1;
        }
        let (seconds, nanos) = (rest / SECOND, rest % SECOND);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}", days + 1)?;
        if nanos != 0 {
            write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for Epoch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Epoch, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Epoch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Epoch {
    fn schema_name() -> Cow<'static, str> {
        "moment".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z?$",
            "description": "a time in UTC, such as 2026-03-01T12:00:00Z",
            "examples": ["2026-03-01T12:00:00Z"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn epochs_match_the_calendar() {
        let at = |text: &str| text.parse::<Epoch>().unwrap();
        assert_eq!(at("2000-01-01T12:00:00Z"), Epoch::J2000);
        // Meeus, Astronomical Algorithms, chapter 7: 1987-06-19.5 is Julian day 2446966.0, and
        // J2000 is 2451545.0.
        assert_eq!(at("1987-06-19T12:00:00Z").days_since_j2000(), 2_446_966.0 - 2_451_545.0);
        assert_eq!(at("1970-01-01T00:00:00Z"), Epoch::from_unix_nanos(0));
        assert_eq!(at("2022-09-14T23:59:12.25Z").nanos_in_minute(), 12_250_000_000);
        assert_eq!(at("1964-12-31T23:59:59Z").to_string(), "1964-12-31T23:59:59Z");
        for text in
            ["2022-02-29T00:00:00Z", "2022-09-14", "2022-09-14T24:00:00Z", "soon", "1900-01-01T00:00:00Z"]
        {
            assert!(text.parse::<Epoch>().unwrap_err().contains("allowed: a time in UTC"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printed_epochs_read_back_unchanged(nanoseconds in -1_300_000_000 * SECOND..6_300_000_000 * SECOND) {
            let epoch = Epoch { nanoseconds };
            prop_assert_eq!(epoch.to_string().parse::<Epoch>().unwrap(), epoch);
        }
    }
}
