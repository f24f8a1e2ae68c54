//! Explicit rate marking (ATM Forum Traffic Management 4.1, section 5.10.6) by the basic ERICA
//! algorithm, one of the examples of the standard's informative appendix (R. Jain, S. Kalyanaraman,
//! R. Goyal, S. Fahmy, R. Viswanathan: "ERICA Switch Algorithm: A Complete Description", ATM Forum
//! 96-1172, 1996; written from memory).
//!
//! In each interval, the port measures the rate H of arriving cells of CBR and VBR, the rate R of
//! arriving cells of each ABR connection, their sum I, and the number N of ABR connections with
//! cells. From a line of rate C, ABR can use
//!
//! A = u C - H (utilization u),
//!
//! the load factor is z = I / A, and during the next interval forward RM cells of a connection
//! leave with
//!
//! ER <- min(ER, A, max(A / N, R / z)).
//!
//! A connection that uses less than A / N leaves its rest to the others through R / z. R is
//! measured, instead of read from RM cells (CCR), so that R and I are of the same interval;
//! otherwise R / z is applied several times before its effect is measured. Before the end of the
//! first interval, A = u C and N = 1. The part 1 - u drains the queue that sources fill during the
//! delay of the feedback. An interval ends with the first cell that arrives after it.
//!
//! ```toml
//! [[network.wan.legs]]
//! rate = "2048 kbit/s"
//! marking = { kind = "explicit-rate", utilization = 0.9, interval = "50 ms" }
//! ```

use super::{Arrival, Bits, Marker, Marking};
use crate::atm::cell::CELL_BITS;
use crate::atm::contract::Category;
use bentpipe_core::{Fraction, Problems, Sample, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Assigns each connection its share of the line in the explicit rate (ER) of RM cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "AtmExplicitRate")]
pub struct Config {
    /// Part of the line's rate that all cells together may use; more than 0, 0.95 by default.
    pub utilization: Fraction,
    /// Length of the intervals in which the port measures loads; more than 0 s, 100 ms by default.
    pub interval: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { utilization: Fraction::thousandths(950), interval: Span::from_millis(100) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"utilization = 0.9, interval = "50 ms""#;
}

impl Marking for Config {
    fn build(&self, connections: usize) -> Box<dyn Marker> {
        Box::new(ExplicitRate {
            utilization: self.utilization.value(),
            interval: self.interval,
            start: Time::ZERO,
            higher: 0,
            cells: vec![0; connections],
            rates: vec![f64::INFINITY; connections],
            available: f64::INFINITY,
        })
    }

    fn utilization(&self) -> f64 {
        self.utilization.value()
    }

    fn check(&self, problems: &mut Problems) {
        if self.utilization.value() == 0.0 {
            problems.add("utilization", "0 leaves no rate to ABR; allowed: above 0");
        }
        if self.interval == Span::ZERO {
            problems.add("interval", "0 s is too short to measure a load; allowed: above 0 s");
        }
    }
}

struct ExplicitRate {
    utilization: f64,
    interval: Span,
    /// Start of the current interval.
    start: Time,
    /// Cells of CBR and VBR in the current interval.
    higher: u64,
    /// Cells of each ABR connection in the current interval.
    cells: Vec<u64>,
    /// Share of each connection, max(A / N, R / z) of the last complete interval, in bit/s.
    rates: Vec<f64>,
    /// A of the last complete interval, in bit/s.
    available: f64,
}

impl ExplicitRate {
    fn end_interval(&mut self, now: Time, line_rate: f64) {
        let seconds = now.since(self.start).as_secs_f64();
        let rate = |cells: u64| (cells * CELL_BITS) as f64 / seconds;
        let available = (self.utilization * line_rate - rate(self.higher)).max(0.0);
        let load = rate(self.cells.iter().sum());
        let active = self.cells.iter().filter(|cells| **cells > 0).count().max(1) as f64;
        for (share, cells) in self.rates.iter_mut().zip(&self.cells) {
            let part = if load > 0.0 { rate(*cells) * available / load } else { available };
            *share = part.max(available / active);
        }
        self.available = available;
        (self.start, self.higher) = (now, 0);
        self.cells.fill(0);
    }
}

impl Marker for ExplicitRate {
    fn arrive(&mut self, arrival: Arrival, bits: Bits<'_>) {
        let Arrival { now, connection, category, line_rate, .. } = arrival;
        if now.since(self.start) >= self.interval {
            self.end_interval(now, line_rate);
        }
        match category {
            Category::Cbr | Category::Vbr => self.higher += 1,
            Category::Ubr => {}
            Category::Abr => {
                self.cells[connection] += 1;
                if let Some(cell) = bits.rm.filter(|cell| !cell.backward) {
                    let limit = self.available.min(self.utilization * line_rate);
                    cell.explicit_rate = cell.explicit_rate.min(self.rates[connection]).min(limit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atm::abr::RmCell;

    /// A line of 10 Mbit/s with u = 0.9. In an interval of 100 ms arrive 212 kbit of CBR (500
    /// cells) and 424 and 212 kbit of two ABR connections (1000 and 500 cells). Then A = 9 - 2.12 =
    /// 6.88 Mbit/s, A / N = 3.44 Mbit/s, and z = 6.36 / 6.88. The connection with R = 4.24 Mbit/s
    /// gets R / z = 4.5867 Mbit/s, and the one with 2.12 Mbit/s gets A / N = 3.44 Mbit/s.
    #[test]
    fn connections_get_their_share_of_what_higher_categories_leave() {
        let config = Config { utilization: Fraction::thousandths(900), ..Config::default() };
        let mut marker = config.build(3);
        let mut arrive = |millis, connection, category, rm: bool| {
            let now = Time::ZERO + Span::from_millis(millis);
            let arrival = Arrival { now, connection, category, waiting: 0, line_rate: 10e6 };
            let mut rm = rm.then_some(RmCell {
                backward: false,
                explicit_rate: 8e6,
                congestion: false,
                no_increase: false,
            });
            marker.arrive(arrival, Bits { efci: &mut false, rm: rm.as_mut() });
            rm.map(|cell| cell.explicit_rate.round())
        };
        // Before the first measurement: min(ER, u C).
        assert_eq!(arrive(0, 1, Category::Abr, true), Some(8e6));
        for (connection, category, cells) in
            [(0, Category::Cbr, 500), (1, Category::Abr, 999), (2, Category::Abr, 500)]
        {
            (0..cells).for_each(|_| assert_eq!(arrive(50, connection, category, false), None));
        }
        assert_eq!(arrive(100, 1, Category::Abr, true), Some(4_586_667.0));
        assert_eq!(arrive(101, 2, Category::Abr, true), Some(3_440_000.0));
    }
}
