//! Sessions of set-up messages and a file, each over a connection of its own: what FTP and e-mail have in common.
//!
//! The messages go to and fro, the client's first; then the file follows in its direction at once, and both ends close. A
//! session is over when the last byte is acknowledged (upload) or has arrived (download). With a mean gap there is one
//! session after the other as a Poisson process, whether earlier ones have ended or not.

use super::draw::{gap, Sizes};
use super::{Actions, App, Connections, End, Event, Transaction};
use bentpipe_core::{Count, Problems, Size, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which way the file goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the flow's source to its destination.
    #[default]
    Upload,
    /// From the flow's destination to its source.
    Download,
}

/// What sessions are like.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// Mean size of a file.
    pub size: Size,
    /// How sizes are distributed.
    pub sizes: Sizes,
    /// Shape of a Pareto distribution.
    pub shape: f64,
    /// Which way files go.
    pub direction: Direction,
    /// Messages before a file, of both ends together.
    pub messages: u64,
    /// Size of each.
    pub message: u64,
    /// Mean time from the start of a session to that of the next; only one session without.
    pub every: Option<Span>,
    /// How many sessions at most.
    pub count: Option<u64>,
}

/// Messages before a file, when the scenario does not say: the dialogues of FTP and SMTP.
pub fn messages() -> Count<0, 1000> {
    Count::new(8)
}

/// Size of a message, when the scenario does not say.
pub fn message() -> Size {
    Size::from_bytes(60)
}

impl Sessions {
    /// One end of it.
    pub fn build(self, end: End, plan: Stream) -> Box<dyn App> {
        let files = Files { plan, drawn: 0, waiting: BTreeMap::new() };
        match end {
            End::Source => Box::new(Client { sessions: self, files, begun: 0, open: BTreeMap::new() }),
            End::Destination => Box::new(Server { sessions: self, files, open: BTreeMap::new() }),
        }
    }

    /// How many connections they take.
    pub fn connections(&self) -> Connections {
        self.every.map_or(Connections::Fixed(1), |_| Connections::Endless)
    }

    /// What is wrong with them. `things` is what the scenario calls them, and their number.
    pub fn check(&self, things: &str, problems: &mut Problems) {
        self.sizes.check(self.size, self.shape, problems);
        if self.message == 0 {
            problems.add("message", "0 B is no message; allowed: 1 B or more");
        }
        if self.every == Some(Span::ZERO) {
            problems.add("every", format!("0 s is no time between {things}; allowed: more than 0 s"));
        }
        if self.count.is_some() && self.every.is_none() {
            problems
                .add(things, format!("several {things} need the time between them; allowed: every as well"));
        }
    }

    /// Messages of the client, and of the server.
    fn shares(&self) -> (u64, u64) {
        (self.messages.div_ceil(2), self.messages / 2)
    }
}

/// The sizes of files, which both ends know: the plan's draws in the order of sessions.
struct Files {
    plan: Stream,
    drawn: u64,
    /// Drawn, but not yet asked for.
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

    /// The session of a connection, whose number has 16 bits of it: the nearest to those drawn so far.
    fn session(&self, connection: u16) -> u64 {
        let ahead = connection.wrapping_sub(self.drawn as u16).cast_signed();
        self.drawn.saturating_add_signed(ahead.into())
    }
}

/// A session as one end sees it.
struct Session {
    start: Time,
    file: u64,
    /// Bytes that have arrived.
    received: u64,
    /// Messages sent.
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

    /// Sends what is due: messages as answers to what has come, then the file.
    fn go_on(&mut self, connection: u16, actions: &mut Actions) {
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
            Event::Connected => self.go_on(connection, actions),
            Event::Received { bytes } => {
                let Some(session) = self.open.get_mut(&connection) else { return };
                session.received += bytes;
                let (_, theirs) = self.sessions.shares();
                let all = theirs * self.sessions.message + session.file;
                if self.sessions.direction == Direction::Download && session.received >= all {
                    self.end(connection, true, actions);
                } else {
                    self.go_on(connection, actions);
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
    /// Answers the messages that have come, and sends the file after the last where that is its way.
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
