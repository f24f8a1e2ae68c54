//! TCP as a transport of flows.

use super::endpoint::{Endpoint, MakeCongestion, Probes, Traces, CONNECTION, DELIVERY, TRACE};
use super::{header, Config};
use crate::app::Workload;
use crate::{Control, EndpointParts, Packets, Socket, Transport};
use bentpipe_core::{Problems, Stream, Table, Tables};
use bentpipe_stage::Stage;

/// The engine's services to TCP while it is built.
pub trait Supply: bentpipe_stage::Supply {
    /// Creates a factory of congestion controls.
    fn congestion(&mut self, control: Control<'_>) -> MakeCongestion;
}

impl Transport for Config {
    fn packets(&self, _datagram: Option<u32>) -> Packets {
        let options = if self.timestamps { header::TIMESTAMP_BYTES } else { 0 };
        let (payload, headers) = (self.segment_size.value() as u32, header::HEADER + options);
        Packets { payload, size: payload + headers, answer: headers, responsive: true }
    }

    fn build(&self, parts: EndpointParts, supply: &mut dyn crate::Supply) -> Box<dyn Stage> {
        let EndpointParts { site, app, traced, transactions, stream, .. } = parts;
        let config = supply.with_handover_signals(self);
        let congestion = supply.congestion(config.control());
        let connections = (0..traced).map(|number| {
            let (sender, receiver) = site.traced_as(number);
            Probes { sender: supply.probe(&TRACE, &sender), delivery: supply.probe(&DELIVERY, &receiver) }
        });
        let traces = Traces { connections: connections.collect(), transactions };
        let path = supply.saved_paths().path(site.node, site.peer);
        let mut endpoint = Endpoint::new(site, &config, app, congestion, stream, traces);
        endpoint.resume_from(path);
        Box::new(endpoint)
    }

    fn socket(&self) -> Option<Socket<'_>> {
        Some(Socket::Stream(self))
    }

    fn control(&self) -> Option<Control<'_>> {
        Some(Config::control(self))
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        stream.bits()
    }

    fn mismatch(&self, kind: &str, app: &dyn Workload) -> Option<String> {
        app.writes().then(|| crate::needs_udp(kind))
    }

    fn largest_packet(&self) -> Option<(u64, String)> {
        let (segment, header) = (self.segment_size.value(), u64::from(self.header_bytes()));
        Some((segment + header, format!("{segment} + {header}")))
    }

    fn check(&self, problems: &mut Problems) {
        Config::check(self, problems);
    }
}

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&TRACE, &DELIVERY];
    const REPORTS: &'static [&'static Table] = &[&CONNECTION];
}

impl Config {
    /// Returns the congestion control of both ends.
    pub fn control(&self) -> Control<'_> {
        Control { name: &self.congestion, parameters: &self.parameters }
    }

    /// Returns the size of the headers of a data segment without further options, IPv4 included, in
    /// bytes.
    pub fn header_bytes(&self) -> u32 {
        header::HEADER + if self.timestamps { header::TIMESTAMP_BYTES } else { 0 }
    }
}
