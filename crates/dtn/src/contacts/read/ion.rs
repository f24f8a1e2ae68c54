//! Plans as commands of ION's ionadmin (ionrc(5)).
//!
//! The command `a contact START STOP FROM TO RATE [CONFIDENCE]` adds a contact with a rate in
//! byte/s. The command `a range START STOP NODE NODE LIGHTTIME` sets the light time in seconds. If
//! the first node of a range has the lower number, the range applies to both directions, unless
//! another range sets the opposite direction. All times of a file must be either `+SECONDS` from
//! the reference time or `yyyy/mm/dd-hh:mm:ss`, which counts from the earliest day of the file. A
//! contact is split where its light time changes. All other commands are ignored.

use super::Content;
use crate::contacts::number::{nanoseconds, rate, BitRate};
use crate::contacts::{Entry, ParseError};
use bentpipe_core::{Span, Time};
use std::collections::BTreeMap;

/// Returns true if a line adds a contact or a range.
pub(super) fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("a") && matches!(words.next(), Some("contact" | "range"))
}

struct Interval {
    line: usize,
    start: u64,
    end: u64,
    from: String,
    to: String,
}

struct Times {
    /// True if times are relative, false if they are dates, with the line of the first time; `None`
    /// before the first time.
    relative: Option<(bool, usize)>,
    /// Midnight at the start of the earliest day, in seconds.
    reference: u64,
}

pub(super) fn read(text: &str) -> Result<Content, Vec<ParseError>> {
    let mut errors = Vec::new();
    let mut contacts: Vec<(Interval, BitRate)> = Vec::new();
    let mut ranges: Vec<(Interval, u64)> = Vec::new();
    let commands = || (1..).zip(text.lines()).filter(|(_, line)| is_command(line.trim()));
    let days = commands().flat_map(|(_, line)| line.split_whitespace().skip(2).take(2)).filter_map(day);
    let mut times = Times { relative: None, reference: days.min().unwrap_or(0) };
    for (line, command) in commands() {
        let command = command.split('#').next().unwrap_or_default();
        let words: Vec<&str> = command.split_whitespace().collect();
        let said = interval(line, &words, &mut times).and_then(|interval| {
            if words[1] == "contact" {
                contacts.push((interval, rate("the rate", words[6], 8)?));
            } else {
                ranges.push((interval, nanoseconds("the light time", words[6])?));
            }
            Ok(())
        });
        if let Err(said) = said {
            errors.push(ParseError::at(line, said));
        }
    }
    let mut entries = Vec::new();
    if errors.is_empty() {
        disagreements(&ranges, &mut errors);
        let mut pairs = Pairs::new();
        for range in &ranges {
            pairs.entry((&range.0.from, &range.0.to)).or_default().push(range);
        }
        for (contact, rate) in &contacts {
            match split(contact, *rate, &pairs) {
                Ok(parts) => entries.extend(parts),
                Err(said) => errors.push(ParseError::at(contact.line, said)),
            }
        }
    }
    match errors.is_empty() {
        true => Ok(Content { entries, nodes: None }),
        false => Err(errors),
    }
}

fn interval(line: usize, words: &[&str], times: &mut Times) -> Result<Interval, String> {
    let form = if words[1] == "contact" { "RATE [CONFIDENCE]" } else { "LIGHTTIME" };
    let most = if words[1] == "contact" { 8 } else { 7 };
    if !(7..=most).contains(&words.len()) {
        return Err(format!(
            "has {} words; allowed: a {} START STOP NODE NODE {form}",
            words.len(),
            words[1]
        ));
    }
    let node = |text: &str| {
        let number =
            text.parse::<u64>().map_err(|_| format!("the node is \"{text}\"; allowed: its number"))?;
        Ok::<_, String>(number.to_string())
    };
    let (start, end) = (times.read(line, words[2])?, times.read(line, words[3])?);
    // Callers refuse or skip contacts that do not end after their start.
    if end <= start && words[1] == "range" {
        return Err(format!(
            "ends at {} and starts at {}; allowed: an end after its start",
            words[3], words[2]
        ));
    }
    Ok(Interval { line, start, end, from: node(words[4])?, to: node(words[5])? })
}

impl Times {
    fn read(&mut self, line: usize, text: &str) -> Result<u64, String> {
        let relative = text.starts_with('+');
        match self.relative {
            Some((known, other)) if known != relative => {
                return Err(format!(
                    "mixes +SECONDS with dates, as in line {other}; allowed: one of both in a file"
                ));
            }
            _ => self.relative = self.relative.or(Some((relative, line))),
        }
        if relative {
            return nanoseconds("the time", &text[1..]);
        }
        let problem = || format!("the time is \"{text}\"; allowed: +SECONDS, or yyyy/mm/dd-hh:mm:ss");
        let clock = text.split_once('-').ok_or_else(problem)?.1;
        let parts: Vec<u64> = clock.split(':').map_while(|part| part.parse().ok()).collect();
        match (day(text), &parts[..]) {
            (Some(day), &[hours @ 0..=23, minutes @ 0..=59, seconds @ 0..=60])
                if clock.split(':').count() == 3 =>
            {
                Ok((day - self.reference + hours * 3600 + minutes * 60 + seconds) * 1_000_000_000)
            }
            _ => Err(problem()),
        }
    }
}

/// Returns midnight at the start of a date, in seconds since the start of the year 1 of the
/// proleptic Gregorian calendar.
fn day(text: &str) -> Option<u64> {
    let date = text.split_once('-')?.0;
    let mut parts = date.split('/').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + u64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let valid = (1970..10_000).contains(&year) && (1..=12).contains(&month) && parts.next().is_none();
    if !valid || !(1..=lengths[month as usize - 1]).contains(&day) {
        return None;
    }
    let before = year - 1;
    let days = before * 365 + before / 4 - before / 100 + before / 400;
    let days = days + lengths[..month as usize - 1].iter().sum::<u64>() + day - 1;
    Some(days * 86_400)
}

/// The ranges from one node to another, in the order of the file.
type Pairs<'a> = BTreeMap<(&'a str, &'a str), Vec<&'a (Interval, u64)>>;

/// Adds an error for each range that overlaps a range in the same direction with another light
/// time.
fn disagreements(ranges: &[(Interval, u64)], errors: &mut Vec<ParseError>) {
    let mut pairs = Pairs::new();
    for range in ranges {
        let (late, delay) = range;
        let known = pairs.entry((&late.from, &late.to)).or_default();
        let other = known
            .iter()
            .find(|(early, other)| early.start < late.end && late.start < early.end && other != delay);
        if let Some((early, _)) = other {
            let (from, to, line) = (&late.from, &late.to, early.line);
            errors.push(ParseError::at(
                late.line,
                format!("overlaps the range in line {line} from {from} to {to} with another light time; allowed: one at a time"),
            ));
        }
        known.push(range);
    }
}

/// Splits a contact where its light time changes.
fn split(contact: &Interval, rate: BitRate, pairs: &Pairs<'_>) -> Result<Vec<Entry>, String> {
    let (from, to) = (contact.from.as_str(), contact.to.as_str());
    let smaller_first = to.parse::<u64>().ok() < from.parse::<u64>().ok();
    let of = |from, to| pairs.get(&(from, to)).map_or(&[][..], Vec::as_slice);
    let given = of(from, to);
    // If the first node of a range has the lower number, the range also applies to the opposite
    // direction.
    let implied = if smaller_first { of(to, from) } else { &[] };
    let at =
        |time: u64| given.iter().chain(implied).find(|range| range.0.start <= time && time < range.0.end);
    let entry = |start: u64, end: u64, delay: u64| Entry {
        line: contact.line,
        id: None,
        from: from.to_owned(),
        to: to.to_owned(),
        start: Time::from_nanos(start),
        end: Time::from_nanos(end),
        rate,
        delay: Span::from_nanos(delay),
    };
    if contact.end <= contact.start {
        return Ok(vec![entry(contact.start, contact.end, 0)]);
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut time = contact.start;
    while time < contact.end {
        let Some((_, delay)) = at(time) else {
            let seconds = crate::contacts::number::seconds(Time::from_nanos(time));
            return Err(format!("no range gives the light time from {from} to {to} at {seconds} s; allowed: a range for the whole contact"));
        };
        let edges = given.iter().chain(implied).flat_map(|(range, _)| [range.start, range.end]);
        let next = edges.filter(|edge| *edge > time).min().unwrap_or(u64::MAX).min(contact.end);
        match entries.last_mut() {
            Some(last) if last.delay.as_nanos() == *delay => last.end = Time::from_nanos(next),
            _ => entries.push(entry(time, next, *delay)),
        }
        time = next;
    }
    Ok(entries)
}
