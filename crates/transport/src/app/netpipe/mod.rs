//! NetPIPE: how long a block takes, by its size (Q. Snell, A. Mikler and J. Gustafson, "NetPIPE: A
//! Network Protocol Independent Performance Evaluator", 1996), with the sizes, the repeats, the
//! trials and the end of version 3.7.2 ([`schedule`]).
//!
//! | `mode` | a repeat | time of a block |
//! | --- | --- | --- |
//! | `ping-pong` | the block goes to the destination, a block of the same size comes back | half of it |
//! | `one-way` | the block goes to the destination, one byte comes back | all of it |
//! | `stream` | all blocks of a trial follow each other | time until all are acknowledged, per block |
//!
//! A connection begins with a message of 6 bytes each way and 100 repeats of the first size, whose
//! time gives the number of repeats of the first block. Each trial begins with a message of 6 bytes
//! each way, the first of a block with 16 bytes (synchronisation, number of repeats,
//! synchronisation). A block has three trials; its time is that of the shortest. NetPIPE ends after
//! the last size, or at the next unperturbed size once a block has taken `stop` or more.
//!
//! Results: the table `netpipe`, a row for each block, from which `bentpipe netpipe` makes the
//! program's own file `np.out`, and a row of the trace `transaction` for each trial. If the run
//! ends first, the flow's column `netpipe_pending` names the size.
//!
//! Deviations: bytes have no content, so the destination recognises messages by their length,
//! answers the synchronisation instead of sending its own (a trial begins a round trip later, which
//! no time includes), and one of a block's own size is a byte longer; the real program's stream
//! opens a connection for each trial and takes the time until its writes have returned; one-way is
//! ours. NetPIPE switches Nagle's algorithm off: with `nagle = true` in the flow's transport it is
//! on nevertheless.
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

/// NetPIPE: measures how long blocks of growing size take, with the schedule of the real program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What is measured: `"ping-pong"` (the default, half of a round trip), `"one-way"` (a block
    /// and one byte back) or `"stream"` (blocks in one direction).
    pub mode: Mode,
    /// First block size, at least 1 B (the default); the option -l of NPtcp.
    pub first: Size,
    /// Greatest unperturbed block size; the option -u. If unset, sizes grow until a block takes
    /// `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Size>,
    /// Number of bytes by which blocks are also smaller and larger than the sizes, 3 by default; 0
    /// for none. The option -p.
    pub perturbation: Count<0, 1000>,
    /// Number of repeats in each trial; the option -n. If unset, as many as take a tenth of a
    /// second, at least 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Count<1, 1_000_000>>,
    /// Time of a block after which no greater size is measured, 1 s by default, as in the real
    /// program.
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
    /// Blocks to the destination, one after the other.
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

/// What was measured of each block.
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

/// Bytes of a synchronisation, and of what precedes the first trial of a block.
const SYNC: u64 = 6;
const FIRST_TRIAL: u64 = 16;
/// Repeats before the first block.
const LATENCY_REPEATS: u32 = 100;
/// Bytes that answer a block in mode one-way.
const RECEIPT: u64 = 1;

/// Returns the bytes of the message before a trial, while blocks have `block` bytes.
fn message(first_trial: bool, block: u64) -> u64 {
    let bytes = if first_trial { FIRST_TRIAL } else { SYNC };
    bytes + u64::from(bytes == block)
}
