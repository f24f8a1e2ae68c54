//! E-mail: set-up messages, then the mail, from the flow's source; one mail or a Poisson process of them.
//!
//! ```toml
//! app = { kind = "email", size = "75 kB", every = "60 s" }
//! ```
//!
//! The set-up is that of SMTP (RFC 5321: EHLO 250 MAIL 250 RCPT 250 DATA 354), each mail over a connection of its own.
//!
//! Deviations: the server does not greet, and says nothing after the mail: it is over when all of it is acknowledged.

use super::draw::{self, Number, Sizes};
use super::session::{self, Direction, Sessions};
use super::{App, Connections, End, Workload};
use bentpipe_core::{Count, Problems, Size, Span, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean size of a mail.
    pub size: Size,
    /// How the sizes of mails are distributed.
    #[serde(default)]
    pub distribution: Sizes,
    /// Shape of a Pareto distribution; its variance is finite above 2.
    #[serde(default = "draw::shape")]
    pub shape: f64,
    /// Messages before the mail, of both ends together.
    #[serde(default = "session::messages")]
    pub messages: Count<0, 1000>,
    /// Size of a message.
    #[serde(default = "session::message")]
    pub message: Size,
    /// Mean time from one mail to the next; one mail when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// How many mails at most; as long as the run lasts when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mails: Option<Number>,
}

impl Config {
    fn sessions(&self) -> Sessions {
        Sessions {
            size: self.size,
            sizes: self.distribution,
            shape: self.shape,
            direction: Direction::Upload,
            messages: self.messages.value(),
            message: self.message.bytes(),
            every: self.every,
            count: self.mails.map(Count::value),
        }
    }
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

    fn connections(&self) -> Connections {
        self.sessions().connections()
    }

    fn check(&self, problems: &mut Problems) {
        self.sessions().check("mails", problems);
    }
}
