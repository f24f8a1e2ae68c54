//! QUIC (RFC 9000) as a transport of flows, with loss detection and congestion control by RFC 9002.
//!
//! [`endpoint`] is the stage: an application over a [`connection`]. A connection combines
//! [`streams`], the packet number [`space`]s with loss detection, and the [`controller`], which
//! drives the same congestion controls as TCP, with its [`pacer`]. [`frames`] has the packets,
//! [`wire`] the bytes of their frames, and [`log`] their trace.
//!
//! Each connection of the application is a stream: several objects of a page share one handshake,
//! one window and one recovery, as over HTTP/3.

pub mod config;
pub mod connection;
pub mod controller;
pub mod endpoint;
pub mod frames;
pub mod log;
pub mod pacer;
pub mod space;
pub mod streams;
pub mod wire;

pub use config::Config;
pub use endpoint::Endpoint;

use crate::app::{End, Workload};
use crate::datagrams::{self, Probes};
use crate::names;
use crate::tcp::endpoint::{self as tcp_endpoint, DELIVERY};
use crate::{Control, EndpointParts, Packets, Socket, Supply, Transport};
use bentpipe_core::{Stream, Table, Tables};
use bentpipe_stage::Stage;
use endpoint::{Traces, REPORT, TRACE};
use frames::{LOWER, SMALLEST_INITIAL};

/// Congestion controls of the stack that carries such flows in emulations (quinn).
const STACK: [&str; 3] = ["cubic", "reno", "bbr"];

impl Transport for Config {
    fn packets(&self, datagram: Option<u32>) -> Packets {
        let udp = self.largest_udp_payload();
        if let Some(payload) = datagram.filter(|_| self.max_datagram_frame_size.is_some()) {
            let size = LOWER + frames::Kind::OneRtt.overhead(2) + frames::datagram_header(payload) + payload;
            return Packets { payload, size, answer: LOWER + 36, responsive: true };
        }
        Packets { payload: frames::full_packet(udp), size: udp + LOWER, answer: LOWER + 36, responsive: true }
    }

    fn build(&self, parts: EndpointParts, supply: &mut dyn Supply) -> Box<dyn Stage> {
        let EndpointParts { site, app, transactions, measures, stream, .. } = parts;
        let congestion = supply.congestion(self.selected());
        let (sender, receiver) = site.traced_as(0);
        let connection = tcp_endpoint::Probes {
            sender: supply.probe(&TRACE, &sender),
            delivery: supply.probe(&DELIVERY, &receiver),
        };
        let frames = match site.details {
            true => supply.probe(&log::TRACE, &names::end(&site.name, site.end)),
            false => None,
        };
        let datagrams = match self.max_datagram_frame_size {
            Some(_) => Probes::of(&site, None, (None, measures), supply),
            None => Probes::default(),
        };
        let traces = Traces { connection, transactions, frames, datagrams };
        let migrates = self.migration && site.end == End::Source;
        let path = supply.saved_paths().path(site.node, site.peer);
        let mut endpoint = Endpoint::new(site, self, app, congestion, stream, traces);
        endpoint.resume_from(path);
        if migrates {
            endpoint.migrate_at(supply.path_changes());
        }
        Box::new(endpoint)
    }

    fn socket(&self) -> Option<Socket<'_>> {
        let is_there = STACK.contains(&self.congestion.as_str())
            && self.parameters.is_empty()
            && self.max_datagram_frame_size.is_none();
        is_there.then_some(Socket::Quic(self))
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        stream.bits()
    }

    fn mismatch(&self, kind: &str, app: &dyn Workload) -> Option<String> {
        let Some(most) = self.max_datagram_frame_size else {
            return app.writes().then(|| {
                format!(
                    "\"{kind}\" sends datagrams with headers of its own; allowed: transport = \"udp\", or quic with \
                     max_datagram_frame_size"
                )
            });
        };
        if app.is_elastic() {
            return Some(format!(
                "\"{kind}\" sends streams; allowed with max_datagram_frame_size: applications that have a rate of \
                 their own, such as cbr"
            ));
        }
        let payload = app.demand()?.datagram;
        let packet = frames::largest_datagram(self.largest_udp_payload());
        let largest = packet.min((most.value() as u32).saturating_sub(frames::datagram_header(payload)));
        (payload > largest).then(|| {
            format!("sends datagrams of {payload} B; allowed over this transport: at most {largest} B")
        })
    }

    fn control(&self) -> Option<Control<'_>> {
        Some(self.selected())
    }

    fn largest_packet(&self) -> Option<(u64, String)> {
        let udp = self.largest_udp_payload();
        Some((u64::from(udp + LOWER), format!("{udp} + {LOWER}")))
    }
}

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&TRACE, &log::TRACE, &DELIVERY, &datagrams::TRACE];
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Config {
    fn selected(&self) -> Control<'_> {
        Control { name: &self.congestion, parameters: &self.parameters }
    }

    /// Returns the UDP payload of a full packet, in bytes.
    fn largest_udp_payload(&self) -> u32 {
        match self.mtu_discovery {
            true => self.max_udp_payload_size.value() as u32,
            false => SMALLEST_INITIAL,
        }
    }
}
