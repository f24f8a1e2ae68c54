//! End-to-end transport protocols: TCP, QUIC, UDP, TFRC, NORM and telephony, each with its
//! endpoints and packet bodies.

pub mod app;
mod classes;
pub mod datagrams;
pub mod details;
pub mod flow;
pub mod hosting;
pub mod names;
pub mod norm;
pub mod quic;
pub mod sending;
pub mod statistics;
pub mod tcp;
pub mod telephony;
pub mod tfrc;
pub mod udp;

use crate::app::{calls, App, Workload};
use bentpipe_core::{kinds, Probe, Problems, Rate, Stream, Time};
use bentpipe_stage::packet::quick_start::QuickStart;
use bentpipe_stage::Stage;
use hosting::Site;
use sending::saved_path::SavedPaths;
use std::collections::BTreeMap;

kinds! {
    /// The transport protocol that carries a flow.
    #[schemars(rename = "Transport")]
    pub enum Config: Transport, tables {
        "iax2" => Iax2(telephony::iax2::Config),
        "norm" => Norm(norm::Config),
        "quic" => Quic(quic::Config),
        "sip" => Sip(telephony::sip::Config),
        "tcp" => Tcp(tcp::Config),
        "tfrc" => Tfrc(tfrc::Config),
        "udp" => Udp(udp::Config),
    }
}

/// The contract of a transport's `Config`.
pub trait Transport {
    /// Builds one end of a flow as a stage with input port 0 and output port 0.
    fn build(&self, parts: EndpointParts, supply: &mut dyn Supply) -> Box<dyn Stage>;

    /// Returns the equivalent socket of an operating system's kernel. By default there is none, and
    /// the transport's models are also used at the ends of flows in emulations.
    fn socket(&self) -> Option<Socket<'_>> {
        None
    }

    /// Draws the protocol's own random numbers from an end's random stream, before the application
    /// draws. Called once for each end, in simulations and emulations, so that the applications'
    /// draws are identical.
    fn draw(&self, _stream: &mut Stream) -> u64 {
        0
    }

    /// Returns the congestion control of both ends, if the configuration selects one.
    fn control(&self) -> Option<Control<'_>> {
        None
    }

    /// Returns true if the transport only carries telephone calls.
    fn carries_calls(&self) -> bool {
        false
    }

    /// Returns the signalling of calls at one end, if the transport carries calls. `random` is for
    /// the signalling alone, `supply` for TCP below it.
    fn line(
        &self,
        _ends: telephony::Ends,
        _calls: &calls::Config,
        _random: Stream,
        _supply: &mut dyn tcp::Supply,
    ) -> Option<Box<dyn telephony::Line>> {
        None
    }

    /// Returns the reason for which an application of this `kind` cannot run over this transport,
    /// if any.
    fn mismatch(&self, _kind: &str, _app: &dyn Workload) -> Option<String> {
        None
    }

    /// Returns an error with the reason if the transport cannot carry a multicast flow. By default
    /// it cannot.
    ///
    /// # Errors
    /// The reason, as the end of a sentence about the transport.
    fn multicast(&self) -> Result<(), &'static str> {
        Err("is between two ends")
    }

    /// Returns the size of the largest packet at the network layer and its calculation as text, if
    /// the transport limits the size.
    fn largest_packet(&self) -> Option<(u64, String)> {
        None
    }

    /// Returns the rate at the network layer at which the transport sends at most, if its
    /// configuration sets it.
    fn max_rate(&self) -> Option<Rate> {
        None
    }

    /// Returns the packets of a flow in its steady state. The application sends datagrams of this
    /// size, or as much as possible.
    fn packets(&self, datagram: Option<u32>) -> Packets;

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// Returns the message that refuses an application that writes into its datagrams over a transport
/// other than UDP.
pub(crate) fn needs_udp(kind: &str) -> String {
    format!("\"{kind}\" sends datagrams with headers of its own; allowed: transport = \"udp\"")
}

/// The packets of a flow in its steady state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packets {
    /// Payload of a packet, in bytes.
    pub payload: u32,
    /// Size of a packet at the network layer, in bytes.
    pub size: u32,
    /// Size of a packet in the opposite direction, in bytes; 0 if there is none.
    pub answer: u32,
    /// True if the flow reduces its rate when packets are lost.
    pub responsive: bool,
}

impl Config {
    /// Returns TCP's configuration, if TCP carries the flow: for congestion controls, proxies and
    /// handovers.
    pub fn tcp(&self) -> Option<&tcp::Config> {
        match self.socket() {
            Some(Socket::Stream(config)) => Some(config),
            _ => None,
        }
    }
}

/// The congestion control that a configuration selects.
#[derive(Clone, Copy, Debug)]
pub struct Control<'a> {
    /// Name of the congestion control.
    pub name: &'a str,
    /// Parameters of the congestion control, by name.
    pub parameters: &'a BTreeMap<String, i64>,
}

/// A kernel's socket that carries a flow.
#[derive(Clone, Copy, Debug)]
pub enum Socket<'a> {
    /// A TCP socket with the parameters of a scenario.
    Stream(&'a tcp::Config),
    /// A UDP socket, which has no parameters.
    Datagram,
    /// A UDP socket under a QUIC stack with the parameters of a scenario.
    Quic(&'a quic::Config),
}

/// The parts from which an end of a flow is built.
pub struct EndpointParts {
    /// Node and position of this end in the network.
    pub site: Site,
    /// The application that this end serves.
    pub app: Box<dyn App>,
    /// The telephone calls that the end represents, if any.
    pub calls: Option<calls::Config>,
    /// Number of the application's connections with their own traces.
    pub traced: u16,
    /// Probe of the trace [`hosting::TRACE`], if it is recorded.
    pub transactions: Option<Probe>,
    /// Rows of the application's own trace ([`Workload::measures`]).
    pub measures: Option<Probe>,
    /// This end's own random stream.
    pub stream: Stream,
    /// Random bits, common to both ends of the flow.
    pub common: u64,
}

/// The engine's services to transports while they are built.
pub trait Supply: tcp::Supply {
    /// Returns the TCP configuration, extended by signals of the handovers on the flow's path.
    fn with_handover_signals(&mut self, config: &tcp::Config) -> tcp::Config {
        config.clone()
    }

    /// Returns the times at which planned handovers have moved the flow's path to another link.
    fn path_changes(&mut self) -> Vec<Time> {
        Vec::new()
    }

    /// Returns the observations of the run's connections, for Careful Resume.
    fn saved_paths(&mut self) -> SavedPaths {
        SavedPaths::default()
    }
}

/// Adds a problem if the option of a Quick-Start request cannot express the rate (RFC 4782, section
/// 3.1).
fn check_quick_start(rate: Option<Rate>, problems: &mut Problems) {
    let [min, max] = [1, 15].map(|rate| QuickStart { rate, missed: false }.bits_per_second());
    if let Some(rate) = rate.filter(|rate| !(min..=max).contains(&rate.bits_per_second())) {
        let [min, max] = [min, max].map(Rate::from_bits_per_second);
        problems.add(
            "quick_start",
            format!("{rate} is out of range; allowed: {min} to {max} (RFC 4782, section 3.1)"),
        );
    }
}
