//! End-to-end transport protocols: TCP, UDP, TFRC and telephony, each with its endpoints and packet
//! bodies.

pub mod app;
mod classes;
pub mod details;
pub mod flow;
pub mod hosting;
pub mod names;
pub mod statistics;
pub mod tcp;
pub mod telephony;
pub mod tfrc;
pub mod udp;

use crate::app::{calls, App, Workload};
use bentpipe_core::{kinds, Probe, Problems, Rate, Stream};
use bentpipe_stage::packet::quick_start::QuickStart;
use bentpipe_stage::Stage;
use hosting::Site;

kinds! {
    /// The transport protocol that carries a flow.
    #[schemars(rename = "Transport")]
    pub enum Config: Transport, tables {
        "iax2" => Iax2(telephony::iax2::Config),
        "sip" => Sip(telephony::sip::Config),
        "tcp" => Tcp(tcp::Config),
        "tfrc" => Tfrc(tfrc::Config),
        "udp" => Udp(udp::Config),
    }
}

/// What a transport's `Config` can do.
pub trait Transport {
    /// One end of a flow as a stage with in port 0 and out port 0.
    fn build(&self, seat: Seat, supply: &mut dyn Supply) -> Box<dyn Stage>;

    /// Returns the socket of an operating system's kernel that carries the same. By default kernels
    /// do not have the transport: its models stand at the ends of flows in emulations, too.
    fn socket(&self) -> Option<Socket<'_>> {
        None
    }

    /// Takes from an end's random stream what the protocol itself needs, before its application
    /// draws. Called once for each end, on every clock, so that the applications' draws are
    /// identical.
    fn draw(&self, _stream: &mut Stream) -> u64 {
        0
    }

    /// Returns true if it carries telephone calls, and nothing else.
    fn carries_calls(&self) -> bool {
        false
    }

    /// Returns the signalling of calls at one end, if it carries calls. `random` is for the
    /// signalling alone, `supply` for TCP below it.
    fn line(
        &self,
        _ends: telephony::Ends,
        _calls: &calls::Config,
        _random: Stream,
        _supply: &mut dyn tcp::Supply,
    ) -> Option<Box<dyn telephony::Line>> {
        None
    }

    /// Why an application of this `kind` cannot run over it, if so.
    fn mismatch(&self, _kind: &str, _app: &dyn Workload) -> Option<String> {
        None
    }

    /// Returns the bytes of the largest packet at the network layer and the sum that they are, if
    /// the transport limits it.
    fn largest_packet(&self) -> Option<(u64, String)> {
        None
    }

    /// Returns the packets of a flow in its steady state, whose application sends datagrams of this
    /// size, or as much as it may.
    fn packets(&self, datagram: Option<u32>) -> Packets;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// Returns the refusal of an application that writes into its datagrams, over another transport
/// than udp.
pub(crate) fn needs_udp(kind: &str) -> String {
    format!("\"{kind}\" sends datagrams with headers of its own; allowed: transport = \"udp\"")
}

/// The packets of a flow in its steady state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packets {
    /// Payload of a packet, in bytes.
    pub payload: u32,
    /// Its size at the network layer, in bytes.
    pub size: u32,
    /// Size of what comes back, in bytes; 0 if nothing does.
    pub answer: u32,
    /// True if the flow sends less when packets are lost.
    pub responsive: bool,
}

impl Config {
    /// TCP's configuration, if that is what carries the flow: for congestion controls, proxies and
    /// handovers.
    pub fn tcp(&self) -> Option<&tcp::Config> {
        match self.socket() {
            Some(Socket::Stream(config)) => Some(config),
            _ => None,
        }
    }
}

/// A kernel's socket for a flow.
#[derive(Clone, Copy, Debug)]
pub enum Socket<'a> {
    /// A TCP socket with the parameters of a scenario.
    Stream(&'a tcp::Config),
    /// A UDP socket, which has no parameters.
    Datagram,
}

/// What an end of a flow is built from.
pub struct Seat {
    /// The node and the place in the network at which this end is.
    pub site: Site,
    /// The application that this end serves.
    pub app: Box<dyn App>,
    /// The telephone calls that it stands for, if it does.
    pub calls: Option<calls::Config>,
    /// How many of the application's connections have traces of their own.
    pub traced: u16,
    /// Probe of the trace [`hosting::TRACE`], if it is recorded.
    pub transactions: Option<Probe>,
    /// Rows of the application's own trace ([`Workload::measures`]).
    pub measures: Option<Probe>,
    /// This end's own random stream.
    pub stream: Stream,
    /// Random bits that both ends of the flow have in common.
    pub common: u64,
}

/// What transports ask of the engine while they are built.
pub trait Supply: tcp::Supply {
    /// This TCP with what the handovers on the flow's path will tell its end.
    fn told(&mut self, config: &tcp::Config) -> tcp::Config {
        config.clone()
    }
}

/// Adds a problem if the option of a Quick-Start request cannot express the rate (RFC 4782, section
/// 3.1).
fn check_quick_start(rate: Option<Rate>, problems: &mut Problems) {
    let [least, most] = [1, 15].map(|rate| QuickStart { rate, missed: false }.bits_per_second());
    if let Some(rate) = rate.filter(|rate| !(least..=most).contains(&rate.bits_per_second())) {
        let [least, most] = [least, most].map(Rate::from_bits_per_second);
        problems.add(
            "quick_start",
            format!("{rate} is out of range; allowed: {least} to {most} (RFC 4782, section 3.1)"),
        );
    }
}
