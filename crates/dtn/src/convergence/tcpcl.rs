//! TCP convergence layer version 4 (RFC 9174) without TLS: a session between two agents over one
//! TCP connection.
//!
//! Each side sends a contact header and a SESS_INIT, and then bundles as transfers of one or more
//! segments. Each segment is acknowledged. The last segment of a transfer is acknowledged when the
//! receiver has [accepted](Session::accept) the bundle, so a sender keeps the bundle until then. An
//! idle session sends keepalives. A session fails if it receives nothing for twice the negotiated
//! keepalive interval.
//!
//! The receiver is lenient. It ignores reserved flags, the flags of acknowledgments, and all
//! extension items, even critical ones. An acknowledgment that covers a complete transfer ends the
//! transfer.

use bentpipe_core::{Span, Time};
use bytes::Bytes;
use std::collections::{BTreeSet, VecDeque};

/// The settings of one side of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Identifier of this side's node, such as `dtn://mars/` or `ipn:3.0`.
    pub node: String,
    /// Keepalive interval in seconds; 0 for no keepalives. The session uses the smaller interval of
    /// both sides.
    pub keepalive: u16,
    /// Maximum length of a received segment, in bytes.
    pub segment: u64,
    /// Maximum length of a received bundle, in bytes.
    pub transfer: u64,
}

/// An event in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The session is established with this node.
    Established(String),
    /// A complete bundle has arrived. Call [`Session::accept`] or [`Session::refuse`] to answer it.
    Received {
        /// Number of the transfer, assigned by its sender.
        transfer: u64,
        /// The bytes of the bundle.
        bundle: Bytes,
    },
    /// The other side has accepted the bundle of this transfer.
    Sent(u64),
    /// The other side has refused the bundle of this transfer. The second number is the reason code
    /// (RFC 9174, section 5.2.4).
    Refused(u64, u8),
    /// The session has ended. All transfers without an acknowledgment have failed.
    Ended(Reason),
}

/// The reason for the end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The other side ended the session or closed the connection. The number is the reason code
    /// (RFC 9174, section 6.1); 0 for a closed connection.
    Terminated(u8),
    /// This side ended the session, and the other side has confirmed the end.
    Closed,
    /// Nothing was received for twice the keepalive interval, or the session was not established in
    /// time.
    TimedOut,
    /// The other side sent data that is not valid in TCPCL version 4.
    Malformed(&'static str),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::Terminated(reason) => write!(f, "the other side ended the session (reason {reason})"),
            Reason::Closed => f.write_str("closed"),
            Reason::TimedOut => f.write_str("the other side is silent"),
            Reason::Malformed(error) => f.write_str(error),
        }
    }
}

/// Reason code for refusing a transfer because the receiver has no room (RFC 9174, section 5.2.4).
pub const NO_RESOURCES: u8 = 2;

const MAGIC: &[u8; 6] = b"dtn!\x04\x00";
const XFER_SEGMENT: u8 = 1;
const XFER_ACK: u8 = 2;
const XFER_REFUSE: u8 = 3;
const KEEPALIVE: u8 = 4;
const SESS_TERM: u8 = 5;
const MSG_REJECT: u8 = 6;
const SESS_INIT: u8 = 7;
const END: u8 = 1;
const START: u8 = 2;
/// Maximum time without received data before a session is established.
const HANDSHAKE_TIMEOUT: Span = Span::from_secs(30);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The contact header has not been received yet.
    Header,
    /// The contact header has been received, but no SESS_INIT.
    Init,
    Established,
    /// A SESS_TERM has been sent.
    Ending,
    Ended,
}

/// A transfer to the other side.
struct Outgoing {
    transfer: u64,
    bundle: Bytes,
    sent: u64,
}

/// One side of a session.
pub struct Session {
    config: Config,
    state: State,
    input: Vec<u8>,
    output: Vec<u8>,
    events: VecDeque<Event>,
    /// Transfers whose last segment has not been sent.
    waiting: VecDeque<Outgoing>,
    /// Number and bundle length of each transfer that is not completely acknowledged.
    unacknowledged: VecDeque<(u64, u64)>,
    /// Received transfers of a single segment that are neither accepted nor refused yet.
    single_segment: BTreeSet<u64>,
    next_transfer: u64,
    /// Number and received bytes of the incoming transfer.
    incoming: Option<(u64, Vec<u8>)>,
    /// Maximum lengths of a segment and of a bundle that the other side accepts, in bytes.
    peer_limits: (u64, u64),
    keepalive: Option<Span>,
    last_received: Time,
    last_sent: Time,
}

impl Session {
    /// Creates a session over a connection that was established or started at `now`.
    pub fn new(config: Config, now: Time) -> Session {
        let mut session = Session {
            output: MAGIC.to_vec(),
            config,
            state: State::Header,
            input: Vec::new(),
            events: VecDeque::new(),
            waiting: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            single_segment: BTreeSet::new(),
            next_transfer: 0,
            incoming: None,
            peer_limits: (0, 0),
            keepalive: None,
            last_received: now,
            last_sent: now,
        };
        let Config { node, keepalive, segment, transfer } = &session.config;
        let out = &mut session.output;
        out.push(SESS_INIT);
        out.extend(keepalive.to_be_bytes());
        out.extend(segment.to_be_bytes());
        out.extend(transfer.to_be_bytes());
        out.extend((node.len() as u16).to_be_bytes());
        out.extend(node.as_bytes());
        out.extend(0_u32.to_be_bytes());
        session
    }

    /// Records that the TCP connection was established at `now`, which restarts all timers.
    pub fn connected(&mut self, now: Time) {
        (self.last_received, self.last_sent) = (now, now);
    }

    /// Returns true if bundles can be sent.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Returns the number of unacknowledged bundles.
    pub fn pending(&self) -> usize {
        self.unacknowledged.len()
    }

    /// Queues a bundle for sending. Returns the number of its transfer, or `None` if the session is
    /// not established or the other side does not accept a bundle of this length.
    pub fn send(&mut self, bundle: Bytes) -> Option<u64> {
        if self.state != State::Established || bundle.len() as u64 > self.peer_limits.1 {
            return None;
        }
        let transfer = self.next_transfer;
        self.next_transfer += 1;
        self.unacknowledged.push_back((transfer, bundle.len() as u64));
        self.waiting.push_back(Outgoing { transfer, bundle, sent: 0 });
        Some(transfer)
    }

    /// Accepts a received bundle of `length` bytes. The acknowledgment has the flags of the
    /// bundle's last segment (RFC 9174, section 5.2.3).
    pub fn accept(&mut self, transfer: u64, length: u64) {
        let flags = if self.single_segment.remove(&transfer) { START | END } else { END };
        self.acknowledge(flags, transfer, length);
    }

    /// Refuses a received bundle with a reason code of RFC 9174, section 5.2.4.
    pub fn refuse(&mut self, transfer: u64, reason: u8) {
        self.single_segment.remove(&transfer);
        self.output.extend([XFER_REFUSE, reason]);
        self.output.extend(transfer.to_be_bytes());
    }

    /// Starts to end the session by sending a SESS_TERM.
    pub fn close(&mut self) {
        if matches!(self.state, State::Header | State::Init | State::Established) {
            self.output.extend([SESS_TERM, 0, 0]);
            self.state = State::Ending;
        }
    }

    /// Returns the bytes to write to the connection at `now`, and removes them from the session.
    /// Adds segments of bundles until there are at least `limit` bytes.
    pub fn write(&mut self, now: Time, limit: usize) -> Vec<u8> {
        let longest = self.peer_limits.0.clamp(1, 1 << 20);
        while self.output.len() < limit {
            let Some(next) = self.waiting.front_mut() else { break };
            let length = next.bundle.len() as u64;
            let part = (length - next.sent).min(longest);
            let (first, last) = (next.sent == 0, next.sent + part == length);
            self.output.extend([XFER_SEGMENT, if first { START } else { 0 } | if last { END } else { 0 }]);
            self.output.extend(next.transfer.to_be_bytes());
            if first {
                self.output.extend(0_u32.to_be_bytes());
            }
            self.output.extend(part.to_be_bytes());
            let range = next.sent as usize..(next.sent + part) as usize;
            self.output.extend_from_slice(&next.bundle[range]);
            next.sent += part;
            if last {
                self.waiting.pop_front();
            }
        }
        if !self.output.is_empty() {
            self.last_sent = now;
        }
        std::mem::take(&mut self.output)
    }

    /// Processes bytes that were received over the connection at `now`.
    pub fn read(&mut self, now: Time, bytes: &[u8]) {
        self.last_received = now;
        self.input.extend_from_slice(bytes);
        let mut input = std::mem::take(&mut self.input);
        let mut consumed = 0;
        while self.state != State::Ended {
            match self.message(&input[consumed..]) {
                Ok(Some(length)) => consumed += length,
                Ok(None) => break,
                Err(error) => self.end(Reason::Malformed(error)),
            }
        }
        input.drain(..consumed);
        self.input = input;
    }

    /// Ends the session because the other side has closed the connection.
    pub fn disconnected(&mut self) {
        self.end(Reason::Terminated(0));
    }

    /// Returns the next event, in the order of occurrence.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the time at which [`wake`](Self::wake) must be called next.
    pub fn next_wake(&self) -> Option<Time> {
        match (self.state, self.keepalive) {
            (State::Ended, _) | (State::Established, None) => None,
            (State::Established, Some(interval)) => {
                Some((self.last_sent + interval).min(self.last_received + interval + interval))
            }
            _ => Some(self.last_received + HANDSHAKE_TIMEOUT),
        }
    }

    /// Sends a keepalive if it is due, or ends the session if the other side was silent for too
    /// long.
    pub fn wake(&mut self, now: Time) {
        match (self.state, self.keepalive) {
            (State::Ended, _) | (State::Established, None) => {}
            (State::Established, Some(interval)) => {
                if self.last_received + interval + interval <= now {
                    self.end(Reason::TimedOut);
                } else if self.last_sent + interval <= now {
                    self.output.push(KEEPALIVE);
                }
            }
            _ if self.last_received + HANDSHAKE_TIMEOUT <= now => self.end(Reason::TimedOut),
            _ => {}
        }
    }

    fn end(&mut self, reason: Reason) {
        if self.state != State::Ended {
            self.state = State::Ended;
            self.events.push_back(Event::Ended(reason));
        }
    }

    fn acknowledge(&mut self, flags: u8, transfer: u64, length: u64) {
        self.output.extend([XFER_ACK, flags]);
        self.output.extend(transfer.to_be_bytes());
        self.output.extend(length.to_be_bytes());
    }

    /// Handles the message at the beginning of `input`. Returns its length, or `None` if it is
    /// incomplete.
    fn message(&mut self, input: &[u8]) -> Result<Option<usize>, &'static str> {
        let mut fields = Fields { input, offset: 0 };
        let handled = match self.state {
            State::Header => self.header(&mut fields)?,
            State::Init => self.init(&mut fields)?,
            _ => self.established(&mut fields)?,
        };
        Ok(handled.map(|()| fields.offset))
    }

    fn header(&mut self, fields: &mut Fields<'_>) -> Result<Option<()>, &'static str> {
        let known = fields.input.len().min(4);
        if fields.input[..known] != MAGIC[..known] {
            return Err("it does not begin with the contact header of TCPCL");
        }
        let Some(header) = fields.bytes(6) else { return Ok(None) };
        if header[4] != 4 {
            return Err("it speaks another version of TCPCL than 4");
        }
        self.state = State::Init;
        Ok(Some(()))
    }

    fn init(&mut self, fields: &mut Fields<'_>) -> Result<Option<()>, &'static str> {
        match fields.number(1) {
            None => return Ok(None),
            Some(kind) if kind == u64::from(KEEPALIVE) => return Ok(Some(())),
            Some(kind) if kind != u64::from(SESS_INIT) => {
                return Err("no SESS_INIT follows its contact header")
            }
            Some(_) => {}
        }
        let mut read = || {
            let (keepalive, segment, transfer) = (fields.number(2)?, fields.number(8)?, fields.number(8)?);
            let node = fields.number(2)? as usize;
            let node = String::from_utf8_lossy(fields.bytes(node)?).into_owned();
            let items = fields.number(4)? as usize;
            fields.bytes(items)?;
            Some((keepalive, segment, transfer, node))
        };
        let Some((keepalive, segment, transfer, node)) = read() else { return Ok(None) };
        self.peer_limits = (segment, transfer);
        let interval = keepalive.min(u64::from(self.config.keepalive));
        self.keepalive = (interval > 0).then(|| Span::from_secs(interval));
        if self.state == State::Init {
            self.state = State::Established;
            self.events.push_back(Event::Established(node));
        }
        Ok(Some(()))
    }

    fn established(&mut self, fields: &mut Fields<'_>) -> Result<Option<()>, &'static str> {
        let Some(kind) = fields.number(1) else { return Ok(None) };
        match kind as u8 {
            XFER_SEGMENT => self.segment(fields),
            XFER_ACK => Ok(self.acknowledged(fields)),
            XFER_REFUSE => Ok(self.refused(fields)),
            KEEPALIVE => Ok(Some(())),
            SESS_TERM => {
                let Some((flags, reason)) = fields.number(1).zip(fields.number(1)) else { return Ok(None) };
                if self.state == State::Ending || flags & 1 != 0 {
                    self.end(Reason::Closed);
                } else {
                    self.output.extend([SESS_TERM, 1, reason as u8]);
                    self.end(Reason::Terminated(reason as u8));
                }
                Ok(Some(()))
            }
            // A rejected message needs no answer. If it belonged to a transfer, the transfer fails
            // when the session ends.
            MSG_REJECT => Ok(fields.bytes(2).map(|_| ())),
            _ => Err("it sends a message of an unknown type"),
        }
    }

    fn segment(&mut self, fields: &mut Fields<'_>) -> Result<Option<()>, &'static str> {
        let mut head = || {
            let (flags, transfer) = (fields.number(1)? as u8, fields.number(8)?);
            if flags & START != 0 {
                let items = fields.number(4)? as usize;
                fields.bytes(items)?;
            }
            Some((flags, transfer, fields.number(8)?))
        };
        let Some((flags, transfer, length)) = head() else { return Ok(None) };
        if length > self.config.segment {
            return Err("it sends a segment longer than this side accepts");
        }
        let Some(data) = fields.bytes(length as usize) else { return Ok(None) };
        if flags & START != 0 {
            self.incoming = Some((transfer, Vec::with_capacity(data.len())));
        }
        let Some((_, bundle)) = self.incoming.as_mut().filter(|(number, _)| *number == transfer) else {
            return Err("it sends a segment of a transfer that has not begun");
        };
        if bundle.len() as u64 + length > self.config.transfer {
            return Err("it sends a bundle longer than this side accepts");
        }
        bundle.extend_from_slice(data);
        let received = bundle.len() as u64;
        if flags & END == 0 {
            self.acknowledge(flags, transfer, received);
            return Ok(Some(()));
        }
        if let Some((transfer, bundle)) = self.incoming.take() {
            if flags & START != 0 {
                self.single_segment.insert(transfer);
            }
            self.events.push_back(Event::Received { transfer, bundle: Bytes::from(bundle) });
        }
        Ok(Some(()))
    }

    fn acknowledged(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        let (_flags, transfer, length) = (fields.number(1)?, fields.number(8)?, fields.number(8)?);
        let complete = self.unacknowledged.iter().position(|entry| entry.0 == transfer && entry.1 <= length);
        if let Some(index) = complete {
            self.unacknowledged.remove(index);
            self.events.push_back(Event::Sent(transfer));
        }
        Some(())
    }

    fn refused(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        let (reason, transfer) = (fields.number(1)?, fields.number(8)?);
        self.waiting.retain(|waiting| waiting.transfer != transfer || waiting.sent > 0);
        if let Some(index) = self.unacknowledged.iter().position(|entry| entry.0 == transfer) {
            self.unacknowledged.remove(index);
            self.events.push_back(Event::Refused(transfer, reason as u8));
        }
        Some(())
    }
}

/// Reads the fields of a message, one after the other.
struct Fields<'a> {
    input: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes = self.input.get(self.offset..self.offset.checked_add(count)?)?;
        self.offset += count;
        Some(bytes)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.bytes(bytes)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}
