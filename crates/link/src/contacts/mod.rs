//! Contacts of a link: the intervals in which it is open, computed from the orbits or given by a
//! plan.
//!
//! Outside its contacts a link transmits nothing; packets wait in its queue. A packet whose last
//! bit has been sent when a contact ends is in flight and arrives. A packet whose transmission is
//! cut off by the end is lost ([`CUT_OFF`]) and not kept for the next contact, because a
//! transmitter does not look ahead. A contact can have its own rate and light time, which apply
//! from its start.
//!
//! An outage removes time from the contacts. Routing knows of announced outages ([`Config::plan`]),
//! and does not know of unannounced ones.

pub mod plan;
pub mod random;
pub mod windows;

use bentpipe_core::{kinds, Problems, Rate, Span, Stream, Time};
use bentpipe_dtn::contacts as dtn;
use bentpipe_stage::DropReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drop reason: the contact ended during the transmission of the packet.
pub const CUT_OFF: DropReason = DropReason::new("contact ended during the transmission");

kinds! {
    /// The source of a link's contacts.
    #[schemars(rename = "ContactKind")]
    pub enum Kind: Contacts {
        "plan" => Plan(plan::Config),
        "windows" => Windows(windows::Config),
        "random" => Random(random::Config),
    }
}

/// The contract of a kind of contacts, implemented by its `Config`.
pub trait Contacts {
    /// Returns the openings from `from` to `to` in order of time, without overlaps.
    fn openings(&self, from: &str, to: &str, stream: Stream) -> Box<dyn Iterator<Item = Opening> + Send>;

    /// Returns true if the openings are known in advance, so that routing can use them.
    fn is_known(&self) -> bool {
        true
    }

    /// Adds the problems for a link between two nodes.
    fn check(&self, from: &str, to: &str, problems: &mut Problems);

    /// Adds remarks on settings that are allowed but may be unintended. None by default.
    fn remark(&self, _remarks: &mut Problems) {}
}

/// An interval in which a link is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Time at which the link opens.
    pub start: Time,
    /// Time at which the link closes.
    pub end: Time,
    /// Rate during the opening; the link's rate if unset.
    pub rate: Option<Rate>,
    /// Light time during the opening; the link's delay if unset.
    pub delay: Option<Span>,
}

/// The contacts of a link: the intervals in which it is open. Packets wait outside of them.
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
    /// Source of the contacts: a contact plan, periodic windows, or random times.
    pub when: Kind,
    /// Intervals that are removed from the contacts. Default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
}

/// An interval in which a link fails, even during a contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Start of the interval, counted from the start of the run.
    pub start: Span,
    /// End of the interval, counted from the start of the run.
    pub end: Span,
    /// True if routing knows of the outage in advance. Default false.
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

    /// Returns the contacts from `from` to `to` up to `until` that are known in advance; `None` if
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

    /// Adds remarks on settings that are allowed but may be unintended.
    pub fn remark(&self, remarks: &mut Problems) {
        remarks.within("when", |remarks| self.when.remark(remarks));
    }

    /// Adds the problems for a link between two nodes.
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

/// Returns the wanted outages as intervals in order of time.
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
    /// The remainder of an opening after an outage.
    rest: Option<Opening>,
}

impl Iterator for Openings {
    type Item = Opening;

    fn next(&mut self) -> Option<Opening> {
        loop {
            let mut opening = self.rest.take().or_else(|| self.inner.next())?;
            // The first outage that overlaps the opening.
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

/// The position of a link in its openings.
pub(super) struct ContactState {
    openings: Openings,
    /// The current or next opening, if any.
    pub opening: Option<Opening>,
    pub is_open: bool,
}

/// A change of a link's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateChange {
    /// The link opens, with this rate and light time.
    Opens(Opening),
    /// The link closes until its next opening.
    Closes,
}

impl ContactState {
    pub fn new(mut openings: Openings) -> ContactState {
        let opening = openings.next();
        ContactState { openings, opening, is_open: false }
    }

    /// Returns the time of the next opening or closing, if any.
    pub fn next(&self) -> Option<Time> {
        self.opening.map(|opening| if self.is_open { opening.end } else { opening.start })
    }

    /// Returns the time of the next opening, or the end of time if there is none.
    pub fn opens(&self) -> Time {
        self.opening.map_or(NEVER, |opening| opening.start)
    }

    /// Returns the change that is due at `now`, if any.
    pub fn turn(&mut self, now: Time) -> Option<StateChange> {
        let opening = self.opening?;
        if self.next()? > now {
            return None;
        }
        self.is_open = !self.is_open;
        if self.is_open {
            return Some(StateChange::Opens(opening));
        }
        self.opening = self.openings.next();
        Some(StateChange::Closes)
    }
}

/// A time later than any run, and early enough to add spans.
const NEVER: Time = Time::from_nanos(u64::MAX / 2);

/// A contact plan in one of the field's formats, as a scenario value: the text, or the file that
/// contains it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanText {
    text: String,
    plan: dtn::Plan,
    /// The reasons for the contacts that were left out of the plan because they are impossible.
    skipped: Vec<dtn::ParseError>,
}

impl PlanText {
    /// Reads a plan in any of its formats.
    ///
    /// # Errors
    /// Returns the problems, line by line.
    pub fn parse(text: &str) -> Result<PlanText, String> {
        let (plan, skipped) = dtn::read::plan_skipping_impossible(text).map_err(|wrong| listed(&wrong))?;
        Ok(PlanText { text: text.to_owned(), plan, skipped })
    }

    /// Adds the contacts that do not end after their start as problems, unless the scenario skips
    /// them.
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

/// Returns the first faulty lines of a plan, as text.
fn listed(wrong: &[dtn::ParseError]) -> String {
    const MAX_LISTED: usize = 5;
    let mut shown: Vec<String> = wrong.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if wrong.len() > MAX_LISTED {
        shown.push(format!("and {} more", wrong.len() - MAX_LISTED));
    }
    shown.join("; ")
}

bentpipe_core::document!(PlanText, "ContactPlan", "a contact plan");
