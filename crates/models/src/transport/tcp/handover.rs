//! What an end of a connection may be told when the path below it changes to another link: two options for handovers.
//!
//! **Freeze-TCP** (T. Goff, J. Moronski, D. S. Phatak, V. Gupta, "Freeze-TCP: A true end-to-end TCP enhancement mechanism for
//! mobile environments", IEEE INFOCOM 2000, section 3): a receiver that sees a disconnection coming advertises a window of
//! zero, best a round-trip time before, so that nothing is under way when the link is gone; when it is connected again it
//! sends three copies of its last acknowledgment with the window as it was. The sender needs no change but holds to its
//! standard: while the window is closed it probes by the persist timer, sends nothing again, and keeps its congestion window.
//!
//! **Fast adaptation** (D. Li, K. Sleurs, E. Van Lil, A. Van de Capelle, "A fast adaptation mechanism for TCP vertical
//! handover", ATC 2008): at the handover the sender sets window and time-out for the new link, instead of keeping those of
//! the old one until losses and samples have moved them.
//!
//! Deviations: the paper's ends find rate and round-trip time of the new path out, by packets of which the receiver
//! measures the spacing, in about two round-trip times; here the sender is told both, which is the best that it could learn.
//! Linux goes on to send the first segment again while the window is closed, and takes it for lost; the sender here does
//! so only where no end is to be frozen.

use bentpipe_core::{Problems, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an end is told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Signal {
    /// The link will be gone: the receiving half closes its window.
    Freeze,
    /// The link is there again: the receiving half opens its window and says so three times.
    Thaw,
    /// The path is another: the sending half begins anew with the window and time-out that fit it.
    Adapt(Path),
}

/// A path as a sender that adapts to it knows it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// What it carries, headers included.
    pub rate: Rate,
    /// Its round-trip time.
    pub round_trip: Span,
}

/// What ends do at handovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnHandover {
    /// Receivers close their window before and open it afterwards (Freeze-TCP).
    Freeze,
    /// Senders set window and time-out for the new link (fast adaptation).
    Adapt,
}

/// Receivers keep their window closed for a while (Freeze-TCP).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    /// When the window closes: best a round-trip time before the link is gone.
    pub at: Span,
    /// When the link is there again.
    pub until: Span,
}

/// Senders set window and time-out for a new link (fast adaptation).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adapt {
    /// When the link is another.
    pub at: Span,
    /// What it carries.
    pub rate: Rate,
    /// The round-trip time over it.
    pub round_trip: Span,
}

/// The signals of a scenario's lists, in the order of time.
pub fn schedule(freeze: &[Freeze], adapt: &[Adapt]) -> Vec<(Time, Signal)> {
    let at = |span: Span| Time::ZERO + span;
    let frozen = freeze.iter().flat_map(|one| [(at(one.at), Signal::Freeze), (at(one.until), Signal::Thaw)]);
    let adapted = adapt.iter().map(|one| {
        let path = Path { rate: one.rate, round_trip: one.round_trip };
        (at(one.at), Signal::Adapt(path))
    });
    let mut all: Vec<_> = frozen.chain(adapted).collect();
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Adds what is wrong with the lists.
pub fn check(freeze: &[Freeze], adapt: &[Adapt], problems: &mut Problems) {
    let mut free = Span::ZERO;
    for (place, one) in freeze.iter().enumerate() {
        let wrong = [
            (
                one.at < free,
                "at",
                format!("{} is before the end of the one before; allowed: from {free} on", one.at),
            ),
            (
                one.until <= one.at,
                "until",
                format!("{} is out of range; allowed: later than at ({})", one.until, one.at),
            ),
        ];
        let wrong = wrong.into_iter().filter(|(wrong, ..)| *wrong);
        wrong.for_each(|(_, key, text)| at(problems, "freeze", place, key, text));
        free = one.until;
    }
    let mut last = Span::ZERO;
    for (place, one) in adapt.iter().enumerate() {
        if one.at < last {
            let text = format!("{} is before the one before; allowed: from {last} on", one.at);
            at(problems, "adapt", place, "at", text);
        }
        last = one.at;
        if one.round_trip == Span::ZERO {
            at(problems, "adapt", place, "round_trip", "0 s is out of range; allowed: above 0 s".to_owned());
        }
    }
}

/// Adds what is wrong with a key of one entry of a list.
fn at(problems: &mut Problems, list: &str, place: usize, key: &str, text: String) {
    problems.within(list, |problems| problems.within(place.to_string(), |problems| problems.add(key, text)));
}
