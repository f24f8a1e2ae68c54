//! Random contacts: open and closed for exponentially distributed times, as in models of
//! opportunistic networks.
//!
//! ```toml
//! when = { kind = "random", open = "10 min", closed = "80 min" }
//! ```

use super::{Contacts, Opening};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random contacts: the link is closed first, then open and closed for exponentially distributed
/// times. Both directions are open at the same times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean length of a contact, the time for which the link is open.
    pub open: Span,
    /// Mean length of the time between two contacts.
    pub closed: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"open = "2 s", closed = "1 s""#;
}

impl Contacts for Config {
    fn openings(&self, _: &str, _: &str, mut stream: Stream) -> Box<dyn Iterator<Item = Opening> + Send> {
        let [open, closed] = [self.open, self.closed].map(Span::as_secs_f64);
        let mut now = Time::ZERO;
        Box::new(std::iter::from_fn(move || {
            let start = now + Span::from_secs_f64(stream.exponential(closed));
            let end = start + Span::from_secs_f64(stream.exponential(open)) + Span::from_nanos(1);
            // The next opening begins after the end of this one.
            now = end + Span::from_nanos(1);
            Some(Opening { start, end, rate: None, delay: None })
        }))
    }

    fn is_known(&self) -> bool {
        false
    }

    fn check(&self, _: &str, _: &str, problems: &mut Problems) {
        for (key, span) in [("open", self.open), ("closed", self.closed)] {
            if span == Span::ZERO {
                problems.add(key, "must be longer than 0 s");
            }
        }
    }
}
