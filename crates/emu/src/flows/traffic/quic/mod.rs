//! One end of a flow over QUIC: the application of the simulation over quinn, and a UDP socket.

mod observer;
mod secrets;
mod settings;
mod stack;

pub use secrets::Secrets;
pub use stack::prepare;

use super::rows::with_values;
use super::Watch;
use crate::clock::Clock;
use crate::sys::socket;
use bentpipe_core::{Report, Time};
use bentpipe_transport::app::Event;
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_transport::hosting::{Hosted, Site};
use bentpipe_transport::names;
use bentpipe_transport::quic::endpoint::REPORT;
use bentpipe_transport::quic::Config;
use bentpipe_transport::tcp::endpoint::Probes;
use nix::errno::Errno;
use nix::sys::socket::{recvmsg, send, setsockopt, sockopt, ControlMessageOwned, MsgFlags, SockaddrIn};
use quinn_proto::EcnCodepoint;
use stack::Stack;
use std::io::{self, IoSliceMut};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Largest UDP payload in bytes.
const LARGEST: usize = 65_507;

/// One end of a flow over QUIC.
pub struct Endpoint {
    pub site: Site,
    hosted: Hosted,
    socket: OwnedFd,
    stack: Stack,
    probes: Probes,
    /// True if packets are ECN-capable, and the present ECN field of the socket.
    uses_ecn: bool,
    ecn: u8,
    /// Room for an arriving datagram.
    room: Vec<u8>,
    /// A datagram for which the socket had no room.
    waiting: Option<(Vec<u8>, Option<EcnCodepoint>)>,
    start: Option<Time>,
    completed: Option<Time>,
    received: DestinationCounters,
}

impl Endpoint {
    /// Creates the socket of an end, in this thread's namespace; `seed` determines the random
    /// numbers of QUIC.
    ///
    /// # Errors
    /// Returns an error if the port is in use.
    pub fn new(
        (site, hosted, probes): (Site, Hosted, Probes),
        config: &Config,
        secrets: &Secrets,
        (local, remote): (SocketAddrV4, SocketAddrV4),
        seed: u64,
    ) -> io::Result<Endpoint> {
        let socket = super::sockets::datagrams(local, remote, site.dscp)?;
        setsockopt(&socket, sockopt::IpRecvTos, &true)?;
        Ok(Endpoint {
            stack: Stack::new(config, secrets, site.end, remote.into(), seed),
            site,
            hosted,
            socket,
            probes,
            uses_ecn: config.ecn == Some(true),
            ecn: 0,
            room: vec![0; LARGEST],
            waiting: None,
            start: None,
            completed: None,
            received: DestinationCounters::default(),
        })
    }

    /// Returns the time of the next call of [`wake`](Self::wake).
    pub fn next_wake(&mut self) -> Time {
        self.hosted.next_wake().min(self.stack.next_wake())
    }

    /// Performs the actions that are due.
    pub fn wake(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let now = clock.now();
        while let Some(due) = Some(self.hosted.next_wake()).filter(|due| *due <= now) {
            let Some(event) = self.hosted.due(due) else { break };
            self.call(due, 0, event, watch)?;
        }
        if self.stack.next_wake() <= now {
            self.stack.expire(now);
        }
        self.proceed(now, watch)
    }

    /// Handles arriving datagrams, or room for more.
    pub fn ready(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        while let Some((size, ecn)) = self.receive()? {
            let now = clock.now();
            let waits = self.stack.observations().seen().in_flight > 0;
            self.stack.receive(now, ecn, &self.room[..size]);
            self.proceed(now, watch)?;
            if waits {
                self.trace(now, watch);
            }
        }
        self.proceed(clock.now(), watch)
    }

    /// Reads the next datagram, and returns its size and its ECN codepoint.
    fn receive(&mut self) -> io::Result<Option<(usize, Option<EcnCodepoint>)>> {
        loop {
            let mut parts = [IoSliceMut::new(&mut self.room)];
            let mut room = nix::cmsg_space!(u8);
            let flags = MsgFlags::MSG_DONTWAIT;
            match recvmsg::<SockaddrIn>(self.socket.as_raw_fd(), &mut parts, Some(&mut room), flags) {
                Ok(message) => {
                    let field = message.cmsgs()?.find_map(|control| match control {
                        ControlMessageOwned::Ipv4Tos(field) => EcnCodepoint::from_bits(field),
                        _ => None,
                    });
                    return Ok(Some((message.bytes, field)));
                }
                Err(Errno::EAGAIN) => return Ok(None),
                // Datagrams may wait behind the error of an earlier one.
                Err(Errno::ECONNREFUSED | Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reports events to the application, and sends what may be sent.
    fn proceed(&mut self, now: Time, watch: &mut Watch<'_>) -> io::Result<()> {
        loop {
            while let Some((number, event)) = self.stack.next_event() {
                if let Event::Received { bytes } = event {
                    self.received.delivered_bytes += bytes;
                    self.received.last_delivery = Some(now);
                    let row = [self.received.delivered_bytes as f64, f64::NAN];
                    watch.rows.add(self.probes.delivery, now, &row);
                    if self.hosted.ignores_received() {
                        continue;
                    }
                }
                self.call(now, number, event, watch)?;
            }
            if self.stack.is_complete() {
                self.completed.get_or_insert(now);
            }
            if !self.send_next(now)? {
                return Ok(());
            }
        }
    }

    /// Sends one datagram, and returns true if the socket may have room for another.
    fn send_next(&mut self, now: Time) -> io::Result<bool> {
        let (datagram, ecn) = match self.waiting.take() {
            Some(waiting) => waiting,
            None => {
                let mut buffer = Vec::new();
                let Some(ecn) = self.stack.transmit(now, &mut buffer) else { return Ok(false) };
                (buffer, ecn)
            }
        };
        let field = ecn.filter(|_| self.uses_ecn).map_or(0, |ecn| ecn as u8);
        if field != self.ecn {
            setsockopt(&self.socket, sockopt::Ipv4Tos, &(i32::from(self.site.dscp) << 2 | i32::from(field)))?;
            self.ecn = field;
        }
        match send(self.socket.as_raw_fd(), &datagram, MsgFlags::MSG_DONTWAIT) {
            // A probe of the path MTU may exceed the interface's, and datagrams may be lost.
            Ok(_) | Err(Errno::EMSGSIZE | Errno::ECONNREFUSED | Errno::ENOBUFS) => Ok(true),
            Err(Errno::EAGAIN | Errno::EINTR) => {
                self.waiting = Some((datagram, ecn));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Delivers an event to the application, and performs its actions.
    fn call(
        &mut self,
        now: Time,
        mut number: u16,
        mut event: Event,
        watch: &mut Watch<'_>,
    ) -> io::Result<()> {
        loop {
            let actions = self.hosted.on(now, number, event);
            if let Some(over) = &actions.over {
                watch.over(now, over);
            }
            if actions.connect {
                self.begin(now);
                self.stack.open(now, number)?;
            }
            if actions.send > 0 {
                self.begin(now);
                self.stack.send(number, actions.send);
            }
            if actions.stop || actions.close {
                self.stack.close(number, !actions.stop);
            }
            match actions.turn {
                Some(other) => (number, event) = (other, Event::Turn),
                None => return Ok(()),
            }
        }
    }

    fn begin(&mut self, now: Time) {
        self.start.get_or_insert(now);
        self.completed = None;
    }

    fn trace(&self, now: Time, watch: &mut Watch<'_>) {
        let (Some(probe), Some(connection)) = (self.probes.sender, self.stack.connection()) else { return };
        let mtu = f64::from(connection.current_mtu());
        let metrics = connection.congestion_state().metrics();
        let seen = self.stack.observations().seen();
        let lost = connection.stats().path.lost_packets;
        let unknown = f64::NAN;
        let row = [
            (metrics.congestion_window as f64 / mtu).floor(),
            metrics
                .ssthresh
                .filter(|bytes| *bytes < u64::MAX)
                .map_or(unknown, |bytes| (bytes as f64 / mtu).floor()),
            seen.latest_rtt.map_or(unknown, |rtt| rtt.as_secs_f64()),
            connection.rtt().as_secs_f64(),
            unknown,
            unknown,
            (seen.in_flight as f64 / mtu).ceil(),
            unknown,
            self.stack.written as f64,
            lost as f64,
            unknown,
            unknown,
        ];
        watch.rows.add(Some(probe), now, &row);
    }

    /// Returns the socket's file descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the number of datagrams for which the socket had no room.
    pub fn drops(&self) -> u64 {
        socket::drops(self.socket.as_fd()).unwrap_or(0).into()
    }

    /// Returns the reason for which the connection was lost, if it was.
    pub fn failure(&self) -> Option<&str> {
        self.stack.failure.as_deref()
    }

    /// Writes the rows of this end. A lost packet counts as a retransmission. quinn does not count
    /// its time-outs.
    pub fn report(&mut self, now: Time, report: &mut Report) {
        let connection = self.stack.connection();
        let stats = connection.map(|connection| connection.stats());
        let idle = self.hosted.next_wake() == Time::MAX;
        let sent = SourceCounters {
            start: self.start,
            sent_bytes: self.stack.written,
            // The end of a stream without data is no data.
            sent_packets: if self.stack.written > 0 { self.stack.data_sent } else { 0 },
            retransmissions: stats.map_or(0, |stats| stats.path.lost_packets),
            rtt: self.stack.observations().seen().rtt.clone(),
            completed: self.completed.filter(|_| idle),
            ..SourceCounters::default()
        };
        self.received.delivered_packets = self.stack.data_received;
        let mut rows = Report::default();
        self.site.report(&sent, &self.received, &mut rows);
        with_values(&rows, &[("timeouts", f64::NAN)], report);
        self.hosted.report(now, &self.site, report);
        let took = self.stack.established.zip(self.start);
        let mtu = connection.map_or(f64::NAN, |connection| f64::from(connection.current_mtu()));
        let window = stats.map_or(f64::NAN, |stats| stats.path.cwnd as f64);
        let values = [
            took.map_or(f64::NAN, |(established, start)| established.since(start).as_secs_f64()),
            f64::from(u8::from(self.stack.failure.is_some())),
            self.stack.streams() as f64,
            mtu,
            (window / mtu).floor(),
            f64::NAN,
        ];
        report.row(&REPORT, &names::end(&self.site.name, self.site.end), &values);
    }
}
