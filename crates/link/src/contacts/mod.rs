//! Contacts of a link: the intervals in which it is open, as its node sees the other one rise and
//! set, or as a plan says.
//!
//! Outside its contacts a link transmits nothing; packets wait in its queue. A packet whose last
//! bit has left when a contact ends is in flight and arrives; a packet whose transmission the end
//! cuts off is lost ([`CUT_OFF`]), since a transmitter does not look ahead: it is not kept for the
//! next contact. A contact can have a rate and a light time of its own, which hold from its start.
//!
//! An outage takes its time away from the contacts. If it is announced, those who plan with the
//! contacts know of it ([`Config::plan`]); an unannounced one surprises them.

pub mod plan;
pub mod random;
pub mod windows;

use bentpipe_core::{kinds, Problems, Rate, Span, Stream, Time};
use bentpipe_dtn::contacts as dtn;
use bentpipe_stage::DropReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The contact ended while the packet was transmitted.
pub const CUT_OFF: DropReason = DropReason::new("contact ended during the transmission");

kinds! {
    /// How the contacts of a link are determined.
    #[schemars(rename = "ContactKind")]
    pub enum Kind: Contacts {
        "plan" => Plan(plan::Config),
        "windows" => Windows(windows::Config),
        "random" => Random(random::Config),
    }
}

/// What the `Config` of a kind of contacts can do.
pub trait Contacts {
    /// Returns the openings from `from` to `to` in order of time, each after the end of the one
    /// before.
    fn openings(&self, from: &str, to: &str, stream: Stream) -> Box<dyn Iterator<Item = Opening> + Send>;

    /// Returns true if the openings can be known in advance: those that routing plans with.
    fn is_known(&self) -> bool {
        true
    }

    /// Adds what is wrong for a link between two nodes.
    fn check(&self, from: &str, to: &str, problems: &mut Problems);

    /// Adds what is allowed and may not be intended. Nothing by default.
    fn remark(&self, _remarks: &mut Problems) {}
}

/// An interval in which a link is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// When it opens.
    pub start: Time,
    /// When it closes.
    pub end: Time,
    /// Its rate, if it has one of its own.
    pub rate: Option<Rate>,
    /// Its light time, if it has one of its own.
    pub delay: Option<Span>,
}

/// The intervals in which a link is open. Outside of them its packets wait.
///
/// ```toml
/// [link.contacts]
/// when = { kind = "windows", windows = [["10 min", "25 min"]], repeat = "2 h" }
/// outages = [{ start = "4 h", end = "5 h" }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Contacts")]
pub struct Config {
    /// When the link is open: by a contact plan, in periodic windows, or for random times.
    pub when: Kind,
    /// Intervals that are taken away from the contacts. None by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
}

/// An interval in which a link fails during its contacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Start of the interval, counted from the start of the run.
    pub start: Span,
    /// End of the interval, counted from the start of the run.
    pub end: Span,
    /// True if routing knows of it in advance; off by default.
    #[serde(default)]
    pub announced: bool,
}

impl Config {
    /// Returns the openings from `from` to `to`, without outages.
    pub fn openings(&self, from: &str, to: &str, stream: Stream) -> Openings {
        Openings {
            inner: self.when.openings(from, to, stream),
            outages: cuts(&self.outages, |_| true),
            rest: None,
        }
    }

    /// Returns the contacts from `from` to `to` up to `until` that can be known in advance. None if
    /// they are random.
    pub fn known(&self, from: &str, to: &str, until: Time) -> Option<Vec<Opening>> {
        if !self.when.is_known() {
            return None;
        }
        let stream = bentpipe_core::Streams::new(0, 0).stream("nothing is drawn");
        let outages = cuts(&self.outages, |outage| outage.announced);
        let openings = Openings { inner: self.when.openings(from, to, stream), outages, rest: None };
        Some(openings.take_while(|opening| opening.start < until).collect())
    }

    /// Adds what is allowed and may not be intended.
    pub fn remark(&self, remarks: &mut Problems) {
        remarks.within("when", |remarks| self.when.remark(remarks));
    }

    /// Adds what is wrong for a link between two nodes.
    pub fn check(&self, from: &str, to: &str, problems: &mut Problems) {
        problems.within("when", |problems| self.when.check(from, to, problems));
        for (index, outage) in self.outages.iter().enumerate() {
            if outage.end <= outage.start {
                problems.within("outages", |problems| {
                    problems.add(
                        &index.to_string(),
                        format!(
                            "ends at {} and starts at {}; allowed: an end after its start",
                            outage.end, outage.start
                        ),
                    );
                });
            }
        }
    }
}

/// Outages as intervals in order of time.
fn cuts(outages: &[Outage], wanted: impl Fn(&Outage) -> bool) -> Vec<(Time, Time)> {
    let wanted = outages.iter().filter(|outage| wanted(outage));
    let mut cuts: Vec<_> =
        wanted.map(|outage| (Time::ZERO + outage.start, Time::ZERO + outage.end)).collect();
    cuts.sort();
    cuts
}

/// Openings without outages, in order of time.
pub struct Openings {
    inner: Box<dyn Iterator<Item = Opening> + Send>,
    outages: Vec<(Time, Time)>,
    /// What is left of an opening behind an outage.
    rest: Option<Opening>,
}

impl Iterator for Openings {
    type Item = Opening;

    fn next(&mut self) -> Option<Opening> {
        loop {
            let mut opening = self.rest.take().or_else(|| self.inner.next())?;
            // The first outage that reaches into the opening.
            let outage =
                self.outages.iter().find(|(start, end)| *start < opening.end && *end > opening.start);
            let Some(&(start, end)) = outage else { return Some(opening) };
            if end < opening.end {
                self.rest = Some(Opening { start: end, ..opening });
            }
            if start > opening.start {
                opening.end = start;
                return Some(opening);
            }
        }
    }
}

/// Where a link stands in its openings.
pub(super) struct Standing {
    openings: Openings,
    /// The opening that holds or comes next, if any.
    pub opening: Option<Opening>,
    pub is_open: bool,
}

/// What happens to a link at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It opens with this rate and light time.
    Opens(Opening),
    /// It closes, until it opens again.
    Closes,
}

impl Standing {
    pub fn new(mut openings: Openings) -> Standing {
        let opening = openings.next();
        Standing { openings, opening, is_open: false }
    }

    /// When the link opens or closes next.
    pub fn next(&self) -> Option<Time> {
        self.opening.map(|opening| if self.is_open { opening.end } else { opening.start })
    }

    /// When the link opens next, at the end of time if never.
    pub fn opens(&self) -> Time {
        self.opening.map_or(NEVER, |opening| opening.start)
    }

    /// Returns the turn that is due at `now`, if any.
    pub fn turn(&mut self, now: Time) -> Option<Turn> {
        let opening = self.opening?;
        if self.next()? > now {
            return None;
        }
        self.is_open = !self.is_open;
        if self.is_open {
            return Some(Turn::Opens(opening));
        }
        self.opening = self.openings.next();
        Some(Turn::Closes)
    }
}

/// Later than any run, and early enough that spans can be added.
const NEVER: Time = Time::from_nanos(u64::MAX / 2);

/// A plan of the field as a value of a scenario: the text, or the file that holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanText {
    text: String,
    plan: dtn::Plan,
    /// The reasons for the contacts that the plan does not have because they are impossible.
    skipped: Vec<dtn::Wrong>,
}

impl PlanText {
    /// Reads a plan in any of its formats.
    ///
    /// # Errors
    /// What is wrong, line by line.
    pub fn parse(text: &str) -> Result<PlanText, String> {
        let (plan, skipped) = dtn::read::possible(text).map_err(|wrong| listed(&wrong))?;
        Ok(PlanText { text: text.to_owned(), plan, skipped })
    }

    /// Adds the contacts that do not end after their start, unless the scenario says that they are
    /// skipped.
    pub fn check(&self, skip_impossible: bool, problems: &mut Problems) {
        if !skip_impossible && !self.skipped.is_empty() {
            let lines = listed(&self.skipped);
            problems.add("plan", format!("{lines}; skip_impossible = true skips such contacts"));
        }
    }

    /// Adds the number of skipped contacts, if any.
    pub fn remark(&self, remarks: &mut Problems) {
        if !self.skipped.is_empty() {
            remarks.add("plan", format!("has {} impossible contacts, which are skipped", self.skipped.len()));
        }
    }

    /// Returns the contact plan as it was read and checked.
    pub fn plan(&self) -> &dtn::Plan {
        &self.plan
    }
}

/// Returns the first lines that are wrong with a plan.
fn listed(wrong: &[dtn::Wrong]) -> String {
    const MOST: usize = 5;
    let mut shown: Vec<String> = wrong.iter().take(MOST).map(ToString::to_string).collect();
    if wrong.len() > MOST {
        shown.push(format!("and {} more", wrong.len() - MOST));
    }
    shown.join("; ")
}

bentpipe_core::document!(PlanText, "ContactPlan", "a contact plan");
