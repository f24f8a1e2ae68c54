//! The traffic contract of a connection, and the policer (usage parameter control) that enforces
//! it: ITU-T I.371, ATM Forum Traffic Management 4.0, sections 4.3 and 4.5.
//!
//! | category | conforming cells | other cells |
//! | --- | --- | --- |
//! | `ubr` | GCRA(1/PCR, CDVT), if a peak is given | discarded or tagged |
//! | `cbr` | GCRA(1/PCR, CDVT) | discarded or tagged |
//! | `vbr` | GCRA(1/PCR, CDVT) and GCRA(1/SCR, BT + CDVT) | see below |
//! | `abr` | all: the source follows its allowed cell rate ([`super::abr`]) | - |
//!
//! GCRA is the algorithm of [`super::gcra`], PCR the peak cell rate, CDVT the cell delay variation
//! tolerance, SCR the sustainable cell rate, and MBS the maximum burst size. The burst tolerance is
//! BT = (MBS - 1) (1/SCR - 1/PCR). With `vbr`, cells above the peak rate are discarded, and cells
//! above the sustainable rate are discarded or tagged.
//!
//! A tagged cell has low priority (CLP = 1), so buffers drop it first. A cell that does not conform
//! to both algorithms is not counted by either. The only exception is a tagged cell of `vbr`, which
//! counts for the peak rate.

use super::abr;
use super::cell::CELL_BITS;
use super::gcra::Gcra;
use bentpipe_core::{Count, Problems, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The traffic contract of the connection in each direction: service category, cell rates, and the
/// treatment of cells that exceed them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "AtmContract")]
pub struct Config {
    /// Service category: `"ubr"` (unspecified bit rate, the default), `"cbr"` (constant bit rate,
    /// needs `peak`), `"vbr"` (variable bit rate, needs `peak`, `sustainable` and `burst`) or
    /// `"abr"` (available bit rate, needs `peak`).
    pub category: Category,
    /// Peak cell rate (PCR), in bit/s of whole cells of 53 bytes. Optional with `ubr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// Sustainable cell rate (SCR), in bit/s of whole cells; less than `peak`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sustainable: Option<Rate>,
    /// Maximum burst size (MBS): maximum number of consecutive cells at the peak rate; at least 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Count<2, 1_000_000>>,
    /// Cell delay variation tolerance (CDVT): the maximum time by which a cell may be early; 0 s by
    /// default.
    pub tolerance: Span,
    /// Treatment of a cell that exceeds the contract: `"discard"` (the default) or `"tag"`, which
    /// gives it low priority. A cell of `vbr` above the peak rate is always discarded.
    pub excess: Excess,
    /// True if the sender's adapter delays cells so that all of them conform; false by default.
    /// Sources of `abr` always pace their cells.
    pub shaping: bool,
    /// Parameters of ABR flow control; those of the standard by default. Only with `abr`. They
    /// cannot change while the network runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abr: Option<abr::Config>,
}

/// Service category of an ATM connection. It determines how cells are policed, and the priority of
/// cells at the ports of switches: CBR first, then VBR, ABR and UBR. Each category has its own
/// buffer at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AtmCategory")]
pub enum Category {
    /// Unspecified bit rate, with at most a peak rate.
    #[default]
    Ubr,
    /// Constant bit rate, with a peak rate.
    Cbr,
    /// Variable bit rate, with a peak rate, a sustainable rate and a burst.
    Vbr,
    /// Available bit rate: the network tells sources the rate at which they may send, up to a peak
    /// rate.
    Abr,
}

impl Category {
    /// Number of service categories, and of their priorities.
    pub const COUNT: usize = 4;

    /// Returns the priority at a port: 0 for the category that is served first.
    pub fn priority(self) -> usize {
        match self {
            Category::Cbr => 0,
            Category::Vbr => 1,
            Category::Abr => 2,
            Category::Ubr => 3,
        }
    }
}

/// The treatment of a cell that exceeds the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AtmExcess")]
pub enum Excess {
    /// Discards the cell that exceeds the contract.
    #[default]
    Discard,
    /// Gives the cell low priority (CLP = 1), so that buffers drop it first.
    Tag,
}

impl Config {
    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        let name = match self.category {
            Category::Ubr => "ubr",
            Category::Cbr => "cbr",
            Category::Vbr => "vbr",
            Category::Abr => "abr",
        };
        if self.category != Category::Ubr && self.peak.is_none() {
            problems.add("peak", format!("{name} needs it: the peak cell rate, such as \"1 Mbit/s\""));
        }
        for (key, given) in [("sustainable", self.sustainable.is_some()), ("burst", self.burst.is_some())] {
            match (given, self.category == Category::Vbr) {
                (true, false) => problems.add(key, format!("{name} has none; allowed: only with vbr")),
                (false, true) => problems.add(key, "vbr needs it"),
                _ => {}
            }
        }
        if let (Some(peak), Some(sustainable)) = (self.peak, self.sustainable) {
            if sustainable >= peak {
                problems.add(
                    "sustainable",
                    format!("{sustainable} is not below the peak rate; allowed: below {peak}"),
                );
            }
        }
        match (&self.abr, self.category == Category::Abr) {
            (Some(_), false) => problems.add("abr", format!("{name} has none; allowed: only with abr")),
            (Some(abr), true) => problems.within("abr", |problems| abr.check(self.peak, problems)),
            _ => {}
        }
        if self.category == Category::Abr && self.excess != Excess::Discard {
            problems.add("excess", "no cell of abr exceeds its contract; allowed: with cbr, vbr and ubr");
        }
        if self.category == Category::Abr && self.tolerance > Span::ZERO {
            problems.add("tolerance", "cells of abr are not policed; allowed: with cbr, vbr and ubr");
        }
        if self.shaping && self.peak.is_none() {
            problems.add("shaping", "there is no rate to shape to; allowed: with peak, or false");
        }
    }

    /// Returns the source of an ABR connection; `None` for other categories.
    pub fn source(&self) -> Option<abr::Source> {
        let peak = self.peak.filter(|_| self.category == Category::Abr)?;
        Some(abr::Source::new(&self.flow_control(), peak))
    }

    /// Returns the parameters of ABR flow control.
    pub fn flow_control(&self) -> abr::Config {
        self.abr.clone().unwrap_or_default()
    }

    /// Returns the policer; `None` if the contract has no rate, or if its cells always conform.
    pub fn policer(&self) -> Option<Policer> {
        if self.category == Category::Abr {
            return None;
        }
        let time = |rate: Rate| rate.span_of(CELL_BITS / 8);
        let peak = time(self.peak?);
        let sustained = self.sustainable.zip(self.burst).map(|(rate, burst)| {
            let least = time(rate);
            Gcra::new(least, least.saturating_sub(peak) * (burst.value() - 1) + self.tolerance)
        });
        Some(Policer { peak: Gcra::new(peak, self.tolerance), sustained, excess: self.excess })
    }

    /// Returns the shaper, which uses the algorithms of the policer without tolerance; `None`
    /// without shaping.
    pub fn shaper(&self) -> Option<Policer> {
        let strict = Config { tolerance: Span::ZERO, ..self.clone() };
        self.shaping.then(|| strict.policer()).flatten()
    }
}

/// The decision of a policer about a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The cell conforms to the contract and passes unchanged.
    Conforms,
    /// The cell continues with low priority.
    Tagged,
    /// The cell does not conform and is discarded.
    Discarded,
}

/// The algorithms of a contract.
#[derive(Clone, Debug)]
pub struct Policer {
    peak: Gcra,
    sustained: Option<Gcra>,
    excess: Excess,
}

impl Policer {
    /// Returns the earliest time at which the next cell conforms to all rates.
    pub fn earliest(&self) -> Time {
        self.sustained.iter().fold(self.peak.earliest(), |time, gcra| time.max(gcra.earliest()))
    }

    /// Returns the verdict on a cell that arrives at `now`.
    pub fn arrive(&mut self, now: Time) -> Verdict {
        let (peak, sustained) =
            (self.peak.conforms(now), self.sustained.as_ref().is_none_or(|gcra| gcra.conforms(now)));
        if peak && sustained {
            self.peak.count(now);
            self.sustained.iter_mut().for_each(|gcra| gcra.count(now));
            return Verdict::Conforms;
        }
        match self.excess {
            Excess::Tag if self.sustained.is_none() => Verdict::Tagged,
            Excess::Tag if peak => {
                // The peak rate applies to all cells, including tagged ones (VBR.3).
                self.peak.count(now);
                Verdict::Tagged
            }
            _ => Verdict::Discarded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config(json: &str) -> Config {
        serde_json::from_str(json).unwrap()
    }

    /// Returns the verdicts on back-to-back cells on a line of 424 Mbit/s, which carries one cell
    /// per microsecond.
    fn verdicts(config: &Config, cells: u64) -> Vec<Verdict> {
        let mut policer = config.policer().unwrap();
        (0..cells).map(|slot| policer.arrive(Time::ZERO + Span::from_micros(slot))).collect()
    }

    #[test]
    fn a_burst_of_the_maximum_size_conforms_and_the_next_cell_does_not() {
        // The contract allows one cell in 2 us at the peak rate, one in 10 us at the sustainable
        // rate, and bursts of 5 cells.
        let json = r#"{"category": "vbr", "peak": "212 Mbit/s", "sustainable": "42400 kbit/s", "burst": 5, "tolerance": "0 s"}"#;
        let contract = config(json);
        let verdicts: Vec<bool> =
            verdicts(&contract, 60).iter().map(|one| *one == Verdict::Conforms).collect();
        let conforming: Vec<usize> = (0..60).filter(|slot| verdicts[*slot]).collect();
        // Five cells conform at the peak rate, from 0 to 8 us. The sixth cell conforms at 18 us,
        // when TAT is 50 us and the tolerance 32 us.
        assert_eq!(conforming, [0, 2, 4, 6, 8, 18, 28, 38, 48, 58]);
    }

    #[test]
    fn excess_is_discarded_or_tagged() {
        let cbr = |excess| {
            config(&format!(
                r#"{{"category": "cbr", "peak": "212 Mbit/s", "tolerance": "0 s", "excess": "{excess}"}}"#
            ))
        };
        use Verdict::{Conforms, Discarded, Tagged};
        assert_eq!(verdicts(&cbr("discard"), 4), [Conforms, Discarded, Conforms, Discarded]);
        assert_eq!(verdicts(&cbr("tag"), 4), [Conforms, Tagged, Conforms, Tagged]);
        let vbr = config(
            r#"{"category": "vbr", "peak": "212 Mbit/s", "sustainable": "42400 kbit/s", "burst": 2, "tolerance": "0 s", "excess": "tag"}"#,
        );
        assert_eq!(verdicts(&vbr, 6), [Conforms, Discarded, Conforms, Discarded, Tagged, Discarded]);
        assert!(config("{}").policer().is_none());
    }

    /// Returns the verdicts of two continuous-state leaky buckets, one per rate of a `vbr`
    /// contract. Each bucket leaks one unit per nanosecond. A conforming cell adds an increment to
    /// both buckets, and a tagged cell only to the bucket of the peak rate.
    fn buckets(increments: [u64; 2], limits: [u64; 2], tag: bool, arrivals: &[u64]) -> Vec<Verdict> {
        let (mut content, mut last) = ([0u64; 2], [None; 2]);
        let decide = |at: &u64| {
            let left =
                [0, 1].map(|one: usize| last[one].map_or(0, |last| content[one].saturating_sub(at - last)));
            let conforms = [0, 1].map(|one: usize| left[one] <= limits[one]);
            let (verdict, counted) = match conforms {
                [true, true] => (Verdict::Conforms, 2),
                [true, false] if tag => (Verdict::Tagged, 1),
                _ => (Verdict::Discarded, 0),
            };
            for one in 0..counted {
                (content[one], last[one]) = (left[one] + increments[one], Some(*at));
            }
            verdict
        };
        arrivals.iter().map(decide).collect()
    }

    proptest! {
        /// Both forms of the algorithm agree on every cell of a contract with two rates. In every
        /// window w, the number of conforming cells stays below both arrival curves 1 + (w + tau) /
        /// T. Tagged and conforming cells together stay below the arrival curve of the peak rate.
        #[test]
        fn a_contract_of_two_rates_is_two_leaky_buckets(
            peak in 2u64..50, more in 1u64..200, burst in 2u64..20, tolerance in 0u64..300, tag: bool,
            gaps in prop::collection::vec(0u64..120, 1..120),
        ) {
            let (tp, ts) = (10 * peak, 10 * (peak + more));
            let limits = [tolerance, (burst - 1) * (ts - tp) + tolerance];
            let mut policer = Policer {
                peak: Gcra::new(Span::from_nanos(tp), Span::from_nanos(limits[0])),
                sustained: Some(Gcra::new(Span::from_nanos(ts), Span::from_nanos(limits[1]))),
                excess: if tag { Excess::Tag } else { Excess::Discard },
            };
            let arrivals: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += 10 * gap; Some(*at) }).collect();
            let verdicts: Vec<Verdict> = arrivals.iter().map(|at| policer.arrive(Time::from_nanos(*at))).collect();
            prop_assert_eq!(&verdicts, &buckets([tp, ts], limits, tag, &arrivals));
            let below = |passes: &dyn Fn(Verdict) -> bool, increment: u64, limit: u64| {
                let times: Vec<u64> =
                    arrivals.iter().zip(&verdicts).filter(|(_, verdict)| passes(**verdict)).map(|(at, _)| *at).collect();
                times.iter().enumerate().all(|(first, from)| {
                    times[first..].iter().zip(1u64..).all(|(to, count)| count <= 1 + (to - from + limit) / increment)
                })
            };
            prop_assert!(below(&|verdict| verdict == Verdict::Conforms, ts, limits[1]));
            prop_assert!(below(&|verdict| verdict != Verdict::Discarded, tp, limits[0]));
        }

        /// Cells from a shaper conform to its contract, for any tolerance.
        #[test]
        fn shaped_cells_conform(
            category in 0..3, peak in 100u64..2000, part in 1u64..99, burst in 2u64..200, tolerance in 0u64..5,
            gaps in prop::collection::vec(0u64..3000, 1..200),
        ) {
            let sustained = match category {
                2 => format!(r#", "sustainable": "{} bit/s", "burst": {burst}"#, peak * 10 * part),
                _ => String::new(),
            };
            let category = ["ubr", "cbr", "vbr"][category as usize];
            let contract = config(&format!(
                r#"{{"category": "{category}", "peak": "{peak} kbit/s", "tolerance": "{tolerance} us", "shaping": true{sustained}}}"#
            ));
            let mut problems = Problems::default();
            contract.check(&mut problems);
            prop_assert_eq!(problems.count(), 0);
            let (mut shaper, mut policer) = (contract.shaper().unwrap(), contract.policer().unwrap());
            let mut now = Time::ZERO;
            for gap in gaps {
                now = (now + Span::from_micros(gap)).max(shaper.earliest());
                prop_assert_eq!(shaper.arrive(now), Verdict::Conforms);
                prop_assert_eq!(policer.arrive(now), Verdict::Conforms);
            }
        }
    }

    #[test]
    fn a_contract_requires_the_keys_of_its_category() {
        let problems = |json: &str| -> Vec<String> {
            let mut problems = Problems::default();
            config(json).check(&mut problems);
            problems.into_vec().into_iter().map(|problem| problem.path.join(".")).collect()
        };
        assert_eq!(problems(r#"{"category": "cbr"}"#), ["peak"]);
        assert_eq!(problems(r#"{"category": "vbr", "peak": "1 Mbit/s"}"#), ["sustainable", "burst"]);
        assert_eq!(problems(r#"{"sustainable": "1 Mbit/s"}"#), ["sustainable"]);
        assert_eq!(problems(r#"{"shaping": true}"#), ["shaping"]);
        assert_eq!(problems(r#"{"category": "abr"}"#), ["peak"]);
        assert_eq!(problems(r#"{"category": "abr", "peak": "1 Mbit/s", "excess": "tag"}"#), ["excess"]);
        let late = r#"{"category": "abr", "peak": "1 Mbit/s", "tolerance": "1 ms"}"#;
        assert_eq!(problems(late), ["tolerance"]);
        assert_eq!(problems(r#"{"abr": {}}"#), ["abr"]);
        let wrong = r#"{"category": "vbr", "peak": "1 Mbit/s", "sustainable": "1 Mbit/s", "burst": 9}"#;
        assert_eq!(problems(wrong), ["sustainable"]);
        assert_eq!(problems("{}"), Vec::<String>::new());
    }
}
