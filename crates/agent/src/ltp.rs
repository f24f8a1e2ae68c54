//! LTP over UDP between this agent and its peers (RFC 5326; bundles are service 1): an engine per
//! peer.
//!
//! A block is a bundle. Segments leave at the rate of the open contact, or at a configured rate to
//! peers without contacts. Sessions and reports are numbered by the microseconds since 2000, so
//! that a restarted agent is not mistaken for its predecessor.

use crate::schedule::Schedule;
use bentpipe_core::{Span, Time};
use bentpipe_dtn::chunk::Chunk;
use bentpipe_dtn::contacts::number::BitRate;
use bentpipe_dtn::ltp::contacts::ContactDeadlines;
use bentpipe_dtn::ltp::engine::{Engine, Event};
use bentpipe_dtn::ltp::segment::{reason, Segment, Session};
use bentpipe_dtn::ltp::sender::End;
use bentpipe_dtn::ltp::{self, AnswerDeadlines, ConstantDelay};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// The service number of bundles.
const BUNDLES: u64 = 1;
/// Maximum number of peers that are not configured, known only by their address. The agent answers
/// them.
const MAX_UNKNOWN_PEERS: usize = 1024;
/// Bytes of IP and UDP headers.
pub(crate) const HEADERS: u64 = 28;
/// Time for which a late agent may catch up with the rate.
pub(crate) const SLACK: Span = Span::from_millis(2);

/// Settings of an agent's LTP.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of the engine.
    pub engine: u64,
    /// Light time to peers without contacts.
    pub light_time: Span,
    /// Longest time of an answer beyond light times and closed contacts.
    pub margin: Span,
    /// Rate to peers without contacts.
    pub rate: BitRate,
    /// Most bytes of bundles to a peer without an acknowledgment.
    pub in_flight: u64,
}

/// Events on a link.
pub enum LinkEvent {
    /// A bundle has arrived in this session.
    Arrived(Session, Bytes),
    /// The peer has the bundle of this number in the storage.
    Sent(u64),
    /// The bundle of this number could not be sent.
    Failed(u64),
}

/// A peer and its engine.
pub struct Link {
    engine: Engine,
    /// The address to which its segments are sent.
    pub address: SocketAddr,
    socket: usize,
    /// The peer, if it is one of the configuration.
    pub peer: Option<usize>,
    /// Number and length of bundles by session.
    sending: BTreeMap<u64, (u64, u64)>,
    /// The sum of their lengths.
    in_flight: u64,
    /// Time at which the next segment may leave.
    next_send: Time,
}

/// All links of an agent.
pub struct Links {
    sockets: Vec<UdpSocket>,
    links: Vec<Link>,
    settings: Settings,
    first: u64,
    scratch: Vec<u8>,
}

impl Links {
    /// Creates links over sockets, with an engine for each peer.
    ///
    /// # Errors
    /// If a socket for a peer cannot be opened.
    pub fn new(
        mut sockets: Vec<UdpSocket>,
        peers: &[(usize, SocketAddr)],
        settings: Settings,
        first: u64,
    ) -> io::Result<Links> {
        let mut links = Vec::new();
        for (peer, address) in peers {
            let fits = |socket: &UdpSocket| {
                socket.local_addr().is_ok_and(|local| local.is_ipv4() == address.is_ipv4())
            };
            let socket = match sockets.iter().position(fits) {
                Some(place) => place,
                None => {
                    let any: SocketAddr = match address {
                        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
                        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
                    };
                    let socket = UdpSocket::bind(any)?;
                    socket.set_nonblocking(true)?;
                    sockets.push(socket);
                    sockets.len() - 1
                }
            };
            links.push(link(*address, socket, Some(*peer), &settings, first));
        }
        Ok(Links { sockets, links, settings, first, scratch: Vec::new() })
    }

    /// Returns the sockets to wait for.
    pub fn sockets(&self) -> &[UdpSocket] {
        &self.sockets
    }

    /// Returns the number of links.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Returns a link by its number.
    pub fn link(&self, place: usize) -> &Link {
        &self.links[place]
    }

    /// Reads up to `max` datagrams from each socket, and lets timers expire.
    pub fn read(&mut self, now: Time, buffer: &mut [u8], max: usize) {
        for socket in 0..self.sockets.len() {
            for _ in 0..max {
                let Ok((length, address)) = self.sockets[socket].recv_from(buffer) else { break };
                let Some(segment) = Segment::read(&buffer[..length]) else { continue };
                let known = self.links.iter().position(|link| link.address == address);
                let place = match known {
                    Some(place) => place,
                    None => {
                        let unknown = self.links.iter().filter(|link| link.peer.is_none());
                        if unknown.count() >= MAX_UNKNOWN_PEERS {
                            continue;
                        }
                        self.links.push(link(address, socket, None, &self.settings, self.first));
                        self.links.len() - 1
                    }
                };
                self.links[place].engine.receive(place as u64, &segment);
            }
        }
        for link in &mut self.links {
            link.engine.wake(now);
        }
    }

    /// Returns the events on a link since the last call.
    pub fn events(&mut self, place: usize) -> Vec<LinkEvent> {
        let link = &mut self.links[place];
        let mut events = Vec::new();
        while let Some(event) = link.engine.next_event() {
            match event {
                Event::Red { session, service: BUNDLES, data } => {
                    let mut bytes = Vec::new();
                    data.write(&mut bytes);
                    events.push(LinkEvent::Arrived(session, bytes.into()));
                }
                Event::Sent { session, end } => {
                    let sent = link.sending.remove(&session.number);
                    link.in_flight -= sent.map_or(0, |(_, length)| length);
                    events.extend(sent.map(|(number, _)| match end {
                        End::Complete => LinkEvent::Sent(number),
                        End::Cancelled(_) => LinkEvent::Failed(number),
                    }));
                }
                // Bundles are red, and there are no clients for other services.
                Event::Red { session, .. } => link.engine.refuse(session),
                Event::Green { .. } | Event::Abandoned { .. } => {}
            }
        }
        events
    }

    /// Refuses a bundle that has arrived.
    pub fn refuse(&mut self, place: usize, session: Session) {
        self.links[place].engine.refuse(session);
    }

    /// Starts to send a bundle.
    pub fn send(&mut self, place: usize, number: u64, bundle: Bytes) {
        let link = &mut self.links[place];
        let length = bundle.len() as u64;
        let session = link.engine.send(place as u64, BUNDLES, Chunk::Bytes(bundle), length);
        link.sending.insert(session.number, (number, length));
        link.in_flight += length;
    }

    /// Returns true if the unacknowledged bytes on a link have reached the limit, so no further
    /// bundle may leave.
    pub fn is_full(&self, place: usize) -> bool {
        self.links[place].in_flight >= self.settings.in_flight.max(1)
    }

    /// Cancels all sessions on a link whose peer has no more contacts, and returns their bundles.
    pub fn cancel_bundles(&mut self, place: usize) -> Vec<u64> {
        let link = &mut self.links[place];
        let sending = std::mem::take(&mut link.sending);
        link.in_flight = 0;
        let engine = link.engine.number();
        for number in sending.keys() {
            link.engine.cancel(Session { engine, number: *number }, reason::UNREACHABLE);
        }
        sending.into_values().map(|(number, _)| number).collect()
    }

    /// Returns true if a link may transmit now: its contact is open, and earlier segments have been
    /// transmitted.
    pub fn may_send(&self, place: usize, now: Time, schedule: Option<&Schedule>) -> bool {
        let link = &self.links[place];
        link.next_send <= now && self.rate_of(link, schedule).is_some()
    }

    /// Transmits the next segment. Returns true if there was one.
    pub fn transmit(&mut self, place: usize, now: Time, schedule: Option<&Schedule>) -> bool {
        let Some((delay, rate)) = self.rate_of(&self.links[place], schedule) else { return false };
        let link = &mut self.links[place];
        let planned = schedule.zip(link.peer.and_then(|peer| schedule?.node_of(peer)));
        let constant = ConstantDelay { delay, margin: self.settings.margin };
        let contacts = planned.map(|(schedule, to)| ContactDeadlines {
            plan: schedule.plan(),
            from: schedule.local_node(),
            to,
            delay,
            margin: self.settings.margin,
        });
        let deadlines: &dyn AnswerDeadlines = match &contacts {
            Some(contacts) => contacts,
            None => &constant,
        };
        let Some((_, segment)) = link.engine.next_segment(now, deadlines) else { return false };
        self.scratch.clear();
        segment.write(&mut self.scratch);
        // A datagram that the system refuses counts as lost, and LTP retransmits it.
        let _result = self.sockets[link.socket].send_to(&self.scratch, link.address);
        let late = Time::from_nanos(now.as_nanos().saturating_sub(SLACK.as_nanos()));
        link.next_send = link.next_send.max(late) + rate.span_of(self.scratch.len() as u64 + HEADERS);
        true
    }

    /// Returns light time and rate of a link, if it is open.
    fn rate_of(&self, link: &Link, schedule: Option<&Schedule>) -> Option<(Span, BitRate)> {
        let planned = link.peer.zip(schedule).filter(|(peer, schedule)| schedule.node_of(*peer).is_some());
        match planned {
            Some((peer, schedule)) => schedule.contact_to(peer).map(|contact| (contact.delay, contact.rate)),
            None => Some((self.settings.light_time, self.settings.rate)),
        }
    }

    /// Returns true if segments wait only for the rate of an open link.
    pub fn has_segments(&self, schedule: Option<&Schedule>) -> bool {
        self.links.iter().any(|link| link.engine.has_segments() && self.rate_of(link, schedule).is_some())
    }

    /// Returns the time at which the first timer of an engine expires.
    pub fn next_wake(&self) -> Option<Time> {
        self.links.iter().filter_map(|link| link.engine.next_wake()).min()
    }
}

fn link(address: SocketAddr, socket: usize, peer: Option<usize>, settings: &Settings, first: u64) -> Link {
    let engine = Engine::with_first_number(settings.engine, first, ltp::Config::default());
    Link { engine, address, socket, peer, sending: BTreeMap::new(), in_flight: 0, next_send: Time::ZERO }
}
