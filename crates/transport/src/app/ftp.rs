//! File transfer: set-up messages, then a file, over one connection; a single session or a Poisson
//! process of sessions.
//!
//! ```toml
//! app = { kind = "ftp", size = "4 MB" }
//! app = { kind = "ftp", size = "500 kB", distribution = "pareto", every = "30 s" }
//! ```
//!
//! The ends exchange set-up messages in turn, the client first, as in FTP (RFC 959: USER 331 PASS
//! 230 PASV 227 STOR 150). With `every`, sessions start as a Poisson process, each over its own
//! connection.
//!
//! Deviations: control and data share a connection, as in the DAMA study, whose number of messages
//! is used here; the server sends no greeting.

use super::draw::{self, Number, Sizes};
use super::session::{self, Direction, Sessions};
use super::{Answers, App, Connections, End, Transactions, Workload};
use bentpipe_core::{Count, Problems, Sample, Size, Span, Stream, Tables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// File transfers, each over its own connection, after the set-up dialogue of FTP (RFC 959).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean size of a file, at least 1 B.
    pub size: Size,
    /// Distribution of the sizes of files around their mean: `"constant"` (the default),
    /// `"exponential"` or `"pareto"`.
    #[serde(default)]
    pub distribution: Sizes,
    /// Shape of the Pareto distribution of sizes, greater than 1. Above 2 the variance is finite.
    /// Default 1.5.
    #[serde(default = "draw::shape")]
    pub shape: f64,
    /// Direction of the files: from the flow's source (`"upload"`, the default) or to it
    /// (`"download"`).
    #[serde(default)]
    pub direction: Direction,
    /// Number of set-up messages before the file, of both ends together. Default 8, as in FTP.
    #[serde(default = "session::messages")]
    pub messages: Count<0, 1000>,
    /// Size of each set-up message. Default 60 B.
    #[serde(default = "session::message")]
    pub message: Size,
    /// Mean time between the starts of sessions, which form a Poisson process. If unset, there is a
    /// single session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// Maximum number of sessions; needs `every`. If unset, sessions start until the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Number>,
}

impl Config {
    fn sessions(&self) -> Sessions {
        Sessions {
            size: self.size,
            sizes: self.distribution,
            shape: self.shape,
            direction: self.direction,
            messages: self.messages.value(),
            message: self.message.bytes(),
            every: self.every,
            count: self.sessions.map(Count::value),
        }
    }
}

impl Tables for Config {}

impl Sample for Config {
    const SAMPLE: &'static str = r#"size = "30 kB", distribution = "exponential", every = "3 s""#;
}

impl Workload for Config {
    fn build(&self, end: End, plan: Stream) -> Box<dyn App> {
        self.sessions().build(end, plan)
    }

    fn is_elastic(&self) -> bool {
        true
    }

    fn has_transactions(&self) -> bool {
        true
    }

    fn answers(&self) -> Answers {
        match self.direction {
            Direction::Upload => Answers::Nothing,
            Direction::Download => Answers::Stream,
        }
    }

    fn transactions(&self) -> Option<Transactions> {
        Some(self.sessions().transactions())
    }

    fn connections(&self) -> Connections {
        self.sessions().connections()
    }

    fn check(&self, problems: &mut Problems) {
        self.sessions().check("sessions", problems);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{Actions, Event};
    use bentpipe_core::{Streams, Time};

    /// A message: its sender, connection and size in bytes.
    type Message = (char, u16, u64);

    /// Connects both ends over a network without delay. Returns the messages of each, in order, and
    /// the client's transactions.
    fn talk(json: &str, seconds: u64) -> (Vec<Message>, Vec<(Time, u64)>) {
        let config: Config = serde_json::from_str(json).unwrap();
        let plan = || Streams::new(1, 0).stream("plan");
        let mut ends = [config.build(End::Source, plan()), config.build(End::Destination, plan())];
        let mut stream = Streams::new(1, 0).stream("own");
        let (mut messages, mut over) = (Vec::new(), Vec::new());
        let (mut timer, mut now) = (None, Time::ZERO);
        let mut events = std::collections::VecDeque::from([(0, 0, Event::Start)]);
        loop {
            let Some((end, connection, event)) = events.pop_front() else {
                now = match timer.take() {
                    Some(at) if at <= Time::ZERO + Span::from_secs(seconds) => at,
                    _ => return (messages, over),
                };
                events.push_back((0, 0, Event::Timer));
                continue;
            };
            let mut actions = Actions::default();
            ends[end].on(now, connection, event, &mut stream, &mut actions);
            timer = actions.timer.or(timer);
            if let Some(turn) = actions.turn {
                events.push_front((end, turn, Event::Turn));
            }
            if actions.connect {
                events.extend([(1, connection, Event::Connected), (0, connection, Event::Connected)]);
            }
            if actions.send > 0 {
                messages.push((['c', 's'][end], connection, actions.send));
                events.push_back((1 - end, connection, Event::Received { bytes: actions.send }));
                events.push_back((end, connection, Event::MaySend));
            }
            if let Some(transaction) = actions.over {
                assert!(transaction.complete && actions.close);
                over.push((transaction.start, transaction.bytes));
                events.push_back((1 - end, connection, Event::PeerClosed));
            }
        }
    }

    #[test]
    fn messages_are_exchanged_before_the_file() {
        let (messages, over) = talk(r#"{"size": "1 MB", "messages": 4, "message": "50 B"}"#, 0);
        let expected = [('c', 50), ('s', 50), ('c', 50), ('s', 50), ('c', 1_000_000)];
        assert_eq!(messages, expected.map(|(end, bytes)| (end, 0, bytes)));
        assert_eq!(over, [(Time::ZERO, 1_000_000)]);
        let down = r#"{"size": "1 MB", "messages": 3, "message": "50 B", "direction": "download"}"#;
        // The file follows the last message if the client sent it. Otherwise it is sent together
        // with the server's last message.
        assert_eq!(talk(down, 0).0, [('c', 0, 50), ('s', 0, 50), ('c', 0, 50), ('s', 0, 1_000_000)]);
        assert_eq!(talk(r#"{"size": "9 B", "messages": 0}"#, 0).0, [('c', 0, 9)]);
    }

    #[test]
    fn sessions_are_a_poisson_process_of_files_that_both_ends_know() {
        let (messages, over) = talk(
            r#"{"size": "1 MB", "distribution": "pareto", "shape": 3, "messages": 2, "every": "2 s",
                "direction": "download"}"#,
            200_000,
        );
        assert_eq!(over.len(), messages.len() / 2);
        // 100000 sessions are expected, within 1 %: three standard deviations.
        assert!((99_000..101_000).contains(&over.len()), "{}", over.len());
        let mean = over.iter().map(|(_, bytes)| *bytes).sum::<u64>() as f64 / over.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        // A Poisson process: gaps have a standard deviation as large as their mean.
        let gaps: Vec<_> = over.windows(2).map(|two| two[1].0.since(two[0].0).as_secs_f64()).collect();
        let square = gaps.iter().map(|gap| (gap - 2.0).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((square.sqrt() / 2.0 - 1.0).abs() < 0.02, "{}", square.sqrt());
    }
}
