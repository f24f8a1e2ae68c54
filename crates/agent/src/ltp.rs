//! LTP over UDP between this agent and its peers (RFC 5326), with one engine per peer.
//!
//! Each bundle is a block. Segments leave at the rate of the open contact, or at the configured
//! rate to peers that are not in the contact plan. Session and report numbers start at the number
//! of microseconds since 2000, so that a restarted agent does not reuse the numbers of its last
//! run.

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

/// The client service number of bundles.
const BUNDLES: u64 = 1;
/// Maximum number of senders that are not configured as peers. The agent answers them at the
/// address of their datagrams.
const MAX_UNKNOWN_PEERS: usize = 1024;
/// Size of the IP and UDP headers in bytes.
pub(crate) const HEADERS: u64 = 28;
/// Maximum time that a delayed sender may catch up by sending faster than the rate.
pub(crate) const SLACK: Span = Span::from_millis(2);

/// Settings of an agent's LTP.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of this agent's LTP engine.
    pub engine: u64,
    /// One-way light time to peers that are not in the contact plan.
    pub light_time: Span,
    /// Time allowed for an answer in addition to light times and closed contacts.
    pub margin: Span,
    /// Rate to peers that are not in the contact plan.
    pub rate: BitRate,
    /// Maximum size of the unacknowledged bundles to a peer, in bytes. The last bundle may exceed
    /// it.
    pub in_flight: u64,
}

/// Events on a link.
pub enum LinkEvent {
    /// This bundle has arrived in this session.
    Arrived(Session, Bytes),
    /// The peer has acknowledged the bundle that has this number in the storage.
    Sent(u64),
    /// The bundle that has this number in the storage could not be sent.
    Failed(u64),
}

/// The LTP engine for one peer or other sender.
pub struct Link {
    engine: Engine,
    /// The address to which segments are sent.
    pub address: SocketAddr,
    /// Index of the socket.
    socket: usize,
    /// Index of the peer in the configuration, if it is configured.
    pub peer: Option<usize>,
    /// For each session, the number of its bundle in the storage and the bundle's length.
    sending: BTreeMap<u64, (u64, u64)>,
    /// Total length of the bundles in `sending`, in bytes.
    in_flight: u64,
    /// Time at which the next segment may leave.
    next_send: Time,
}

/// All links of an agent.
pub struct Links {
    sockets: Vec<UdpSocket>,
    links: Vec<Link>,
    settings: Settings,
    /// First session and report number of each engine.
    first: u64,
    scratch: Vec<u8>,
}

impl Links {
    /// Creates a link with an engine for each peer. `first` is the first session and report number.
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
                Some(index) => index,
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

    /// Returns the sockets of all links.
    pub fn sockets(&self) -> &[UdpSocket] {
        &self.sockets
    }

    /// Returns the number of links.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns true if there are no links.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Returns a link by its index.
    pub fn link(&self, index: usize) -> &Link {
        &self.links[index]
    }

    /// Reads up to `max` datagrams from each socket, and processes expired timers.
    pub fn read(&mut self, now: Time, buffer: &mut [u8], max: usize) {
        for socket in 0..self.sockets.len() {
            for _ in 0..max {
                let Ok((length, address)) = self.sockets[socket].recv_from(buffer) else { break };
                let Some(segment) = Segment::read(&buffer[..length]) else { continue };
                let known = self.links.iter().position(|link| link.address == address);
                let index = match known {
                    Some(index) => index,
                    None => {
                        let unknown = self.links.iter().filter(|link| link.peer.is_none());
                        if unknown.count() >= MAX_UNKNOWN_PEERS {
                            continue;
                        }
                        self.links.push(link(address, socket, None, &self.settings, self.first));
                        self.links.len() - 1
                    }
                };
                self.links[index].engine.receive(index as u64, &segment);
            }
        }
        for link in &mut self.links {
            link.engine.wake(now);
        }
    }

    /// Returns the events on a link since the last call.
    pub fn events(&mut self, index: usize) -> Vec<LinkEvent> {
        let link = &mut self.links[index];
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
                // The only client service is for bundles, which are sent as red data.
                Event::Red { session, .. } => link.engine.refuse(session),
                Event::Green { .. } | Event::Abandoned { .. } => {}
            }
        }
        events
    }

    /// Refuses the bundle that has arrived in a session.
    pub fn refuse(&mut self, index: usize, session: Session) {
        self.links[index].engine.refuse(session);
    }

    /// Starts a session that sends a bundle.
    pub fn send(&mut self, index: usize, number: u64, bundle: Bytes) {
        let link = &mut self.links[index];
        let length = bundle.len() as u64;
        let session = link.engine.send(index as u64, BUNDLES, Chunk::Bytes(bundle), length);
        link.sending.insert(session.number, (number, length));
        link.in_flight += length;
    }

    /// Returns true if the unacknowledged bytes on a link have reached the limit, so that no
    /// further bundle may be sent.
    pub fn is_full(&self, index: usize) -> bool {
        self.links[index].in_flight >= self.settings.in_flight.max(1)
    }

    /// Cancels all sessions on a link because its peer has no more contacts. Returns the numbers of
    /// their bundles.
    pub fn cancel_bundles(&mut self, index: usize) -> Vec<u64> {
        let link = &mut self.links[index];
        let sending = std::mem::take(&mut link.sending);
        link.in_flight = 0;
        let engine = link.engine.number();
        for number in sending.keys() {
            link.engine.cancel(Session { engine, number: *number }, reason::UNREACHABLE);
        }
        sending.into_values().map(|(number, _)| number).collect()
    }

    /// Returns true if a link may transmit now: its contact is open, and its rate allows another
    /// segment.
    pub fn may_send(&self, index: usize, now: Time, schedule: Option<&Schedule>) -> bool {
        let link = &self.links[index];
        link.next_send <= now && self.delay_and_rate(link, schedule).is_some()
    }

    /// Transmits the next segment of a link. Returns false if the link has none or is closed.
    pub fn transmit(&mut self, index: usize, now: Time, schedule: Option<&Schedule>) -> bool {
        let Some((delay, rate)) = self.delay_and_rate(&self.links[index], schedule) else { return false };
        let link = &mut self.links[index];
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
        // If the system refuses the datagram, it is lost, and LTP retransmits its data.
        let _result = self.sockets[link.socket].send_to(&self.scratch, link.address);
        let late = Time::from_nanos(now.as_nanos().saturating_sub(SLACK.as_nanos()));
        link.next_send = link.next_send.max(late) + rate.span_of(self.scratch.len() as u64 + HEADERS);
        true
    }

    /// Returns the light time and the rate of a link, if the link is open.
    fn delay_and_rate(&self, link: &Link, schedule: Option<&Schedule>) -> Option<(Span, BitRate)> {
        let planned = link.peer.zip(schedule).filter(|(peer, schedule)| schedule.node_of(*peer).is_some());
        match planned {
            Some((peer, schedule)) => schedule.contact_to(peer).map(|contact| (contact.delay, contact.rate)),
            None => Some((self.settings.light_time, self.settings.rate)),
        }
    }

    /// Returns true if an open link has segments to send.
    pub fn has_segments(&self, schedule: Option<&Schedule>) -> bool {
        self.links
            .iter()
            .any(|link| link.engine.has_segments() && self.delay_and_rate(link, schedule).is_some())
    }

    /// Returns the time at which the next timer of any engine expires.
    pub fn next_wake(&self) -> Option<Time> {
        self.links.iter().filter_map(|link| link.engine.next_wake()).min()
    }
}

fn link(address: SocketAddr, socket: usize, peer: Option<usize>, settings: &Settings, first: u64) -> Link {
    let engine = Engine::with_first_number(settings.engine, first, ltp::Config::default());
    Link { engine, address, socket, peer, sending: BTreeMap::new(), in_flight: 0, next_send: Time::ZERO }
}
