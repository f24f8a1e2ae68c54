//! NetPIPE: transfer times of blocks by size (Q. Snell, A. Mikler and J. Gustafson, "NetPIPE: A
//! Network Protocol Independent Performance Evaluator", 1996), with the sizes, repeats, trials and
//! end of version 3.7.2 ([`schedule`]).
//!
//! | `mode` | a repeat | time of a block |
//! | --- | --- | --- |
//! | `ping-pong` | a block there, a block of the same size back | half of the repeat |
//! | `one-way` | a block there, one byte back | the repeat |
//! | `stream` | blocks there, one after the other | time to the last acknowledgment, per block |
//!
//! A connection begins with a message of 6 bytes each way and 100 repeats of the first size, whose
//! time determines the number of repeats of the first block. Each trial begins with a message of 6
//! bytes each way, the first of a block with 16 bytes (synchronisation, number of repeats,
//! synchronisation). A block has three trials; its time is that of the shortest. NetPIPE ends after
//! the last size, or at the next unperturbed size once a block has taken `stop` or more.
//!
//! Results: the table `netpipe`, with a row per block, from which `bentpipe export RUN np.out`
//! makes the program's own file, and a row of the trace `transaction` per trial. If the run ends
//! first, the flow's column `netpipe_pending` contains the size.
//!
//! Deviations: bytes have no content, so the destination recognises messages by their length. It
//! answers the synchronisation instead of sending its own, so a trial begins a round trip later,
//! which is not part of any measured time. A message of the size of a block is a byte longer. The
//! real program's stream opens a connection for each trial and measures the time until its writes
//! have returned. NetPIPE has no mode one-way. NetPIPE disables Nagle's algorithm; `nagle = true`
//! in the flow's transport enables it nevertheless.
//!
//! ```toml
//! app = { kind = "netpipe", last = "64 KiB", repeats = 7 }
//! ```

mod destination;
pub mod schedule;
mod source;
#[cfg(test)]
mod tests;

use super::{Answers, App, End, Workload};
use bentpipe_core::{Column, Count, Problems, Sample, Size, Span, Stream, Table, Tables};
use destination::Destination;
use schedule::Schedule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use source::Source;

/// NetPIPE: measures transfer times of blocks of growing size, with the schedule of the real
/// program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Measured exchange: `"ping-pong"` (the default, half of a round trip), `"one-way"` (a block
    /// and one byte back) or `"stream"` (blocks in one direction).
    pub mode: Mode,
    /// First block size, at least 1 B. Default 1 B; option -l of NPtcp.
    pub first: Size,
    /// Maximum unperturbed block size; option -u of NPtcp. If unset, sizes grow until a block takes
    /// `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Size>,
    /// Perturbation: number of bytes by which additional blocks are smaller and larger than the
    /// sizes; 0 for none, at most 1000. Default 3; option -p of NPtcp.
    pub perturbation: Count<0, 1000>,
    /// Number of repeats in each trial; option -n of NPtcp. If unset, as many as take a tenth of a
    /// second, at least 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Count<1, 1_000_000>>,
    /// Block time at which the sizes stop growing. Default 1 s, as in the real program.
    pub stop: Span,
}

/// The exchange that NetPIPE repeats and measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "NetpipeMode")]
pub enum Mode {
    /// A block to the destination and one of the same size back.
    #[default]
    PingPong,
    /// A block to the destination and one byte back.
    OneWay,
    /// Blocks to the destination, without answers.
    Stream,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mode: Mode::PingPong,
            first: Size::from_bytes(1),
            last: None,
            perturbation: Count::new(3),
            repeats: None,
            stop: Span::from_secs(1),
        }
    }
}

/// Report of the measured blocks.
pub static BLOCKS: Table = Table {
    name: "netpipe",
    entity: "block",
    about: "at the end of the run, for each block of NetPIPE that was measured (FLOW.NUMBER)",
    columns: &[
        Column::whole("block_bytes", "bytes", "size of the block"),
        Column::whole("repeats", "1", "repeats in each of the three trials"),
        Column::real(
            "block_time",
            "s",
            "time of the block in the shortest trial; of ping-pong half a round trip",
        ),
        Column::real("block_throughput", "bit/s", "bits of the block divided by that time"),
        Column::real("block_variance", "s^2", "variance of the times of the three trials about their mean"),
        Column::real("single_mean", "s", "mean time of a repeat in all trials; none of a stream"),
        Column::real("single_deviation", "s", "standard deviation of the times of repeats; none of a stream"),
    ],
};

/// The table of NetPIPE's progress in a flow, in results of flows.
pub static PROGRESS: Table = Table {
    name: "flow_netpipe",
    entity: "flow",
    about: "at the end of the run, of a flow that runs NetPIPE",
    columns: &[
        Column::whole("netpipe_blocks", "1", "number of blocks that were measured"),
        Column::whole(
            "netpipe_pending",
            "bytes",
            "size of the block whose trials the end of the run or of the connection cut off; 0 if NetPIPE had finished",
        ),
    ],
};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&BLOCKS, &PROGRESS];
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"last = "6 kB", repeats = 3"#;
}

impl Config {
    fn schedule(&self) -> Schedule {
        let last = self.last.map_or(u64::MAX / 8, Size::bytes);
        Schedule::new(self.first.bytes(), last, self.perturbation.value())
    }
}

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Source::new(self)),
            End::Destination => Box::new(Destination::new(self)),
        }
    }

    fn is_elastic(&self) -> bool {
        true
    }

    fn has_transactions(&self) -> bool {
        true
    }

    fn answers(&self) -> Answers {
        match self.mode {
            Mode::PingPong => Answers::Stream,
            Mode::OneWay | Mode::Stream => Answers::Nothing,
        }
    }

    fn check(&self, problems: &mut Problems) {
        if self.first.bytes() == 0 {
            problems.add("first", "must be at least 1 B");
        }
        if let Some(last) = self.last.filter(|last| *last < self.first) {
            problems
                .add("last", format!("{last} is less than the first size; allowed: at least {}", self.first));
        }
        if self.stop == Span::ZERO {
            problems.add("stop", "must be longer than 0 s");
        }
    }
}

/// Size of a synchronisation in bytes, and of the message before the first trial of a block.
const SYNC: u64 = 6;
const FIRST_TRIAL: u64 = 16;
/// Number of repeats before the first block.
const LATENCY_REPEATS: u32 = 100;
/// Size of the answer to a block in mode one-way, in bytes.
const RECEIPT: u64 = 1;

/// Returns the size of the message before a trial, while blocks have `block` bytes.
fn message(first_trial: bool, block: u64) -> u64 {
    let bytes = if first_trial { FIRST_TRIAL } else { SYNC };
    bytes + u64::from(bytes == block)
}
