//! The cell against Bianchi's model and its refinement, conservation, fairness, hidden stations, aggregates.

use super::adaptation::{Choice, Outcome};
use super::air::Access;
use super::cell::{Attempt, Cell, Link, Rules, Upper};
use super::phy::{Phy, Standard};
use crate::channel::Frame;
use bentpipe_core::{Span, Stream, Streams, Time};

/// Stations that always have frames to send, and what became of them.
struct Saturated {
    rate: usize,
    rts: bool,
    /// Probability that the channel corrupts a data frame.
    error: f64,
    draws: Stream,
    delivered: Vec<u64>,
    lost: u64,
    order: Vec<Vec<u64>>,
    acknowledgments_lost: bool,
}

impl Saturated {
    fn new(stations: usize, rate: usize) -> Saturated {
        Saturated {
            rate,
            rts: false,
            error: 0.0,
            draws: Streams::new(9, 0).stream("channel"),
            delivered: vec![0; stations],
            lost: 0,
            order: vec![Vec::new(); stations],
            acknowledgments_lost: false,
        }
    }
}

impl Upper for Saturated {
    type Load = u64;

    fn choose(&mut self, _now: Time, _link: Link, _attempt: u32, _load: Option<&u64>) -> Choice {
        Choice { rate: self.rate, rts: self.rts }
    }

    fn learn(&mut self, _now: Time, _link: Link, _sent: &Attempt, _outcome: Outcome) {}

    fn spoils(&mut self, _at: Time, _link: Link, _frame: Frame, control: bool) -> bool {
        let hit = !control || self.acknowledgments_lost;
        hit && self.draws.chance(self.error)
    }

    fn naks(&self, _from: usize) -> bool {
        false
    }

    fn deliver(&mut self, _now: Time, link: Link, load: u64) {
        self.delivered[link.from] += 1;
        self.order[link.from].push(load);
    }

    fn deliver_copy(&mut self, _now: Time, _link: Link, _load: &u64) {}

    fn give_up(&mut self, _now: Time, _link: Link, _load: u64) {
        self.lost += 1;
    }
}

fn rules(phy: Phy) -> Rules {
    let access =
        Access { aifs: 2, cw_min: u32::from(phy.cw_min), cw_max: u32::from(phy.cw_max), txop: Span::ZERO };
    Rules {
        phy,
        access: vec![access],
        rts_threshold: u32::MAX,
        short_limit: 7,
        long_limit: 4,
        aggregate: 0,
        window: 64,
        delay: Span::ZERO,
        eifs: true,
        edca: false,
    }
}

/// Runs `stations` stations that send frames of `bytes` to station 0 for `seconds`, with 40 frames waiting; returns the frames that each had.
fn run(
    stations: usize,
    rules: Rules,
    bytes: u32,
    seconds: u64,
    heard_by: Option<Vec<Vec<u16>>>,
    upper: &mut Saturated,
) -> (Cell<u64>, Vec<u64>) {
    let stream = Streams::new(4, 0).stream("air");
    let mut cell = Cell::new(stations + 1, rules, heard_by, stream);
    let mut queued = vec![0; stations + 1];
    let end = Time::ZERO + Span::from_secs(seconds);
    let mut now = Time::ZERO;
    loop {
        for station in 1..=stations {
            let gone = upper.delivered[station] + upper.order[0].len() as u64;
            while queued[station] < gone + upper.lost + 40 {
                cell.enqueue(now, Link { from: station, to: 0 }, 0, bytes, queued[station]);
                queued[station] += 1;
            }
        }
        let Some(next) = cell.next_wake().filter(|next| *next < end) else { return (cell, queued) };
        assert!(next >= now);
        now = next;
        cell.wake(now, upper);
    }
}

/// Payload in Mbit/s.
fn throughput(upper: &Saturated, payload: u64, seconds: u64) -> f64 {
    upper.delivered.iter().sum::<u64>() as f64 * 8.0 * payload as f64 / seconds as f64 / 1e6
}

const MODEL: &str = include_str!("../../../../../authorities/wifi/bianchi_2000_model.csv");
const SATURATION: &str = include_str!("../../../../../authorities/wifi/bianchi_saturation.csv");

/// Bianchi 2000: slots are counted at their beginning, as in EDCA, and frames are never given up.
#[test]
fn saturation_throughput_is_that_of_bianchis_model() {
    let mut rows = 0;
    for row in MODEL.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let number = |index: usize| fields[index].parse::<f64>().unwrap();
        let (window, stages, stations, expected) =
            (number(1) as u32, number(2) as u32, number(3) as usize, number(6));
        if stations < 5 {
            continue;
        }
        let mut rules = rules(Phy::fhss_of_bianchi());
        rules.access[0].cw_min = window - 1;
        rules.access[0].cw_max = (window << stages) - 1;
        (rules.short_limit, rules.long_limit) = (u32::MAX, u32::MAX);
        (rules.eifs, rules.edca) = (false, true);
        rules.delay = Span::from_micros(1);
        let mut upper = Saturated::new(stations + 1, 0);
        upper.rts = fields[0] == "rts/cts";
        // 8184 bits of payload and 272 of MAC header; a second of the paper's channel holds 1 Mbit.
        run(stations, rules, 1023 + 34, 100, None, &mut upper);
        let found = throughput(&upper, 1023, 100);
        assert!((found / expected - 1.0).abs() < 0.02, "{row}: {found}");
        rows += 1;
    }
    assert_eq!(rows, 20);
}

/// The refinement: after a busy period the others still wait for a slot in which the last sender may transmit again.
///
/// In the model every station waits for EIFS after a collision, those that have collided included; in the standard they wait
/// for the acknowledgment, which is shorter. So the time-out is made as long here: with the standard's, 802.11a at 6 Mbit/s with 50
/// stations is 3.3 % above the model. ns-3's rows for 802.11b at 11 Mbit/s have an ACK of 248 us; ours takes 203.
#[test]
fn saturation_throughput_is_that_of_the_refined_model() {
    let mut rows = 0;
    for row in SATURATION.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let standard = if fields[0] == "802.11a" { Standard::A } else { Standard::B { short: false } };
        let mut phy = Phy::new(standard);
        let kbit_s = (fields[1].parse::<f64>().unwrap() * 1000.0) as u32;
        let stations: usize = fields[3].parse().unwrap();
        // All 160 rows hold; these take two seconds.
        if ![5, 20, 50].contains(&stations) {
            continue;
        }
        let rate = (0..phy.rates()).find(|rate| phy.mode(*rate).kbit_s == kbit_s).unwrap();
        let eifs = fields[2] == "eifs";
        if eifs {
            phy.detection = phy.lowest_ack() + phy.slot;
        }
        let mut rules = rules(phy);
        rules.eifs = eifs;
        (rules.short_limit, rules.long_limit) = (u32::MAX, u32::MAX);
        let mut upper = Saturated::new(stations + 1, rate);
        run(stations, rules, 1536, 20, None, &mut upper);
        let (found, expected) = (throughput(&upper, 1500, 20), fields[4].parse::<f64>().unwrap());
        assert!((found / expected - 1.0).abs() < 0.03, "{row}: {found}");
        rows += 1;
    }
    assert_eq!(rows, 48);
}
