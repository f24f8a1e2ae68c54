//! Calibration of this machine: the packets per second that the engine carries, its release error,
//! the delay that it adds, and the maximum rate of a valid run. Takes about ten seconds.

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

/// Size of Ethernet's full packets, as in bulk transfers.
const FULL: usize = 1500;
/// Size of small packets, such as acknowledgments and packets of calls.
const SMALL: usize = 64;
/// Propagation delay of measurements with packets in flight, in nanoseconds.
const DELAY: u64 = 50_000_000;
/// Rates to try for a valid run, in bit/s.
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

/// The measured capacity of this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Packets of 64 bytes per second through a network of one overloaded link.
    pub small_packets_per_s: f64,
    /// Packets of 1500 bytes per second through a network of one overloaded link.
    pub full_packets_per_s: f64,
    /// Release error at 10 000 packets per second.
    pub lateness: Percentiles,
    /// Lateness of the wake-ups of the engine's thread by its timer.
    pub wakeups: Percentiles,
    /// Delay that the emulation adds to the path between two programs: half of a round trip over a
    /// link without delay.
    pub added_delay: Percentiles,
    /// Maximum tried rate at which a second of packets of 1500 bytes was valid, in bit/s.
    pub valid_rate: Option<u64>,
    /// Tried rates at which a run was not valid, with the reasons.
    pub refused: Vec<Refused>,
    /// Processor time and competition of the engine's thread during the measurement of release
    /// errors.
    pub engine: Attendance,
}

/// A rate at which a run was not valid.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Offered rate of the load in bit/s.
    pub rate: u64,
    /// Reasons for the verdict, one sentence each.
    pub reasons: Vec<String>,
}

/// Measures what this machine can emulate in real time.
///
/// # Errors
/// Returns an error if this machine does not allow namespaces or TUN devices.
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

/// Returns the packets per second that pass an overloaded network.
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

/// Returns the verdict on a run over a link of `rate` bit/s, with a load of `packets` full packets
/// per second.
fn judged(rate: u64, packets: f64, duration: Duration) -> Result<Fidelity, Error> {
    let scenario = one_link(rate, DELAY);
    let rig = Rig::start(&scenario, "a", "b", FULL as u32)?;
    let wanted = Offer { size: FULL, rate: Some(packets), duration, delay: DELAY };
    offer(&rig, 0, wanted).doing("offering packets")?;
    let mut ran = rig.stop()?;
    Ok(Fidelity::of(&mut ran.bridge, &scenario, ran.end))
}
