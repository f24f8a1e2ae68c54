//! The source of NetPIPE, which sends blocks and measures their times.

use super::schedule::{Schedule, TRIALS};
use super::{message, Config, Mode, BLOCKS, LATENCY_REPEATS, PROGRESS, RECEIPT, SYNC};
use crate::app::{Actions, App, Event, Transaction};
use bentpipe_core::{Report, Span, Stream, Time};

/// The answer that the source expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The answer to the first synchronisation message.
    Start,
    /// The answers to blocks of the first size.
    Latency,
    /// The answer to the message before a trial.
    Sync,
    /// The answers to the blocks of a trial.
    Trial,
    /// No answer: the source has finished.
    Over,
}

/// The measurements of a block.
struct Row {
    block: u64,
    repeats: u32,
    /// Times of the trials in seconds.
    times: [f64; TRIALS as usize],
    singles: Singles,
}

/// Times of single repeats in seconds.
#[derive(Default)]
struct Singles {
    count: u32,
    sum: f64,
    squares: f64,
}

impl Singles {
    fn add(&mut self, time: f64) {
        self.count += 1;
        self.sum += time;
        self.squares += time * time;
    }

    /// Returns mean and standard deviation; NaN without values.
    fn moments(&self) -> (f64, f64) {
        let count = f64::from(self.count);
        let mean = self.sum / count;
        (mean, (self.squares / count - mean * mean).max(0.0).sqrt())
    }
}

impl Row {
    fn shortest(&self) -> f64 {
        self.times.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The source of the blocks.
pub struct Source {
    mode: Mode,
    constant: Option<u32>,
    stop: Span,
    first: u64,
    schedule: Schedule,
    phase: Phase,
    /// The present trial, and the number of its remaining repeats.
    trial: u32,
    repeats: u32,
    left: u32,
    began: Time,
    /// Bytes of the present answer that have not arrived.
    pending: u64,
    /// Time of the previous block, in seconds.
    last_time: f64,
    times: [f64; TRIALS as usize],
    /// Time at which the previous repeat was complete, and the times of the block's repeats.
    previous: Time,
    singles: Singles,
    rows: Vec<Row>,
}

impl Source {
    /// Creates the source before the connection is established.
    pub fn new(config: &Config) -> Source {
        Source {
            mode: config.mode,
            constant: config.repeats.map(|repeats| repeats.value() as u32),
            stop: config.stop,
            first: config.first.bytes(),
            schedule: config.schedule(),
            phase: Phase::Start,
            trial: 0,
            repeats: 0,
            left: 0,
            began: Time::ZERO,
            pending: 0,
            last_time: 0.0,
            times: [0.0; TRIALS as usize],
            previous: Time::ZERO,
            singles: Singles::default(),
            rows: Vec::new(),
        }
    }

    /// Returns the bytes of a block and of the answer to it.
    fn exchange(&self) -> (u64, u64) {
        let block = match self.phase {
            Phase::Latency => self.first,
            _ => self.schedule.block().unwrap_or(0),
        };
        match (self.mode, self.phase) {
            (Mode::OneWay, _) => (block, RECEIPT),
            (Mode::Stream, Phase::Trial) => (block * u64::from(self.repeats), 0),
            _ => (block, block),
        }
    }

    fn send(&mut self, actions: &mut Actions) {
        let (block, answer) = self.exchange();
        actions.send = block;
        self.pending = answer;
    }

    /// Continues after a complete answer.
    fn answered(&mut self, now: Time, actions: &mut Actions) {
        if self.phase == Phase::Trial && self.mode != Mode::Stream {
            self.singles.add(now.since(self.previous).as_secs_f64() / self.divisor());
            self.previous = now;
        }
        match self.phase {
            Phase::Start => {
                (self.phase, self.left, self.began) = (Phase::Latency, LATENCY_REPEATS, now);
                self.send(actions);
            }
            Phase::Latency | Phase::Trial if self.left > 1 => {
                self.left -= 1;
                self.send(actions);
            }
            Phase::Latency => {
                self.last_time = self.per_block(now, LATENCY_REPEATS);
                self.next_block(self.first, actions);
            }
            Phase::Sync => self.begin_trial(now, actions),
            Phase::Trial => self.end_trial(now, actions),
            Phase::Over => {}
        }
    }

    /// Returns the time of a block in seconds, if `repeats` of them were sent since the beginning.
    fn per_block(&self, now: Time, repeats: u32) -> f64 {
        let round = now.since(self.began).as_secs_f64() / f64::from(repeats);
        round / self.divisor()
    }

    /// Returns the number of times that a repeat crosses the path with a block.
    fn divisor(&self) -> f64 {
        let halves =
            self.mode == Mode::PingPong || (self.mode == Mode::Stream && self.phase == Phase::Latency);
        if halves {
            2.0
        } else {
            1.0
        }
    }

    /// Starts the trials of the schedule's block, or ends. Blocks had `before` bytes.
    fn next_block(&mut self, before: u64, actions: &mut Actions) {
        if self.schedule.block().is_none() {
            self.phase = Phase::Over;
            actions.close = true;
            return;
        }
        self.repeats = self.constant.unwrap_or_else(|| self.schedule.repeats(self.last_time));
        self.trial = 0;
        self.synchronise(message(true, before), actions);
    }

    fn synchronise(&mut self, bytes: u64, actions: &mut Actions) {
        self.phase = Phase::Sync;
        actions.send = bytes;
        // The destination of a stream sends no answers; the acknowledgment of all data is the
        // answer.
        self.pending = if self.mode == Mode::Stream { 0 } else { SYNC };
    }

    fn begin_trial(&mut self, now: Time, actions: &mut Actions) {
        self.phase = Phase::Trial;
        self.left = if self.mode == Mode::Stream { 1 } else { self.repeats };
        (self.began, self.previous) = (now, now);
        self.send(actions);
    }

    fn end_trial(&mut self, now: Time, actions: &mut Actions) {
        let block = self.schedule.block().unwrap_or(0);
        self.times[self.trial as usize] = self.per_block(now, self.repeats);
        actions.over = Some(Transaction {
            start: self.began,
            bytes: block * u64::from(self.repeats),
            parts: self.repeats,
            complete: true,
        });
        self.trial += 1;
        if self.trial < TRIALS {
            return self.synchronise(message(false, block), actions);
        }
        let singles = std::mem::take(&mut self.singles);
        let row = Row { block, repeats: self.repeats, times: self.times, singles };
        self.last_time = row.shortest();
        self.rows.push(row);
        if self.schedule.advance() && self.last_time >= self.stop.as_secs_f64() {
            self.phase = Phase::Over;
            actions.close = true;
            return;
        }
        self.next_block(block, actions);
    }
}

impl App for Source {
    fn on(&mut self, now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected => {
                actions.send = SYNC;
                self.pending = SYNC;
            }
            Event::Received { bytes } if self.pending > 0 => {
                self.pending = self.pending.saturating_sub(bytes);
                if self.pending == 0 {
                    self.answered(now, actions);
                }
            }
            // An acknowledgment takes time: one at the time of sending belongs to earlier data.
            Event::MaySend if self.pending == 0 && now > self.began => {
                let streams = self.mode == Mode::Stream && matches!(self.phase, Phase::Sync | Phase::Trial);
                if streams {
                    self.began = if self.phase == Phase::Sync { now } else { self.began };
                    self.answered(now, actions);
                }
            }
            Event::PeerClosed => actions.close = true,
            _ => {}
        }
    }

    fn pending(&self) -> u64 {
        u64::from(self.phase == Phase::Trial)
    }

    fn report(&self, flow: &str, _: Span, report: &mut Report) {
        for (number, row) in self.rows.iter().enumerate() {
            let mean: f64 = row.times.iter().sum::<f64>() / f64::from(TRIALS);
            let variance =
                row.times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / f64::from(TRIALS);
            let (time, (single_mean, single_deviation)) = (row.shortest(), row.singles.moments());
            let values = [
                row.block as f64,
                f64::from(row.repeats),
                time,
                8.0 * row.block as f64 / time,
                variance,
                single_mean,
                single_deviation,
            ];
            report.row(&BLOCKS, &format!("{flow}.{number}"), &values);
        }
        let pending = match self.phase {
            Phase::Over => 0,
            _ => self.schedule.block().unwrap_or(0),
        };
        report.row(&PROGRESS, flow, &[self.rows.len() as f64, pending as f64]);
    }
}
