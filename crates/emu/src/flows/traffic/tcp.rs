//! One end of a flow over the kernel's TCP: the application of the simulation over sockets.

use super::info::Info;
use super::line::Line;
use super::rows::with_values;
use super::sockets::{self, Sockets};
use super::Watch;
use crate::clock::Clock;
use bentpipe_core::address::{connection_of, port_of};
use bentpipe_core::{Report, Time};
use bentpipe_transport::app::{End, Event};
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_transport::hosting::{Hosted, Site};
use bentpipe_transport::names;
use bentpipe_transport::tcp::endpoint::{Probes, CONNECTION};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{listen, Backlog};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// Number under which the listening socket is watched.
const LISTENER: u16 = u16::MAX;

/// One end of a TCP flow, an application over its connections.
pub struct Endpoint {
    pub site: Site,
    hosted: Hosted,
    sockets: Sockets,
    /// The listening socket, at a destination.
    listener: Option<OwnedFd>,
    /// The connections, in the order of creation.
    lines: Vec<Line>,
    /// Probes by connection; further connections are not traced.
    probes: Vec<Probes>,
    /// Totals of removed connections.
    past: Totals,
    pub failure: Option<(u8, String)>,
    received: DestinationCounters,
}

/// The kernel's counters, and the times of the connections' beginning and end.
#[derive(Clone, Default)]
struct Totals {
    sent: SourceCounters,
    packets_in: u64,
    /// True if the kernel does not report the number of time-outs.
    silent_on_timeouts: bool,
    min_rtt: Option<u32>,
}

impl Totals {
    fn add(&mut self, line: &Line) {
        let mut sent =
            SourceCounters { start: line.start, completed: line.completed, ..SourceCounters::default() };
        if let Some(info) = &line.last {
            info.count(&mut sent);
            self.silent_on_timeouts |= info.timeouts().is_none();
            self.packets_in += info.data_segments_in();
            self.min_rtt = self.min_rtt.into_iter().chain(info.min_rtt()).min();
        }
        self.sent.merge(&sent);
    }
}

/// Counts the data of a connection that was discarded on arrival.
fn count_discarded(received: &mut DestinationCounters, line: &Line) {
    if let Some((bytes, last)) = line.discarded.as_ref().and_then(|discarded| discarded.total()) {
        received.delivered_bytes += bytes;
        received.last_delivery = received.last_delivery.max(Some(last));
    }
}

impl Endpoint {
    /// Creates the socket of an end, in this thread's namespace, which is that of `sockets`.
    ///
    /// # Errors
    /// Returns an error if the port is in use, the congestion control is missing, or the kernel
    /// refuses an option.
    pub fn new(site: Site, hosted: Hosted, sockets: Sockets, probes: Vec<Probes>) -> io::Result<Endpoint> {
        let socket = sockets.make(sockets.local.port())?;
        let (mut listener, mut lines) = (None, Vec::with_capacity(1));
        match site.end {
            End::Source => {
                let own = probes.first().copied().unwrap_or_default();
                let only_counts = hosted.ignores_received();
                lines.push(Line::new(0, socket, sockets.remote, false, sockets.window(), only_counts, own));
            }
            End::Destination => {
                listen(&socket, Backlog::new(BACKLOG)?)?;
                listener = Some(socket);
            }
        }
        let (past, received) = (Totals::default(), DestinationCounters::default());
        Ok(Endpoint { site, hosted, sockets, listener, lines, probes, past, failure: None, received })
    }

    /// Returns the time of the next call of [`wake`](Self::wake).
    pub fn next_wake(&self) -> Time {
        self.lines.iter().map(Line::next_look).fold(self.hosted.next_wake(), Time::min)
    }

    /// Performs the actions that are due.
    pub fn wake(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let now = clock.now();
        // Timers of the application are handled at their due time, so that lateness does not
        // accumulate.
        while let Some(due) = Some(self.hosted.next_wake()).filter(|due| *due <= now) {
            let Some(event) = self.hosted.due(due) else { break };
            self.call(due, 0, event, watch)?;
        }
        for at in 0..self.lines.len() {
            if self.lines[at].next_look() <= now {
                self.lines[at].look(now)?;
            }
        }
        self.settle(watch)
    }

    /// Handles the events of a connection's socket, or accepts a waiting connection.
    pub fn ready(
        &mut self,
        number: u16,
        flags: EpollFlags,
        clock: Clock,
        watch: &mut Watch<'_>,
    ) -> io::Result<()> {
        if number == LISTENER {
            while self.accept(clock, watch)? {}
        } else if let Some(line) = self.lines.iter_mut().find(|line| line.number == number) {
            line.ready(flags, clock, watch)?;
        }
        self.settle(watch)
    }

    fn accept(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<bool> {
        let Some(listener) = &self.listener else { return Ok(false) };
        let Some((socket, peer)) = sockets::accept(listener)? else { return Ok(false) };
        let number = connection_of(peer.port(), self.sockets.remote.port());
        watch.add(socket.as_fd(), number)?;
        let probes = self.probes.get(usize::from(number)).copied().unwrap_or_default();
        let (window, only_counts) = (self.sockets.window(), self.hosted.ignores_received());
        let mut line = Line::new(number, socket, peer, true, window, only_counts, probes);
        line.connected(watch)?;
        self.lines.push(line);
        self.call(clock.now(), number, Event::Connected, watch)?;
        Ok(true)
    }

    /// Reports events to the application and removes the connections that have ended, except the
    /// last.
    fn settle(&mut self, watch: &mut Watch<'_>) -> io::Result<()> {
        loop {
            let mut heard = None;
            for line in &mut self.lines {
                heard = line.next_event().map(|(at, event)| (at, line.number, event));
                if heard.is_some() {
                    break;
                }
            }
            let Some((at, number, event)) = heard else { break };
            if let Event::Received { bytes } = event {
                self.received.delivered_bytes += bytes;
                self.received.last_delivery = Some(at);
            }
            self.call(at, number, event, watch)?;
        }
        while self.lines.len() > 1 {
            let Some(at) = self.lines.iter().position(Line::has_ended) else { break };
            let line = self.lines.remove(at);
            self.past.add(&line);
            count_discarded(&mut self.received, &line);
            self.failure = self.failure.take().or(line.failure);
        }
        Ok(())
    }

    /// Reports an event to the application and performs its actions.
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
            if actions.connect && self.lines.iter().all(|line| line.number != number) {
                self.add_line(number)?;
            }
            if let Some(line) = self.lines.iter_mut().find(|line| line.number == number) {
                line.act(now, &actions, watch)?;
            }
            match actions.turn {
                Some(other) => (number, event) = (other, Event::Turn),
                None => return Ok(()),
            }
        }
    }

    fn add_line(&mut self, number: u16) -> io::Result<()> {
        let sockets = &self.sockets;
        let port = port_of(number, sockets.local.port());
        let socket = sockets.namespace.within(|| sockets.make(port))??;
        let probes = self.probes.get(usize::from(number)).copied().unwrap_or_default();
        let (window, only_counts) = (sockets.window(), self.hosted.ignores_received());
        self.lines.push(Line::new(number, socket, sockets.remote, false, window, only_counts, probes));
        Ok(())
    }

    /// Returns the listening socket, if there is one, and the number under which it is watched.
    pub fn listener(&self) -> Option<(BorrowedFd<'_>, u16)> {
        self.listener.as_ref().map(|socket| (socket.as_fd(), LISTENER))
    }

    /// Returns the connections of this end.
    pub fn lines(&mut self) -> &mut [Line] {
        &mut self.lines
    }

    /// Called when the run has ended.
    pub fn finish(&mut self) {
        self.lines.iter_mut().for_each(Line::finish);
    }

    /// Writes the rows of this end; `seen` are the log's statistics of its connections, if there
    /// was a log.
    ///
    /// Without the log, round-trip times are the kernel's smoothed values, except for the minimum.
    pub fn report(
        &mut self,
        now: Time,
        seen: Option<SourceCounters>,
        asked: &SourceCounters,
        report: &mut Report,
    ) {
        let mut totals = self.past.clone();
        for line in &self.lines {
            totals.add(line);
            count_discarded(&mut self.received, line);
            self.failure = self.failure.take().or(line.failure.clone());
        }
        let logged = seen.is_some();
        let mut sent = totals.sent;
        sent.rtt = asked.rtt.clone();
        if let Some(seen) = seen {
            sent.rtt = seen.rtt;
            sent.retransmissions = sent.retransmissions.max(seen.retransmissions);
            sent.timeouts = sent.timeouts.max(seen.timeouts);
        }
        if self.hosted.next_wake() != Time::MAX {
            // The application will send more data.
            sent.completed = None;
        }
        self.received.delivered_packets = totals.packets_in;
        let mut rows = Report::default();
        self.site.report(&sent, &self.received, &mut rows);
        let mut known = Vec::new();
        if let (Some(rtt), false) = (totals.min_rtt, logged) {
            known.push(("rtt_min", f64::from(rtt) / 1e6));
        }
        if !logged && totals.silent_on_timeouts {
            known.push(("timeouts", f64::NAN));
        }
        with_values(&rows, &known, report);
        self.hosted.report(now, &self.site, report);
        const LISTEN: u8 = 1;
        let newest = self.lines.last();
        let last = newest.and_then(|line| line.last.as_ref());
        let values = [
            f64::from(newest.map_or(LISTEN, Line::state)),
            f64::from(self.failure.as_ref().map_or(0, |(number, _)| *number)),
            last.map_or(f64::NAN, |info: &Info| info.cwnd().into()),
            last.map_or(f64::NAN, |info| f64::from(info.rto()) / 1e6),
            f64::from(self.site.flow.0),
            names::end_number(self.site.end),
        ];
        report.row(&CONNECTION, &names::end(&self.site.name, self.site.end), &values);
    }
}
