//! The destination of NetPIPE, which answers messages and blocks.

use super::schedule::{Schedule, TRIALS};
use super::{message, Config, Mode, LATENCY_REPEATS, RECEIPT, SYNC};
use crate::app::{Actions, App, Event};
use bentpipe_core::{Stream, Time};

/// The message or block that the destination expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The first synchronisation message, which starts the measurement.
    Start,
    /// Blocks of the first size, from which the source estimates the time of a block.
    Latency,
    /// Blocks of this trial of the schedule's block.
    Trial(u32),
    /// The source streams, and the destination answers nothing.
    Sink,
}

/// The destination of the blocks.
pub struct Destination {
    mode: Mode,
    schedule: Schedule,
    first: u64,
    phase: Phase,
    answered: u32,
    /// Bytes of the present message or block that have not arrived.
    pending: u64,
}

impl Destination {
    /// Creates the destination before the connection is established.
    pub fn new(config: &Config) -> Destination {
        Destination {
            mode: config.mode,
            schedule: config.schedule(),
            first: config.first.bytes(),
            phase: Phase::Start,
            answered: 0,
            pending: 0,
        }
    }

    /// Returns the answer to the received bytes, if they are complete.
    fn answer(&mut self) -> Option<u64> {
        let block = match self.phase {
            Phase::Latency => self.first,
            Phase::Trial(_) => self.schedule.block()?,
            Phase::Start => 0,
            Phase::Sink => return None,
        };
        let next = match self.phase {
            Phase::Start => SYNC,
            Phase::Trial(trial) if trial + 1 < TRIALS => message(false, block),
            _ => message(true, block),
        };
        if self.pending == next {
            self.pending = 0;
            self.phase = match self.phase {
                Phase::Start => Phase::Latency,
                Phase::Latency => Phase::Trial(0),
                Phase::Trial(trial) if trial + 1 < TRIALS => Phase::Trial(trial + 1),
                _ => {
                    self.schedule.advance();
                    Phase::Trial(0)
                }
            };
            return Some(SYNC);
        }
        if self.phase == Phase::Start || self.pending < block {
            return None;
        }
        self.pending -= block;
        self.answered += 1;
        if self.mode == Mode::Stream && self.answered == LATENCY_REPEATS {
            self.phase = Phase::Sink;
        }
        Some(if self.mode == Mode::OneWay { RECEIPT } else { block })
    }
}

impl App for Destination {
    fn on(&mut self, _now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Received { bytes } => {
                self.pending += bytes;
                actions.send += self.answer().unwrap_or(0);
            }
            Event::PeerClosed => actions.close = true,
            _ => {}
        }
    }
}
