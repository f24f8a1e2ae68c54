//! Sessions of set-up messages and a file, each over its own connection: the common part of FTP and
//! e-mail.
//!
//! The ends exchange messages in turn, the client first. The file follows at once, in its
//! direction, and both ends close. A session is over when the last byte has been acknowledged
//! (upload) or has arrived (download). With a mean gap, sessions start as a Poisson process,
//! independent of the ends of earlier ones.

use super::draw::{gap, Sizes};
use super::{Actions, App, Connections, End, Event, Transaction, Transactions};
use bentpipe_core::{Count, Problems, Size, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The direction in which a file is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TransferDirection")]
pub enum Direction {
    /// The file goes from the flow's source to its destination.
    #[default]
    Upload,
    /// The file goes from the flow's destination to its source.
    Download,
}

/// The parameters of sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// Mean size of a file in bytes.
    pub size: Size,
    /// Distribution of the sizes of files.
    pub sizes: Sizes,
    /// Shape of a Pareto distribution.
    pub shape: f64,
    /// Direction in which files are sent.
    pub direction: Direction,
    /// Number of messages before a file, counting both ends.
    pub messages: u64,
    /// Size of each message in bytes.
    pub message: u64,
    /// Mean time between the starts of sessions; a single session if `None`.
    pub every: Option<Span>,
    /// Maximum number of sessions.
    pub count: Option<u64>,
}

/// Default number of messages before a file: the dialogues of FTP and SMTP.
pub fn messages() -> Count<0, 1000> {
    Count::new(8)
}

/// Default size of a message.
pub fn message() -> Size {
    Size::from_bytes(60)
}

impl Sessions {
    /// Builds one end of the sessions.
    pub fn build(self, end: End, plan: Stream) -> Box<dyn App> {
        let files = Files { plan, drawn: 0, waiting: BTreeMap::new() };
        match end {
            End::Source => Box::new(Client { sessions: self, files, begun: 0, open: BTreeMap::new() }),
            End::Destination => Box::new(Server { sessions: self, files, open: BTreeMap::new() }),
        }
    }

    /// Returns the number of connections of the sessions.
    pub fn connections(&self) -> Connections {
        self.every.map_or(Connections::Fixed(1), |_| Connections::Endless)
    }

    /// Returns the transactions of the sessions in the long run.
    pub fn transactions(&self) -> Transactions {
        let (client, server) = self.shares();
        let (there, back) = ((client * self.message) as f64, (server * self.message) as f64);
        let file = self.size.bytes() as f64;
        let (there, back) = match self.direction {
            Direction::Upload => (there + file, back),
            Direction::Download => (there, back + file),
        };
        let count = if self.every.is_none() { Some(1) } else { self.count };
        Transactions { there, back, count, pause: self.every.unwrap_or(Span::ZERO), round_trips: 0.0 }
    }

    /// Adds the problems of these parameters. `things` is the key of the number of sessions, and
    /// the noun for sessions in messages.
    pub fn check(&self, things: &str, problems: &mut Problems) {
        self.sizes.check(self.size, self.shape, problems);
        if self.message == 0 {
            problems.add("message", "must be at least 1 B");
        }
        if self.every == Some(Span::ZERO) {
            problems.add("every", "must be longer than 0 s");
        }
        if self.count.is_some() && self.every.is_none() {
            problems.add(things, format!("needs every, the mean time between {things}"));
        }
    }

    /// Returns the number of messages from the client and from the server.
    fn shares(&self) -> (u64, u64) {
        (self.messages.div_ceil(2), self.messages / 2)
    }
}

/// The sizes of files, known to both ends: the plan's draws in the order of sessions.
struct Files {
    plan: Stream,
    drawn: u64,
    /// Sizes that have been drawn but not yet used.
    waiting: BTreeMap<u64, u64>,
}

impl Files {
    fn size(&mut self, session: u64, sessions: &Sessions) -> u64 {
        while self.drawn <= session {
            let size = sessions.sizes.draw(sessions.size, sessions.shape, &mut self.plan);
            self.waiting.insert(self.drawn, size);
            self.drawn += 1;
        }
        self.waiting.remove(&session).unwrap_or(0)
    }

    /// Returns the session of a connection number, which has its low 16 bits: the nearest to those
    /// drawn so far.
    fn session(&self, connection: u16) -> u64 {
        let ahead = connection.wrapping_sub(self.drawn as u16).cast_signed();
        self.drawn.saturating_add_signed(ahead.into())
    }
}

/// A session as seen by one of its ends.
struct Session {
    start: Time,
    file: u64,
    /// Number of bytes received so far.
    received: u64,
    /// Number of messages sent so far.
    sent: u64,
    file_sent: bool,
}

struct Client {
    sessions: Sessions,
    files: Files,
    begun: u64,
    open: BTreeMap<u16, Session>,
}

impl Client {
    fn begin(&mut self, now: Time, stream: &mut Stream, actions: &mut Actions) {
        let number = self.begun as u16;
        let file = self.files.size(self.begun, &self.sessions);
        self.begun += 1;
        self.open.insert(number, Session { start: now, file, received: 0, sent: 0, file_sent: false });
        if let Some(every) = self.sessions.every {
            if self.sessions.count.is_none_or(|count| self.begun < count) {
                actions.timer = Some(now + gap(every, stream));
            }
        }
        actions.turn = Some(number);
    }

    /// Sends the messages that are due in reply to received ones, then the file.
    fn advance(&mut self, connection: u16, actions: &mut Actions) {
        let Some(session) = self.open.get_mut(&connection) else { return };
        let Sessions { message, direction, .. } = self.sessions;
        let (own, theirs) = self.sessions.shares();
        let answers = (session.received / message.max(1)).min(theirs);
        while session.sent < own && session.sent <= answers {
            actions.send += message;
            session.sent += 1;
        }
        let ready = session.sent == own && answers == theirs && !session.file_sent;
        if ready && direction == Direction::Upload {
            session.file_sent = true;
            actions.send += session.file;
        }
    }

    fn end(&mut self, connection: u16, complete: bool, actions: &mut Actions) {
        if let Some(Session { start, file, .. }) = self.open.remove(&connection) {
            actions.over = Some(Transaction { start, bytes: file, parts: 1, complete });
            actions.close = true;
        }
    }
}

impl App for Client {
    fn on(&mut self, now: Time, connection: u16, event: Event, stream: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start | Event::Timer => self.begin(now, stream, actions),
            Event::Turn => actions.connect = true,
            Event::Connected => self.advance(connection, actions),
            Event::Received { bytes } => {
                let Some(session) = self.open.get_mut(&connection) else { return };
                session.received += bytes;
                let (_, theirs) = self.sessions.shares();
                let all = theirs * self.sessions.message + session.file;
                if self.sessions.direction == Direction::Download && session.received >= all {
                    self.end(connection, true, actions);
                } else {
                    self.advance(connection, actions);
                }
            }
            Event::MaySend => {
                if self.open.get(&connection).is_some_and(|session| session.file_sent) {
                    self.end(connection, true, actions);
                }
            }
            Event::Failed | Event::PeerClosed => self.end(connection, false, actions),
        }
    }

    fn pending(&self) -> u64 {
        self.open.len() as u64
    }
}

struct Server {
    sessions: Sessions,
    files: Files,
    open: BTreeMap<u16, Session>,
}

impl App for Server {
    fn on(&mut self, now: Time, connection: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Connected => {
                let number = self.files.session(connection);
                let file = self.files.size(number, &self.sessions);
                self.open
                    .insert(connection, Session { start: now, file, received: 0, sent: 0, file_sent: false });
                self.answer(connection, 0, actions);
            }
            Event::Received { bytes } => self.answer(connection, bytes, actions),
            Event::PeerClosed | Event::Failed => {
                self.open.remove(&connection);
                actions.close = true;
            }
            Event::Start | Event::Timer | Event::Turn | Event::MaySend => {}
        }
    }
}

impl Server {
    /// Replies to the received messages. Sends the file after the last one, if this end sends it.
    fn answer(&mut self, connection: u16, bytes: u64, actions: &mut Actions) {
        let Some(session) = self.open.get_mut(&connection) else { return };
        session.received += bytes;
        let message = self.sessions.message;
        let (theirs, own) = self.sessions.shares();
        let asked = (session.received / message.max(1)).min(theirs);
        while session.sent < own.min(asked) {
            actions.send += message;
            session.sent += 1;
        }
        let ready = asked == theirs && session.sent == own && !session.file_sent;
        if ready && self.sessions.direction == Direction::Download {
            session.file_sent = true;
            actions.send += session.file;
        }
    }
}
