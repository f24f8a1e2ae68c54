//! The available bit rate (ABR) service category: the source and the destination of a connection
//! (ATM Forum Traffic Management 4.1, section 5.10).
//!
//! The source sends cells at no more than the allowed cell rate (ACR), which lies between MCR and
//! PCR. The first cell and each Nrm-th cell are forward resource management (RM) cells. The
//! destination returns them as backward RM cells, and the ports on the path mark them
//! ([`super::marking`]). RM cells pass the legs as other cells do, so they wait and can be lost.
//!
//! Source, by the numbers of the standard's source behaviours:
//!
//! - 1: ACR is between MCR and PCR. A cell follows the previous one after at least 1/ACR.
//! - 2: ACR starts with ICR, and the first cell is a forward RM cell.
//! - 3: If Nrm - 1 cells, or Mrm = 2 cells and Trm, have passed since the last forward RM cell, the
//!   next cell is one. Otherwise, a waiting backward RM cell is sent if none has been sent since
//!   the last forward RM cell, or if no data waits; otherwise data.
//! - 5: Before a forward RM cell, ACR falls to ICR if the last one was sent more than ADTF ago.
//! - 6: Before a forward RM cell, ACR falls by ACR x CDF if CRM forward RM cells have been sent
//!   since the last backward RM cell arrived.
//! - 8: A backward RM cell with CI = 1 lowers ACR by ACR x RDF. One with CI = 0 and NI = 0 raises
//!   ACR by RIF x PCR.
//! - 9: Then ACR is at most ER, and at least MCR.
//!
//! Destination: it stores the EFCI bit of the latest data cell. On a forward RM cell, it sets CI =
//! 1 if the bit is set, clears the bit, and returns the cell in the opposite direction of the
//! connection, at the rate of that direction. A newer cell replaces one that still waits.
//!
//! Deviations:
//!
//! - The behaviours and their defaults are written from memory of TM 4.0 and 4.1. Only the default
//!   of RDF was compared with a source (ATM-FORUM-MIB, 1/16).
//! - There are no out-of-rate RM cells. Instead, ACR is never below their rate, TCR = 10 cells/s.
//! - Rates in RM cells are not rounded to the format of 16 bits.
//! - The network does not police ABR (the dynamic GCRA is optional), and sources always conform.

use super::cell::CELL_BITS;
use bentpipe_core::{Column, Count, Fraction, Problems, Rate, Span, Table, Time};
use bentpipe_stage::{Content, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minimum number of cells between two forward RM cells that are Trm apart (Mrm).
const MRM: u32 = 2;
/// Rate of out-of-rate RM cells in bit/s: TCR = 10 cells/s.
const TCR: f64 = 10.0 * CELL_BITS as f64;

/// The allowed cell rate of a source whenever a backward RM cell arrives.
pub static TRACE: Table = Table {
    name: "abr",
    entity: "connection",
    about: "a row for each backward RM cell that arrives at the source of an ABR connection (NETWORK.forward, NETWORK.back; of `others` NETWORK.forward.2, ...)",
    columns: &[
        Column::real("rate", "bit/s", "allowed cell rate (ACR) after the RM cell, in bit/s of cells"),
        Column::real("explicit_rate", "bit/s", "explicit rate (ER) of the RM cell"),
        Column::whole("congestion", "1", "congestion indication (CI) of the RM cell"),
        Column::whole("no_increase", "1", "no increase bit (NI) of the RM cell"),
        Column::whole("waiting", "cells", "cells that waited in the adapter"),
    ],
};

/// Counters of the source of an ABR connection.
pub static REPORT: Table = Table {
    name: "atm_abr",
    entity: "connection",
    about: "at the end of the run, for each direction of an ABR connection (NETWORK.forward, NETWORK.back; of `others` NETWORK.forward.2, ...)",
    columns: &[
        Column::whole("forward_rm", "cells", "forward RM cells that the source sent"),
        Column::whole("backward_rm", "cells", "backward RM cells that returned to the source"),
        Column::whole("congestion", "cells", "of them, those with congestion indication (CI)"),
        Column::real("rate_mean", "bit/s", "mean allowed cell rate (ACR) over the run"),
        Column::real("rate_last", "bit/s", "allowed cell rate at the end"),
        Column::whole("waiting_max", "cells", "maximum number of cells that waited in the adapter"),
    ],
};

/// Parameters of ABR flow control (ATM Forum Traffic Management 4.1, section 5.10).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "AtmAbr")]
pub struct Config {
    /// Minimum cell rate (MCR), in bit/s of whole cells; 0 by default. The source's rate is never
    /// below 10 cells/s (TCR, 4240 bit/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Rate>,
    /// Initial cell rate (ICR), in bit/s of whole cells; `peak` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Rate>,
    /// Rate increase factor (RIF): the part of the peak rate by which a backward RM cell can raise
    /// the rate; 1/16 by default.
    pub rif: Fraction,
    /// Rate decrease factor (RDF): the part of the rate by which an RM cell with CI = 1 lowers the
    /// rate; 1/16 by default.
    pub rdf: Fraction,
    /// Number of cells per forward RM cell (Nrm); 32 by default.
    pub nrm: Count<2, 256>,
    /// Maximum time between forward RM cells while the source sends (Trm); 100 ms by default.
    pub trm: Span,
    /// Cutoff decrease factor (CDF): the part of the rate by which the source lowers it before each
    /// forward RM cell while backward RM cells are missing; 1/16 by default.
    pub cdf: Fraction,
    /// Number of forward RM cells without a backward RM cell from which on `cdf` applies (CRM);
    /// 524288 by default, the transient buffer exposure of 2^24 cells over Nrm.
    pub crm: Count<1, 8_388_608>,
    /// Time without a forward RM cell after which the rate falls to `initial` (ADTF); 500 ms by
    /// default.
    pub adtf: Span,
    /// Size of the buffer of the source's adapter, in cells; 4096 by default. A packet whose cells
    /// do not fit is dropped.
    pub buffer: Count<1, 100_000_000>,
}

impl Default for Config {
    fn default() -> Config {
        let sixteenth = Fraction::new(1.0 / 16.0).expect("1/16 is a fraction");
        Config {
            minimum: None,
            initial: None,
            rif: sixteenth,
            rdf: sixteenth,
            nrm: Count::new(32),
            trm: Span::from_millis(100),
            cdf: sixteenth,
            crm: Count::new(524_288),
            adtf: Span::from_millis(500),
            buffer: Count::new(4096),
        }
    }
}

impl Config {
    /// Adds the problems of these parameters for a connection with this peak rate.
    pub fn check(&self, peak: Option<Rate>, problems: &mut Problems) {
        let Some(peak) = peak else { return };
        for (key, rate) in [("minimum", self.minimum), ("initial", self.initial)] {
            if let Some(rate) = rate.filter(|rate| *rate > peak) {
                problems.add(key, format!("{rate} is more than the peak rate; allowed: at most {peak}"));
            }
        }
        if let (Some(minimum), Some(initial)) = (self.minimum, self.initial) {
            if initial < minimum {
                problems.add(
                    "initial",
                    format!("{initial} is below the minimum rate; allowed: at least {minimum}"),
                );
            }
        }
    }
}

/// The fields of a resource management cell that the model needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmCell {
    /// True for a backward RM cell (DIR = 1), which returns from the destination to the source.
    pub backward: bool,
    /// Explicit rate (ER), in bit/s.
    pub explicit_rate: f64,
    /// Congestion indication (CI).
    pub congestion: bool,
    /// No increase (NI): the source must not raise its rate.
    pub no_increase: bool,
}

impl Payload for RmCell {
    fn content(&self) -> Content {
        Content::Signalling
    }
}

/// The next cell of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// A forward or backward RM cell.
    Rm(RmCell),
    /// The first data cell that waits in the adapter.
    Data,
}

/// The source of one direction of an ABR connection. All rates are in bit/s of cells.
pub struct Source {
    config: Config,
    peak: f64,
    minimum: f64,
    initial: f64,
    /// Allowed cell rate (ACR), in bit/s.
    rate: f64,
    /// Time of the last cell; `None` before the first one.
    last_cell: Option<Time>,
    last_forward: Option<Time>,
    /// Cells since the last forward RM cell.
    since_forward: u32,
    /// True if a backward RM cell has been sent since the last forward RM cell.
    backward_sent: bool,
    /// Forward RM cells since the last backward RM cell arrived.
    unanswered: u64,
    /// The turned-around RM cell that waits, with its time of arrival.
    turned: Option<(Time, RmCell)>,
    forward_rm: u64,
    backward_rm: u64,
    congestion: u64,
    /// Integral of ACR in bits up to the time at which ACR was set, and that time.
    rate_integral: (f64, Time),
}

impl Source {
    /// Creates the source of a connection with this peak rate, before its first cell.
    pub fn new(config: &Config, peak: Rate) -> Source {
        let rate = |rate: Rate| rate.bits_per_second() as f64;
        let peak = rate(peak);
        let minimum = config.minimum.map_or(0.0, rate).max(TCR).min(peak);
        let initial = config.initial.map_or(peak, rate).max(minimum);
        Source {
            config: config.clone(),
            peak,
            minimum,
            initial,
            rate: initial,
            last_cell: None,
            last_forward: None,
            since_forward: 0,
            backward_sent: false,
            unanswered: 0,
            turned: None,
            forward_rm: 0,
            backward_rm: 0,
            congestion: 0,
            rate_integral: (0.0, Time::ZERO),
        }
    }

    /// Returns the allowed cell rate (ACR).
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn set_rate(&mut self, now: Time, rate: f64) {
        let (bits, since) = self.rate_integral;
        self.rate_integral = (bits + self.rate * now.since(since).as_secs_f64(), now);
        self.rate = rate.min(self.peak).max(self.minimum);
    }

    /// Returns the time of the next cell, if a data cell waits since `data` or an RM cell waits.
    pub fn next(&self, data: Option<Time>) -> Option<Time> {
        let turned = self.turned.map(|(time, _)| time);
        let waits = data.into_iter().chain(turned).min()?;
        let gap = Span::from_secs_f64(CELL_BITS as f64 / self.rate);
        // A cell that a higher rate has made overdue is sent when the rate changes.
        let (_, changed) = self.rate_integral;
        Some(self.last_cell.map_or(waits, |last| waits.max(last + gap)).max(changed))
    }

    /// Sends the next cell at `now`, which [`next`](Self::next) returned. `data` is true if a data
    /// cell waits.
    pub fn send(&mut self, now: Time, data: bool) -> Next {
        self.last_cell = Some(now);
        let since = self.last_forward.map(|last| now.since(last));
        let due = since.is_none_or(|since| {
            self.since_forward + 1 >= self.config.nrm.value() as u32
                || (self.since_forward >= MRM && since >= self.config.trm)
        });
        if due {
            return Next::Rm(self.forward(now, since));
        }
        self.since_forward += 1;
        match self.turned.take_if(|(time, _)| *time <= now && (!self.backward_sent || !data)) {
            Some((_, cell)) => {
                self.backward_sent = true;
                Next::Rm(cell)
            }
            None => Next::Data,
        }
    }

    /// Creates a forward RM cell, `since` after the previous one.
    fn forward(&mut self, now: Time, since: Option<Span>) -> RmCell {
        if self.rate > self.initial && since.is_some_and(|since| since > self.config.adtf) {
            self.set_rate(now, self.initial);
        }
        if self.unanswered >= self.config.crm.value() {
            self.set_rate(now, self.rate * (1.0 - self.config.cdf.value()));
        }
        self.unanswered += 1;
        self.forward_rm += 1;
        (self.last_forward, self.since_forward, self.backward_sent) = (Some(now), 0, false);
        RmCell { backward: false, explicit_rate: self.peak, congestion: false, no_increase: false }
    }

    /// Accepts a forward RM cell of the opposite direction, to return it as a backward RM cell.
    pub fn turn(&mut self, now: Time, cell: RmCell) {
        let since = self.turned.map_or(now, |(before, _)| before);
        self.turned = Some((since, RmCell { backward: true, ..cell }));
    }

    /// Applies a backward RM cell of this source.
    pub fn feedback(&mut self, now: Time, cell: RmCell) {
        self.unanswered = 0;
        self.backward_rm += 1;
        self.congestion += u64::from(cell.congestion);
        let rate = match (cell.congestion, cell.no_increase) {
            (true, _) => self.rate * (1.0 - self.config.rdf.value()),
            (false, false) => self.rate + self.config.rif.value() * self.peak,
            (false, true) => self.rate,
        };
        self.set_rate(now, rate.min(cell.explicit_rate));
    }

    /// Returns the values of [`REPORT`] at `now`. `waiting_max` is the maximum number of waiting
    /// cells.
    pub fn report(&self, now: Time, waiting_max: u64) -> [f64; 6] {
        let (bits, since) = self.rate_integral;
        let whole = now.since(Time::ZERO).as_secs_f64();
        let bits = bits + self.rate * now.since(since).as_secs_f64();
        [
            self.forward_rm as f64,
            self.backward_rm as f64,
            self.congestion as f64,
            if whole > 0.0 { bits / whole } else { self.rate },
            self.rate,
            waiting_max as f64,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(json: &str) -> Source {
        Source::new(&serde_json::from_str(json).unwrap(), Rate::from_bits_per_second(1_600_000))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn returned(congestion: bool, no_increase: bool, explicit_rate: f64) -> RmCell {
        RmCell { backward: true, explicit_rate, congestion, no_increase }
    }

    /// With PCR = 1600 kbit/s and RIF = 1/16, each RM cell without CI and NI raises ACR by 100
    /// kbit/s. One with CI = 1 lowers ACR by a quarter. NI = 1 leaves ACR unchanged, and ER and MCR
    /// limit it.
    #[test]
    fn backward_rm_cells_change_the_rate() {
        let mut source = source(r#"{"initial": "200 kbit/s", "minimum": "150 kbit/s", "rdf": 0.25}"#);
        let mut rate = |cell| {
            source.feedback(at(0), cell);
            source.rate()
        };
        let peak = 1.6e6;
        assert_eq!(rate(returned(false, false, peak)), 300e3);
        assert_eq!(rate(returned(false, false, peak)), 400e3);
        assert_eq!(rate(returned(false, true, peak)), 400e3);
        assert_eq!(rate(returned(true, false, peak)), 300e3);
        assert_eq!(rate(returned(true, true, peak)), 225e3);
        assert_eq!(rate(returned(false, false, 250e3)), 250e3);
        assert_eq!(rate(returned(false, false, 10e3)), 150e3);
        let rates: Vec<f64> = (0..20).map(|_| rate(returned(false, false, peak))).collect();
        assert_eq!((rates[13], rates[14], rates[19]), (1550e3, peak, peak));
    }

    /// With Nrm = 4, cells 1, 5, 9 are forward RM cells. A cell at 424 kbit/s follows the previous
    /// one after 1 ms. A backward RM cell is sent once between two forward RM cells, and further
    /// ones only when no data waits.
    #[test]
    fn forward_backward_and_data_cells_are_sent_in_the_order_of_the_standard() {
        let mut source = source(r#"{"initial": "424 kbit/s", "nrm": 4}"#);
        let mut sent = |data: bool, turned: bool| {
            if turned {
                source.turn(at(0), returned(false, false, 1e6));
            }
            let now = source.next(data.then_some(at(0))).unwrap();
            let kind = match source.send(now, data) {
                Next::Rm(RmCell { backward: false, .. }) => "forward",
                Next::Rm(_) => "backward",
                Next::Data => "data",
            };
            (now.as_nanos() / 1_000_000, kind)
        };
        assert_eq!(sent(true, true), (0, "forward"));
        assert_eq!(sent(true, false), (1, "backward"));
        assert_eq!(sent(true, true), (2, "data"));
        assert_eq!(sent(false, false), (3, "backward"));
        assert_eq!(sent(true, false), (4, "forward"));
        assert_eq!([sent(true, false).1, sent(true, false).1, sent(true, false).1], ["data"; 3]);
        assert_eq!(sent(true, false), (8, "forward"));
    }

    /// After Trm = 100 ms and Mrm = 2 cells, the next cell is a forward RM cell, before Nrm cells.
    /// After more than ADTF = 500 ms, ACR falls to ICR. Without feedback, each forward RM cell
    /// after the first CRM = 3 lowers ACR by CDF = 1/2.
    #[test]
    fn idle_and_unanswered_sources_lower_their_rate() {
        let mut source = source(r#"{"initial": "800 kbit/s", "crm": 3, "cdf": 0.5}"#);
        let forward = |source: &mut Source, millis| match source.send(at(millis), true) {
            Next::Rm(_) => Some(source.rate()),
            Next::Data => None,
        };
        assert_eq!(forward(&mut source, 0), Some(800e3));
        source.feedback(at(50), returned(false, false, 1.6e6));
        assert_eq!(source.rate(), 900e3);
        assert_eq!(forward(&mut source, 99), None);
        assert_eq!(forward(&mut source, 120), None);
        assert_eq!(forward(&mut source, 121), Some(900e3));
        assert_eq!([forward(&mut source, 122), forward(&mut source, 123)], [None; 2]);
        assert_eq!(forward(&mut source, 622), Some(800e3));
        assert_eq!([forward(&mut source, 623), forward(&mut source, 624)], [None; 2]);
        assert_eq!(forward(&mut source, 722), Some(800e3));
        assert_eq!([forward(&mut source, 723), forward(&mut source, 724)], [None; 2]);
        assert_eq!(forward(&mut source, 822), Some(400e3));
    }

    #[test]
    fn rates_above_the_peak_are_refused() {
        let problems = |json: &str| -> Vec<String> {
            let mut problems = Problems::default();
            let config: Config = serde_json::from_str(json).unwrap();
            config.check(Some(Rate::from_bits_per_second(1_600_000)), &mut problems);
            problems.into_vec().into_iter().map(|problem| problem.path.join(".")).collect()
        };
        assert_eq!(problems("{}"), Vec::<String>::new());
        assert_eq!(problems(r#"{"minimum": "2 Mbit/s", "initial": "3 Mbit/s"}"#), ["minimum", "initial"]);
        assert_eq!(problems(r#"{"minimum": "2 kbit/s", "initial": "1 kbit/s"}"#), ["initial"]);
    }
}
