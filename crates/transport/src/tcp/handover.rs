//! Signals to the ends of a connection about handovers, changes of the path to another link. There
//! are two options:
//!
//! **Freeze-TCP** (T. Goff, J. Moronski, D. S. Phatak, V. Gupta, "Freeze-TCP: A true end-to-end TCP
//! enhancement mechanism for mobile environments", IEEE INFOCOM 2000, section 3): a receiver that
//! foresees a disconnection advertises a window of zero, ideally one round-trip time before, so
//! that nothing is in flight when the link goes down. After the reconnection it sends three copies
//! of its last acknowledgment with the original window. The sender needs no change but must follow
//! its standard: while the window is closed it probes by the persist timer, retransmits nothing,
//! and keeps its congestion window.
//!
//! **Fast adaptation** (D. Li, K. Sleurs, E. Van Lil, A. Van de Capelle, "A fast adaptation
//! mechanism for TCP vertical handover", ATC 2008): at the handover the sender sets window and
//! time-out for the new link, instead of keeping those of the old link until losses and samples
//! have changed them.
//!
//! Deviations: in the paper the ends measure rate and round-trip time of the new path, from the
//! spacing of packets at the receiver, in about two round-trip times; here the sender knows both,
//! the best possible result of the measurement. While the window is closed, Linux continues to
//! retransmit the first segment and considers it lost. The sender here does so only if no end is
//! frozen.

use bentpipe_core::{Problems, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signal to an end of a connection about a handover.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Signal {
    /// The link will go down: the receiving half closes its window.
    Freeze,
    /// The link is up again: the receiving half opens its window and announces it three times.
    Thaw,
    /// The path has changed: the sending half restarts with the window and time-out that fit it.
    Adapt(Path),
}

/// A path as known to a sender that adapts to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// Rate of the path, headers included.
    pub rate: Rate,
    /// Round-trip time of the path.
    pub round_trip: Span,
}

/// The reaction of the ends of a connection to handovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnHandover {
    /// Receivers close their window before the handover and open it afterwards (Freeze-TCP).
    Freeze,
    /// Senders set window and time-out for the new link (fast adaptation).
    Adapt,
}

/// A disconnection during which receivers keep their window closed (Freeze-TCP).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    /// Time at which the window closes, ideally one round-trip time before the link goes down.
    pub at: Span,
    /// Time at which the link is up again and the window opens; later than `at`.
    pub until: Span,
}

/// A change of the path for which senders set window and time-out at once (fast adaptation).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adapt {
    /// Time from the start of the run at which the path changes.
    pub at: Span,
    /// Rate of the bottleneck of the new path.
    pub rate: Rate,
    /// Round-trip time of the new path; longer than 0 s.
    pub round_trip: Span,
}

/// Returns the signals from the scenario's lists, in order of time.
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

/// Adds the problems of the lists.
pub fn check(freeze: &[Freeze], adapt: &[Adapt], problems: &mut Problems) {
    let mut free = Span::ZERO;
    for (place, one) in freeze.iter().enumerate() {
        let wrong = [
            (
                one.at < free,
                "at",
                format!("{} is before the end of the previous entry; allowed: from {free} on", one.at),
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
            let text = format!("{} is before the previous entry; allowed: from {last} on", one.at);
            at(problems, "adapt", place, "at", text);
        }
        last = one.at;
        if one.round_trip == Span::ZERO {
            at(problems, "adapt", place, "round_trip", "must be longer than 0 s".to_owned());
        }
    }
}

/// Adds a problem of a key in one entry of a list.
fn at(problems: &mut Problems, list: &str, place: usize, key: &str, text: String) {
    problems.within(list, |problems| problems.within(place.to_string(), |problems| problems.add(key, text)));
}
