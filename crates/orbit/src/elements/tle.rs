//! Two-line element sets (Hoots and Roehrich 1980, section 1), in the format described by
//! CelesTrak.

use super::{Elements, ParseError};
use crate::epoch::Epoch;

/// Length of a line, including its checksum.
const LENGTH: usize = 69;

/// Parses all sets of a text. Empty lines and lines that start with `#` are skipped. A line in
/// front of a set is its name.
pub fn parse(text: &str) -> Result<Vec<Elements>, ParseError> {
    let mut sets = Vec::new();
    let mut name = None;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end()));
    let mut lines = lines.filter(|(_, line)| !line.trim_start().is_empty() && !line.starts_with('#'));
    while let Some((number, line)) = lines.next() {
        if !line.starts_with("1 ") {
            if line.starts_with("2 ") && line.len() >= LENGTH - 1 {
                return Err(ParseError::at(number, "the second line of a set is not preceded by the first"));
            }
            name = Some(line.strip_prefix("0 ").unwrap_or(line).trim().to_owned());
            continue;
        }
        check_line(number, line)?;
        let Some((second_number, second)) = lines.next().filter(|(_, line)| line.starts_with("2 ")) else {
            return Err(ParseError::at(
                number,
                "the first line of a set is not followed by the second, \"2 ...\"",
            ));
        };
        check_line(second_number, second)?;
        let (one, two) = (Fields { number, line }, Fields { number: second_number, line: second });
        if one.text(3, 7) != two.text(3, 7) {
            let message = format!("satellite {} after the first line of {}", two.text(3, 7), one.text(3, 7));
            return Err(ParseError::at(second_number, message));
        }
        let catalogue = catalogue(one.text(3, 7)).ok_or_else(|| one.error("catalogue number", 3, 7))?;
        sets.push(Elements {
            name: name.take().filter(|name| !name.is_empty()).unwrap_or_else(|| catalogue.to_string()),
            catalogue,
            epoch: one.epoch()?,
            inclination: two.real("inclination", 9, 16)?,
            node: two.real("right ascension of the node", 18, 25)?,
            eccentricity: two.fraction("eccentricity", 27, 33)?,
            perigee: two.real("argument of perigee", 35, 42)?,
            anomaly: two.real("mean anomaly", 44, 51)?,
            mean_motion: two.real("mean motion", 53, 63)?,
            drag: one.power("B*", 54, 61)?,
        });
    }
    Ok(sets)
}

/// Checks the length of a line and its checksum: the last digit is the sum of the other digits
/// modulo 10, where a minus sign counts as 1.
fn check_line(number: usize, line: &str) -> Result<(), ParseError> {
    if !line.is_ascii() {
        return Err(ParseError::at(number, "contains characters that are not ASCII"));
    }
    if line.len() < LENGTH {
        let message = format!("{} characters; allowed: {LENGTH}, the last of them the checksum", line.len());
        return Err(ParseError::at(number, message));
    }
    let bytes = line.as_bytes();
    let sum: u32 = bytes[..LENGTH - 1]
        .iter()
        .map(|byte| match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            b'-' => 1,
            _ => 0,
        })
        .sum();
    let (expected, found) = (sum % 10, bytes[LENGTH - 1]);
    if found != b'0' + expected as u8 {
        let message =
            format!("the checksum is {}, but the line's digits add up to {expected}", found as char);
        return Err(ParseError::at(number, message));
    }
    Ok(())
}

/// Parses a NORAD catalogue number. From 100000 on, its first two digits are encoded as a letter
/// ("Alpha-5"): A for 10 to Z for 33, without I and O.
fn catalogue(text: &str) -> Option<u64> {
    const LETTERS: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ";
    match text.chars().next()? {
        letter if letter.is_ascii_uppercase() => {
            let high = 10 + LETTERS.find(letter)? as u64;
            text[1..].parse::<u64>().ok().map(|low| high * 10_000 + low)
        }
        _ => text.parse().ok(),
    }
}

/// The columns of a line, counted from 1 as in the description of the format.
struct Fields<'a> {
    number: usize,
    line: &'a str,
}

impl Fields<'_> {
    fn text(&self, first: usize, last: usize) -> &str {
        self.line[first - 1..last].trim()
    }

    fn error(&self, field: &str, first: usize, last: usize) -> ParseError {
        let text = &self.line[first - 1..last];
        ParseError::at(
            self.number,
            format!("{field} in columns {first} to {last} is \"{text}\"; allowed: a number"),
        )
    }

    fn real(&self, field: &str, first: usize, last: usize) -> Result<f64, ParseError> {
        let number = self.text(first, last).parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.error(field, first, last))
    }

    /// Parses digits after an implied decimal point.
    fn fraction(&self, field: &str, first: usize, last: usize) -> Result<f64, ParseError> {
        let digits = self.text(first, last);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty();
        plain
            .then(|| format!("0.{digits}").parse().ok())
            .flatten()
            .ok_or_else(|| self.error(field, first, last))
    }

    /// Parses a field with an implied decimal point and a power of ten: `-12345-3` means
    /// -0.12345e-3.
    fn power(&self, field: &str, first: usize, last: usize) -> Result<f64, ParseError> {
        let error = || self.error(field, first, last);
        let text = self.text(first, last);
        let (sign, digits) = match text.as_bytes().first() {
            Some(b'-') => ("-", &text[1..]),
            Some(b'+') => ("", &text[1..]),
            _ => ("", text),
        };
        let (digits, exponent) = digits.split_at(digits.find(['-', '+']).ok_or_else(error)?);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error());
        }
        format!("{sign}0.{digits}e{exponent}").parse().map_err(|_| error())
    }

    /// Parses year and day. Years from 57 on are in the 20th century, because the first satellite
    /// was launched in 1957.
    fn epoch(&self) -> Result<Epoch, ParseError> {
        let year: u32 = self.text(19, 20).parse().map_err(|_| self.error("year", 19, 20))?;
        let year = if year < 57 { 2000 + year } else { 1900 + year };
        let day = self.real("day of the year", 21, 32)?;
        if !(1.0..367.0).contains(&day) {
            return Err(self.error("day of the year", 21, 32));
        }
        // Whole days are converted separately, so that the fraction keeps its precision.
        let start: Epoch =
            format!("{year}-01-01T00:00:00Z").parse().map_err(|_| self.error("year", 19, 20))?;
        Ok(start.after((day.trunc() - 1.0) * 86_400.0).after(day.fract() * 86_400.0))
    }
}
