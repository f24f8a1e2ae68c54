//! The kernel's own Wi-Fi over bentpipe's medium: networks whose `stack` is `"linux"`, in a guest,
//! or on a kernel with simulated radios.
//!
//! Each station is a radio of the kernel (mac80211_hwsim) in a separate namespace. Stations
//! associate with the access point ([`infrastructure`]), or join an ad hoc network if there is
//! none. The engine passes a packet for the network to the sender's radio ([`link`]). The kernel's
//! Wi-Fi queues the packet, chooses its rates and passes it to the medium ([`medium`]). The
//! receiver's radio returns the packet to the engine.

pub mod frame;
pub mod genetlink;
pub mod infrastructure;
pub mod link;
pub mod management;
pub mod medium;
pub mod nl80211;
pub mod radio;
pub mod refused;

use crate::clock::{monotonic, sleep_until, Clock, Scheduling, Timing};
use crate::error::{Doing, Error};
use crate::host::port::Port;
use bentpipe_core::{Streams, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_link::queue::{self, limit};
use bentpipe_networks::wifi::config::{Config, Standard};
use bentpipe_networks::{NetworkKind, RadioLink};
use genetlink::Socket;
use infrastructure::Infrastructure;
use link::RadioPort;
use medium::{Ended, Medium};
use radio::Radio;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum time before the run in which stations discover each other by beacons, and the interval
/// of the checks.
const SETTLING: Duration = Duration::from_secs(60);
const ASKING: Duration = Duration::from_millis(500);
/// Bytes of memory for packets in transit through the kernel: two frames of 1500 bytes. The kernel
/// chooses a frame's rates when it passes the frame to the driver, so with more frames in transit,
/// the choice would be older (docs/notes/linux-wifi.md).
const UNDER_WAY: usize = 6_000;
/// Bytes of memory for packets in transit in 802.11n, in which the kernel limits the airtime of the
/// frames that it passes to the driver: two aggregates of 64 frames of 1500 bytes, each of which
/// takes 2304 bytes of memory. Further frames wait in the queues of the kernel's Wi-Fi.
const UNDER_WAY_IN_AGGREGATES: usize = 2 * 64 * 2304;

/// The radios of a scenario's networks, and the threads of their media.
pub struct Radios {
    networks: Vec<Network>,
}

struct Network {
    name: String,
    radios: Vec<Radio>,
    most: usize,
    under_way: usize,
    stop: Arc<AtomicBool>,
    /// Start of the run, in nanoseconds of CLOCK_MONOTONIC.
    zero: Arc<AtomicU64>,
    medium: Option<JoinHandle<Ended>>,
    /// The thread that answers for the access point, if there is one.
    answering: Option<JoinHandle<io::Result<()>>>,
}

impl Radios {
    /// Creates the radios of all networks with links among `links`, and waits until the stations
    /// know each other.
    ///
    /// # Errors
    /// Returns an error if this kernel has no radios or refuses to create them.
    pub fn new(
        scenario: &Scenario,
        (seed, run): (u64, u64),
        links: &[RadioLink],
        timing: Timing,
    ) -> Result<Radios, Error> {
        let mut networks = Vec::new();
        for (name, kind) in &scenario.network {
            if let (NetworkKind::Wifi(config), true) = (kind, links.iter().any(|link| link.network == *name))
            {
                networks.push(Network::new(name, config, Streams::new(seed, run), timing)?);
            }
        }
        let radios = Radios { networks };
        radios.settle(links)?;
        Ok(radios)
    }

    /// Waits until the stations of all links know each other.
    fn settle(&self, links: &[RadioLink]) -> Result<(), Error> {
        let mut left = SETTLING.as_millis() / ASKING.as_millis();
        for link in links {
            let network = self.network(link);
            let (radio, peer) = (&network.radios[link.station], &network.radios[link.peer]);
            let doing = || format!("looking for the stations of network {}", network.name);
            while !radio.knows(&peer.address).doing(doing())? {
                if left == 0 {
                    let text = format!(
                        "station {} has not heard station {} within {} s",
                        link.station,
                        link.peer,
                        SETTLING.as_secs()
                    );
                    return Err(io::Error::other(text)).doing(doing());
                }
                left -= 1;
                sleep_until(monotonic() + ASKING.as_nanos() as u64);
            }
        }
        Ok(())
    }

    fn network(&self, link: &RadioLink) -> &Network {
        let network = self.networks.iter().find(|network| network.name == link.network);
        network.expect("there are radios for every link")
    }

    /// Passes the start of the run to the media.
    pub fn begin(&self, clock: &Clock) {
        let zero = clock.monotonic_at(Time::ZERO);
        self.networks.iter().for_each(|network| network.zero.store(zero, Ordering::Relaxed));
    }

    /// Returns the engine's side of a link.
    ///
    /// # Errors
    /// Returns the errors of a packet socket.
    pub fn port(&self, link: &RadioLink) -> Result<Box<dyn Port>, Error> {
        let network = self.network(link);
        let (radio, peer) = (&network.radios[link.station], network.radios[link.peer].address);
        let port = RadioPort::new(radio, peer, network.most, network.under_way);
        Ok(Box::new(port.doing(format!("opening the radio of {}", link.network))?))
    }

    /// Ends the media. Returns their results, with the number of packets that the queues of each
    /// station have dropped.
    ///
    /// # Errors
    /// Returns an error if a medium ended before the run.
    pub fn finish(mut self) -> Result<Vec<(Ended, Vec<u64>)>, Error> {
        let mut all = Vec::new();
        for network in &mut self.networks {
            let (ended, answered) = network.end();
            answered.doing(format!("answering for the access point of network {}", network.name))?;
            let Some(mut ended) = ended else { continue };
            if let Some(error) = ended.failed.take() {
                return Err(error).doing(format!("being the medium of network {}", network.name));
            }
            let drops = network.radios.iter().map(|radio| radio.dropped.load(Ordering::Relaxed));
            all.push((ended, drops.collect()));
        }
        Ok(all)
    }
}

impl Network {
    fn new(name: &str, config: &Config, streams: Streams, timing: Timing) -> Result<Network, Error> {
        let doing = || format!("making the radios of network {name}");
        let mut driver = Socket::new().doing(doing())?;
        let stations = config.members().len();
        let mut radios = Vec::with_capacity(stations);
        for station in 0..stations {
            radios.push(Radio::new(&mut driver, config, station)?);
        }
        let medium = Medium::new(driver, name, config, streams, timing)
            .doing(format!("being the medium of network {name}"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let zero = Arc::new(AtomicU64::new(u64::MAX));
        let told = (Arc::clone(&stop), Arc::clone(&zero));
        let thread = thread::Builder::new().name("medium".to_owned());
        let thread = thread.spawn(move || {
            Scheduling::best();
            medium.run(&told.0, &told.1)
        });
        let mut network = Network {
            name: name.to_owned(),
            radios,
            most: most(&config.queue),
            under_way: match config.standard {
                Standard::N => UNDER_WAY_IN_AGGREGATES,
                _ => UNDER_WAY,
            },
            stop,
            zero,
            medium: Some(thread.doing("starting the thread of a medium")?),
            answering: None,
        };
        if config.access_point.is_some() {
            let doing = || format!("starting the access point of network {name}");
            let infrastructure = Infrastructure::new(config, &network.radios).doing(doing())?;
            let stop = Arc::clone(&network.stop);
            let thread = thread::Builder::new().name("access point".to_owned());
            network.answering = Some(
                thread
                    .spawn(move || infrastructure.run(&stop))
                    .doing("starting the thread of an access point")?,
            );
        }
        Ok(network)
    }

    /// Ends both threads. Returns the medium's results, and the result of the access point's
    /// thread.
    fn end(&mut self) -> (Option<Ended>, io::Result<()>) {
        self.stop.store(true, Ordering::Relaxed);
        let answered = self.answering.take().map_or(Ok(()), result);
        (self.medium.take().map(result), answered)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Returns the result of a thread.
fn result<R>(thread: JoinHandle<R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the maximum number of packets that can wait at a radio.
fn most(queue: &queue::Config) -> usize {
    let most = match queue {
        queue::Config::DropTail(config) => limit::max_packets(config.packets, config.bytes),
        _ => Some(limit::DEFAULT_PACKETS),
    };
    most.map_or(usize::MAX, |most| most as usize)
}
