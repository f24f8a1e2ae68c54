//! What this machine can do: how many packets the engine carries, how exactly it lets them go, how
//! little it adds, and up to which rate a run would be valid. Takes some ten seconds.

pub mod load;
pub mod rig;

use self::load::{offer, ping_pong, Offer};
use self::rig::{one_link, Rig};
use crate::clock::attendance::Attendance;
use crate::clock::lateness::Lateness;
use crate::error::{Doing, Error};
use crate::report::fidelity::{Fidelity, Percentiles, Verdict};
use bentpipe_core::Span;
use serde::Serialize;
use std::time::Duration;

/// Packets of the Ethernet's size, as in bulk transfers.
const FULL: usize = 1500;
/// Small packets, as acknowledgments and calls are.
const SMALL: usize = 64;
/// Propagation delay where packets are to be in flight, in nanoseconds.
const DELAY: u64 = 50_000_000;
/// Rates that are tried for a valid run, in bit/s.
const RATES: [u64; 8] = [
    3_000_000_000,
    2_000_000_000,
    1_000_000_000,
    500_000_000,
    200_000_000,
    100_000_000,
    50_000_000,
    10_000_000,
];

/// The capacity of this machine as measured.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Packets of 64 bytes per second through a network of one link, when more are offered.
    pub small_packets_per_s: f64,
    /// Packets of 1500 bytes per second.
    pub full_packets_per_s: f64,
    /// How late packets leave when 10 000 a second do.
    pub lateness: Percentiles,
    /// How late the engine's thread is woken by its timer.
    pub wakeups: Percentiles,
    /// What the emulation adds to the path between two programs: half of a round trip over a link
    /// without delay.
    pub added_delay: Percentiles,
    /// The largest rate of those tried at which a second of packets of 1500 bytes was valid, in
    /// bit/s.
    pub valid_rate: Option<u64>,
    /// Rates that were tried and why a run at them was not valid.
    pub refused: Vec<Refused>,
    /// What the engine's thread got while packets were let go.
    pub engine: Attendance,
}

/// A rate at which a run was not valid.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Offered rate in bit/s.
    pub rate: u64,
    /// Reasons for the verdict, one sentence each.
    pub reasons: Vec<String>,
}

/// Measures what this machine can emulate in real time.
///
/// # Errors
/// This machine has no namespaces or no TUN for us.
pub fn calibrate() -> Result<Calibration, Error> {
    let small_packets_per_s = capacity(SMALL)?;
    let full_packets_per_s = capacity(FULL)?;
    let added_delay = added_delay()?;
    let exact = judged(126_000_000, 10_000.0, Duration::from_secs(2))?.measured;
    let (mut valid_rate, mut refused) = (None, Vec::new());
    for rate in RATES {
        let packets = rate as f64 / (8 * FULL) as f64;
        if packets > full_packets_per_s {
            continue;
        }
        let fidelity = judged(rate, 0.95 * packets, Duration::from_secs(1))?;
        if fidelity.verdict == Verdict::Valid {
            valid_rate = Some(rate);
            break;
        }
        refused.push(Refused { rate, reasons: fidelity.reasons });
    }
    Ok(Calibration {
        small_packets_per_s,
        full_packets_per_s,
        lateness: exact.lateness,
        wakeups: exact.wakeups,
        added_delay,
        valid_rate,
        refused,
        engine: exact.engine,
    })
}

/// Packets per second that come through when more are offered than do.
fn capacity(size: usize) -> Result<f64, Error> {
    let rig = Rig::start(&one_link(100_000_000_000, 0), "a", "b", FULL as u32)?;
    let wanted = Offer { size, rate: None, duration: Duration::from_secs(1), delay: 1_000_000_000 };
    let received = offer(&rig, 0, wanted).doing("offering packets")?;
    rig.stop()?;
    Ok(received.rate())
}

fn added_delay() -> Result<Percentiles, Error> {
    let rig = Rig::start(&one_link(100_000_000_000, 0), "a", "b", FULL as u32)?;
    let trips =
        ping_pong(&rig, 1000, SMALL, Duration::from_micros(200)).doing("sending packets to and fro")?;
    rig.stop()?;
    let mut halves = Lateness::default();
    trips.into_iter().for_each(|trip| halves.add(Span::from_nanos(trip / 2)));
    Ok((&halves).into())
}

/// Returns a run over a link of `rate` bit/s to which `packets` full packets a second are offered.
fn judged(rate: u64, packets: f64, duration: Duration) -> Result<Fidelity, Error> {
    let scenario = one_link(rate, DELAY);
    let rig = Rig::start(&scenario, "a", "b", FULL as u32)?;
    let wanted = Offer { size: FULL, rate: Some(packets), duration, delay: DELAY };
    offer(&rig, 0, wanted).doing("offering packets")?;
    let mut ran = rig.stop()?;
    Ok(Fidelity::of(&mut ran.bridge, &scenario, ran.end))
}
