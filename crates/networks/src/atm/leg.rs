//! A leg: the output buffer of a switch or adapter, which is measured in cells, and the line after
//! the buffer.
//!
//! Cells of one category leave in order of arrival. A cell is accepted or dropped on arrival,
//! depending on the number of waiting cells of its category. The cell in transmission does not
//! count as waiting. [`super::switch`] serves several categories by priority.
//!
//! - Cells of low priority (CLP = 1) are accepted only while fewer than `low_priority` cells wait.
//! - Early packet discard (EPD): if at least `early` cells wait when the first cell of a frame
//!   arrives, all cells of the frame are dropped.
//! - Partial packet discard (PPD): after the first dropped cell of a frame, all further cells of
//!   the frame are dropped except the last one, which marks the end of the frame (A. Romanow and S.
//!   Floyd, "Dynamics of TCP Traffic over ATM Networks", 1995).
//!
//! On a leg with time-division access (TDMA), a station sends K = floor(rate x frame / 424 bit)
//! cells in each TDMA frame. The cells are sent back to back at the rate of the carrier, from the
//! start of the TDMA frame on. A cell waits for the next free slot that has not begun yet. Without
//! a queue, this takes half a TDMA frame less half of the burst on average.
//!
//! Errors: independent bit errors (`kind = "bit"`) affect single bits of a cell. A cell with a
//! wrong bit in its payload still arrives, and its frame is corrupted. The header is protected by
//! its HEC ([`super::cell`]). All other error processes lose the affected cells.

use super::cell::{Mode, CELL_BITS, HEADER_BITS};
use super::marking;
use bentpipe_core::{math, Column, Count, Problems, Rate, Report, Span, Stream, Table, Time};
use bentpipe_link::channel::{self, Errors};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Counters of a leg in one direction.
pub static LEG: Table = Table {
    name: "atm_leg",
    entity: "leg",
    about: "at the end of the run, for each leg of an ATM network (NETWORK.forward.1, NETWORK.back.1, ...) and each access line (NETWORK.forward.near, NETWORK.forward.far; of `others` NETWORK.forward.2.near, ...)",
    columns: &[
        Column::whole("cells", "cells", "cells that were sent"),
        Column::whole("dropped", "cells", "cells that the buffer dropped"),
        Column::whole("dropped_low", "cells", "of them, cells of low priority"),
        Column::whole("dropped_early", "cells", "cells of frames that were dropped as a whole"),
        Column::whole("corrupted", "cells", "cells that the line corrupted or lost"),
        Column::whole("queue_max", "cells", "maximum number of cells that waited at once"),
        Column::real("wait_mean", "s", "mean time that a cell waited"),
        Column::real("wait_deviation", "s", "standard deviation of that time (cell delay variation)"),
    ],
};

/// A leg of the connection: the buffer and the line from one adapter or switch to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AtmLeg")]
pub struct Config {
    /// Rate of cells of 53 bytes: the rate of the line without the overhead of its physical layer.
    /// An OC-3 of 155.52 Mbit/s carries 149.76 Mbit/s of cells.
    pub rate: Rate,
    /// Propagation delay, one way; 0 s by default.
    #[serde(default)]
    pub delay: Span,
    /// Errors of cells on the line; none by default. Bit errors corrupt the payload or the header
    /// of a cell. Other errors lose the cell.
    #[serde(default)]
    pub error: channel::Config,
    /// Size of the buffer before the line, in cells; 4096 by default. If connections have different
    /// service categories, each category has a buffer of this size, and `low_priority` and `early`
    /// apply to its waiting cells.
    #[serde(default = "default_buffer")]
    pub buffer: Count<1, 100_000_000>,
    /// Number of waiting cells from which on arriving cells of low priority (CLP = 1) are dropped.
    /// If unset, `buffer` is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_priority: Option<Count<0, 100_000_000>>,
    /// Number of waiting cells from which on complete new frames are dropped (early packet
    /// discard). If unset, early packet discard is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<Count<0, 100_000_000>>,
    /// True if, after a dropped cell, all further cells of its frame except the last one are
    /// dropped (partial packet discard); false by default.
    #[serde(default)]
    pub partial: bool,
    /// Time-division access to the line. If unset, cells are sent at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdma: Option<Tdma>,
    /// Marking of cells of ABR connections at the port before the line: `"explicit-rate"` (the
    /// default), `"relative-rate"` or `"efci"`. Access lines do not mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<marking::Config>,
}

/// Time-division access: cells are sent in one burst per TDMA frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AtmTdma")]
pub struct Tdma {
    /// Length of a TDMA frame, such as 20 ms. TDMA frames begin at multiples of this length.
    pub frame: Span,
    /// Rate within a burst in bit/s of cells; at least the leg's `rate`.
    pub carrier: Rate,
}

/// Returns the default size of a buffer in cells. For comparison, the product of the rate of an E1
/// and a geostationary round-trip time of 0.5 s is 2415 cells.
fn default_buffer() -> Count<1, 100_000_000> {
    Count::new(4096)
}

impl Config {
    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        problems.within("error", |problems| self.error.check(problems));
        if let Some(marking) = &self.marking {
            problems.within("marking", |problems| marking.check(problems));
        }
        for (key, value) in [("low_priority", self.low_priority), ("early", self.early)] {
            if let Some(value) = value.filter(|value| value.value() > self.buffer.value()) {
                let text = format!(
                    "{} is more than the buffer holds; allowed: at most {}",
                    value.value(),
                    self.buffer.value()
                );
                problems.add(key, text);
            }
        }
        let Some(tdma) = &self.tdma else { return };
        if tdma.carrier < self.rate {
            let text =
                format!("{} is less than the rate of the leg; allowed: at least {}", tdma.carrier, self.rate);
            problems.within("tdma", |problems| problems.add("carrier", text));
        }
        if self.cells_in(tdma) == 0 {
            let least = self.rate.span_of(CELL_BITS / 8);
            let text = format!("{} is too short for one cell; allowed: at least {least}", tdma.frame);
            problems.within("tdma", |problems| problems.add("frame", text));
        }
    }

    /// Checks whether this configuration can replace `start`, with which the network was built.
    /// Adds the problems to `problems`.
    pub fn check_change(&self, start: &Config, problems: &mut Problems) {
        if self.marking != start.marking {
            problems.add("marking", "cannot change while the network runs");
        }
        if self.tdma != start.tdma {
            problems.add("tdma", "cannot change while the network runs");
        } else if self.tdma.is_some() && self.rate != start.rate {
            problems.add(
                "rate",
                "cannot change while the network runs, as it places the cells in the frames of tdma",
            );
        }
    }

    /// Returns the number of cells in a burst.
    fn cells_in(&self, tdma: &Tdma) -> u64 {
        let bits =
            u128::from(self.rate.bits_per_second()) * u128::from(tdma.frame.as_nanos()) / 1_000_000_000;
        u64::try_from(bits).unwrap_or(u64::MAX) / CELL_BITS
    }

    /// Returns the long-term rate of cells in bit/s. With time-division access, this is a whole
    /// number of cells per TDMA frame.
    pub fn mean_rate(&self) -> f64 {
        match &self.tdma {
            None => self.rate.bits_per_second() as f64,
            Some(tdma) => (self.cells_in(tdma) * CELL_BITS) as f64 / tdma.frame.as_secs_f64(),
        }
    }
}

/// The fate of a cell on a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The cell arrives at the end of the leg at this time.
    Arrives(Time),
    /// The cell arrives at this time, with wrong bits in its payload.
    Corrupted(Time),
    /// The line lost the cell, which would have arrived at this time.
    Lost(Time),
    /// The buffer was full, or partial packet discard dropped the cell.
    Full,
    /// The complete frame of the cell was dropped (early packet discard).
    Early,
}

/// Counters of a leg.
#[derive(Clone, Debug, Default)]
struct Counters {
    /// Number of cells sent.
    sent: u64,
    /// Number of cells that the buffer dropped.
    dropped: u64,
    /// Number of dropped cells with low priority.
    dropped_low: u64,
    /// Number of cells that were dropped by early packet discard.
    dropped_early: u64,
    /// Number of cells that the line corrupted or lost.
    corrupted: u64,
    /// Maximum number of cells that waited at the same time.
    max_waiting: u64,
    /// Sum of the waiting times of cells in seconds, and sum of the squares of these times.
    waits: (f64, f64),
}

/// A leg in one direction.
pub struct Leg {
    cell: Span,
    delay: Span,
    buffer: usize,
    low_priority: usize,
    early: usize,
    partial: bool,
    tdma: Option<BurstSchedule>,
    line_errors: LineErrors,
    /// The configuration from which `line_errors` was built.
    error: channel::Config,
    /// Time at which the line has finished sending.
    free_at: Time,
    /// Start of the transmission of each waiting cell.
    waiting: VecDeque<Time>,
    /// The current frame of each virtual channel.
    frames: Vec<FrameState>,
    /// Time at which the latest cell arrives at the end of the leg. No later cell arrives earlier,
    /// even if the delay has become shorter.
    last_time: Time,
    counters: Counters,
}

/// The current frame of a virtual channel on a leg.
#[derive(Clone)]
struct FrameState {
    /// True if the next cell begins a frame.
    at_start: bool,
    /// True if the frame has lost a cell on this leg.
    has_loss: bool,
    /// True if the complete frame is dropped.
    early_discard: bool,
}

impl Leg {
    /// Creates an idle leg that `connections` connections share, each with the two channels of
    /// [`Cell::channel`](super::transit::Cell::channel).
    pub fn new(config: &Config, connections: usize) -> Leg {
        let mut leg = Leg {
            cell: Span::ZERO,
            delay: config.delay,
            buffer: 0,
            low_priority: 0,
            early: 0,
            partial: false,
            tdma: config.tdma.as_ref().map(|tdma| BurstSchedule {
                frame: tdma.frame,
                cell: cell_time(tdma.carrier),
                cells: config.cells_in(tdma),
                next: 0,
            }),
            line_errors: LineErrors::of(&config.error),
            error: config.error.clone(),
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            frames: vec![
                FrameState { at_start: true, has_loss: false, early_discard: false };
                2 * connections
            ],
            last_time: Time::ZERO,
            counters: Counters::default(),
        };
        leg.change(config);
        leg
    }

    /// Applies a changed configuration to cells that arrive from now on.
    pub fn change(&mut self, config: &Config) {
        let limit = |cells: u64| usize::try_from(cells).unwrap_or(usize::MAX);
        self.cell = cell_time(config.tdma.as_ref().map_or(config.rate, |tdma| tdma.carrier));
        self.delay = config.delay;
        self.buffer = limit(config.buffer.value());
        self.low_priority = config.low_priority.map_or(self.buffer, |cells| limit(cells.value()));
        self.early = config.early.map_or(usize::MAX, |cells| limit(cells.value()));
        self.partial = config.partial;
        if config.error != self.error {
            (self.line_errors, self.error) = (LineErrors::of(&config.error), config.error.clone());
        }
    }

    /// Handles a cell of a channel that arrives at `now`, no earlier than the previous cell.
    /// `last` is true if the cell marks the end of its frame, and `None` for a cell that belongs to
    /// no frame. The cell after the end begins a new frame. A frame whose last cell was lost is
    /// treated as one frame together with the next.
    pub fn send(
        &mut self,
        now: Time,
        channel: usize,
        last: Option<bool>,
        low_priority: bool,
        stream: &mut Stream,
    ) -> Fate {
        while self.waiting.front().is_some_and(|start| *start <= now) {
            self.waiting.pop_front();
        }
        let waiting = self.waiting.len();
        if let Some(refused) = self.refuse(now, channel, last, low_priority, waiting) {
            return refused;
        }
        let start = self.reserve(now);
        if start > now {
            self.waiting.push_back(start);
            self.note_waiting(self.waiting.len());
        }
        self.begin(now, start, stream)
    }

    /// Decides about a cell that arrives at `now`, while `waiting` cells of its category wait.
    /// Returns its fate if it is dropped. `last` is `None` for a cell that belongs to no frame.
    pub fn refuse(
        &mut self,
        now: Time,
        channel: usize,
        last: Option<bool>,
        low_priority: bool,
        waiting: usize,
    ) -> Option<Fate> {
        let frame = &mut self.frames[channel];
        if let Some(last) = last {
            if std::mem::replace(&mut frame.at_start, last) {
                (frame.has_loss, frame.early_discard) = (false, waiting >= self.early);
            }
            if frame.early_discard {
                self.counters.dropped_early += 1;
                return Some(Fate::Early);
            }
        }
        let busy = self.free_at > now || self.tdma.is_some();
        let full = busy && (waiting >= self.buffer || (low_priority && waiting >= self.low_priority));
        if full || (self.partial && frame.has_loss && last == Some(false)) {
            frame.has_loss |= last.is_some();
            self.counters.dropped += 1;
            self.counters.dropped_low += u64::from(low_priority);
            return Some(Fate::Full);
        }
        None
    }

    /// Returns the earliest time from `now` on at which the line can send a cell. With
    /// time-division access, the slot is then taken.
    pub fn reserve(&mut self, now: Time) -> Time {
        match &mut self.tdma {
            Some(bursts) => bursts.reserve(now),
            None => now.max(self.free_at),
        }
    }

    /// Sends a cell that arrived at `now`, at a reserved time `start`. Returns its fate.
    pub fn begin(&mut self, now: Time, start: Time, stream: &mut Stream) -> Fate {
        self.free_at = start + self.cell;
        let waited = start.since(now).as_secs_f64();
        self.counters.sent += 1;
        self.counters.waits = (self.counters.waits.0 + waited, self.counters.waits.1 + waited * waited);
        let arrival = (self.free_at + self.delay).max(self.last_time);
        self.last_time = arrival;
        let fate = self.line_errors.apply(arrival, stream);
        self.counters.corrupted += u64::from(fate != Fate::Arrives(arrival));
        fate
    }

    /// Returns the time at which the line has finished sending.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Counts that this number of cells waits.
    pub fn note_waiting(&mut self, cells: usize) {
        self.counters.max_waiting = self.counters.max_waiting.max(cells as u64);
    }

    /// Writes the row of the leg under a name.
    pub fn report(&self, name: &str, report: &mut Report) {
        let counters = &self.counters;
        let (mean, square) = match counters.sent {
            0 => (f64::NAN, f64::NAN),
            sent => (counters.waits.0 / sent as f64, counters.waits.1 / sent as f64),
        };
        let values = [
            counters.sent as f64,
            counters.dropped as f64,
            counters.dropped_low as f64,
            counters.dropped_early as f64,
            counters.corrupted as f64,
            counters.max_waiting as f64,
            mean,
            (square - mean * mean).max(0.0).sqrt(),
        ];
        report.row(&LEG, name, &values);
    }
}

/// Returns the transmission time of a cell on a line.
fn cell_time(rate: Rate) -> Span {
    rate.span_of(CELL_BITS / 8)
}

/// The slots of the bursts of a leg, one per cell, numbered from the start of the run.
struct BurstSchedule {
    frame: Span,
    cell: Span,
    /// Number of cells in a burst.
    cells: u64,
    /// Number of the first free slot.
    next: u64,
}

impl BurstSchedule {
    /// Reserves the first free slot that begins at `now` or later. Returns the start of the slot.
    fn reserve(&mut self, now: Time) -> Time {
        let (frame, within) =
            (now.as_nanos() / self.frame.as_nanos(), now.as_nanos() % self.frame.as_nanos());
        let slot = within.div_ceil(self.cell.as_nanos().max(1)).min(self.cells);
        let number = self.next.max(frame * self.cells + slot);
        self.next = number + 1;
        let (frame, slot) = (number / self.cells, number % self.cells);
        Time::ZERO + self.frame * frame + self.cell * slot
    }
}

/// The errors of a line.
enum LineErrors {
    None,
    /// Independent bit errors. `until` is the number of right bits until the next wrong bit,
    /// `log_right` is ln(1 - bit error rate), and `mode` is the mode in which the receiver handles
    /// headers.
    Bits {
        until: Option<u64>,
        log_right: f64,
        mode: Mode,
    },
    Process(Errors),
}

impl LineErrors {
    fn of(config: &channel::Config) -> LineErrors {
        match config {
            channel::Config::Bit(bit) if bit.rate.value() > 0.0 => LineErrors::Bits {
                until: None,
                log_right: math::ln_1p(-bit.rate.value()),
                mode: Mode::default(),
            },
            channel::Config::Bit(_) => LineErrors::None,
            other => other.errors().map_or(LineErrors::None, LineErrors::Process),
        }
    }

    fn apply(&mut self, arrival: Time, stream: &mut Stream) -> Fate {
        match self {
            LineErrors::None => Fate::Arrives(arrival),
            LineErrors::Process(errors) => match errors.loses_unit(arrival, (CELL_BITS / 8) as u32, stream) {
                true => Fate::Lost(arrival),
                false => Fate::Arrives(arrival),
            },
            LineErrors::Bits { until, log_right, mode } => {
                // The number of right bits before the next wrong bit has a geometric distribution.
                let mut draw = || {
                    let right = math::ln(1.0 - stream.uniform()) / *log_right;
                    if right < u64::MAX as f64 {
                        right as u64
                    } else {
                        u64::MAX
                    }
                };
                let mut next = until.unwrap_or_else(&mut draw);
                let (mut header, mut payload) = (0, false);
                while next < CELL_BITS {
                    if next < HEADER_BITS {
                        header += 1
                    } else {
                        payload = true
                    }
                    next = next.saturating_add(1).saturating_add(draw());
                }
                *until = Some(next - CELL_BITS);
                match (mode.accepts(header), payload) {
                    (false, _) => Fate::Lost(arrival),
                    (true, true) => Fate::Corrupted(arrival),
                    (true, false) => Fate::Arrives(arrival),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;
    use proptest::prelude::*;

    fn leg(json: &str) -> Leg {
        Leg::new(&serde_json::from_str(json).unwrap(), 2)
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Sends the cells of one frame at these times over a line that carries one cell per
    /// microsecond. Returns the arrival time of each cell, if it arrives.
    fn sent(leg: &mut Leg, times: &[u64], low_priority: bool) -> Vec<Option<u64>> {
        let mut stream = Streams::new(1, 0).stream("leg");
        let last = times.len() - 1;
        let cell = |(index, time): (usize, &u64)| match leg.send(
            at(*time),
            0,
            Some(index == last),
            low_priority,
            &mut stream,
        ) {
            Fate::Arrives(time) => Some(time.as_nanos() / 1000),
            _ => None,
        };
        times.iter().enumerate().map(cell).collect()
    }

    const LINE: &str = r#""rate": "424 Mbit/s", "delay": "10 us""#;

    #[test]
    fn a_buffer_excludes_the_cell_in_transmission() {
        let all = |times: &[u64]| sent(&mut leg(&format!("{{{LINE}, \"buffer\": 3}}")), times, false);
        let some = |times: &[u64]| times.iter().map(|time| Some(*time)).collect::<Vec<_>>();
        assert_eq!(all(&[0, 0, 0, 0, 0, 2]), [some(&[11, 12, 13, 14]), vec![None, Some(15)]].concat());
    }

    #[test]
    fn low_priority_cells_are_dropped_first() {
        let mut leg = leg(&format!("{{{LINE}, \"buffer\": 3, \"low_priority\": 1}}"));
        assert_eq!(sent(&mut leg, &[0, 0, 0], true), [Some(11), Some(12), None]);
        assert_eq!(sent(&mut leg, &[0, 0, 0], false), [Some(13), Some(14), None]);
        assert_eq!((leg.counters.dropped, leg.counters.dropped_low), (2, 1));
    }

    #[test]
    fn a_frame_is_dropped_early_as_a_whole_or_partially_up_to_its_last_cell() {
        let mut early = leg(&format!("{{{LINE}, \"buffer\": 9, \"early\": 2}}"));
        assert_eq!(sent(&mut early, &[0, 0, 0], false).iter().flatten().count(), 3);
        // Because two cells wait, no cell of the next frame is accepted, although the buffer has
        // room. This holds even for a later cell that arrives at an empty buffer.
        assert_eq!(sent(&mut early, &[0, 0, 5], false), [None; 3]);
        assert_eq!(sent(&mut early, &[6], false), [Some(17)]);
        let mut partial = leg(&format!("{{{LINE}, \"buffer\": 1, \"partial\": true}}"));
        assert_eq!(sent(&mut partial, &[0, 0, 0, 5, 5], false), [Some(11), Some(12), None, None, Some(16)]);
    }

    #[test]
    fn time_division_sends_a_burst_in_each_frame() {
        // TDMA frames of 100 us have 10 cells (42.4 Mbit/s) at 424 Mbit/s. Slots begin at 0, 1,
        // ..., 9 us of each frame.
        let mut leg =
            leg(r#"{"rate": "42400 kbit/s", "tdma": {"frame": "100 us", "carrier": "424 Mbit/s"}}"#);
        assert_eq!(sent(&mut leg, &[0, 5, 5, 9, 10], false), [1, 6, 7, 10, 101].map(Some));
        assert_eq!(
            sent(&mut leg, &[10; 10], false),
            [102, 103, 104, 105, 106, 107, 108, 109, 110, 201].map(Some)
        );
    }

    proptest! {
        /// Checks the waiting times of cells with Lindley's recursion, and the order of cells.
        #[test]
        fn cells_wait_as_in_a_queue(gaps in prop::collection::vec(0u64..3000, 1..200)) {
            let mut leg = leg(r#"{"rate": "424 Mbit/s"}"#);
            let mut stream = Streams::new(1, 0).stream("leg");
            let (mut now, mut wait, mut before) = (0u64, 0u64, 0u64);
            for (index, gap) in gaps.iter().enumerate() {
                if index > 0 { wait = (wait + 1000).saturating_sub(*gap); }
                now += gap;
                let Fate::Arrives(arrival) = leg.send(Time::from_nanos(now), 0, Some(true), false, &mut stream) else { panic!() };
                prop_assert_eq!(arrival.as_nanos(), now + wait + 1000);
                prop_assert!(arrival.as_nanos() >= before + 1000);
                before = arrival.as_nanos();
            }
        }
    }

    #[test]
    fn bit_errors_corrupt_payloads_and_headers_in_proportion_to_their_bits() {
        let mut leg = leg(r#"{"rate": "424 Mbit/s", "error": {"bit": {"rate": 1e-3}}}"#);
        let mut stream = Streams::new(7, 0).stream("leg");
        let cells = 200_000;
        let (mut corrupted, mut lost) = (0.0, 0.0);
        for cell in 0..cells {
            match leg.send(at(cell), 0, Some(true), false, &mut stream) {
                Fate::Corrupted(_) => corrupted += 1.0,
                Fate::Lost(_) => lost += 1.0,
                _ => {}
            }
        }
        // A header is right with probability r = 0.999^40 and has one wrong bit with probability s
        // = 40 x 0.001 x 0.999^39. One wrong bit is accepted only in correction mode, which follows
        // a right header. So the fraction r + r s of all headers is accepted.
        let (right, single) = (0.999f64.powi(40), 0.04 * 0.999f64.powi(39));
        let accepted = right + right * single;
        let wrong = 1.0 - 0.999f64.powi(384);
        // Three standard errors of a binomial with 200 000 trials are below 0.0034.
        assert!((lost / cells as f64 - (1.0 - accepted)).abs() < 0.0034, "{lost}");
        assert!((corrupted / cells as f64 - accepted * wrong).abs() < 0.0034, "{corrupted}");
    }
}
