//! E-mail: set-up messages, then the mail, from the flow's source; a single mail or a Poisson
//! process of mails.
//!
//! ```toml
//! app = { kind = "email", size = "75 kB", every = "60 s" }
//! ```
//!
//! The set-up is that of SMTP (RFC 5321: EHLO 250 MAIL 250 RCPT 250 DATA 354). Each mail uses its
//! own connection.
//!
//! Deviations: the server sends no greeting and no reply after the mail. A mail is complete when
//! all of it has been acknowledged.

use super::draw::{self, Number, Sizes};
use super::session::{self, Direction, Sessions};
use super::{App, Connections, End, Transactions, Workload};
use bentpipe_core::{Count, Problems, Sample, Size, Span, Stream, Tables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mails that the flow's source sends, each over its own connection, after the set-up dialogue of
/// SMTP (RFC 5321).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean size of a mail, at least 1 B.
    pub size: Size,
    /// Distribution of the sizes of mails around their mean: `"constant"` (the default),
    /// `"exponential"` or `"pareto"`.
    #[serde(default)]
    pub distribution: Sizes,
    /// Shape of the Pareto distribution of sizes, greater than 1. Above 2 the variance is finite.
    /// Default 1.5.
    #[serde(default = "draw::shape")]
    pub shape: f64,
    /// Number of set-up messages before the mail, of both ends together. Default 8, as in SMTP.
    #[serde(default = "session::messages")]
    pub messages: Count<0, 1000>,
    /// Size of each set-up message. Default 60 B.
    #[serde(default = "session::message")]
    pub message: Size,
    /// Mean time between the starts of mails, which form a Poisson process. If unset, a single mail
    /// is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// Maximum number of mails; needs `every`. If unset, mails are sent until the run ends.
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

impl Tables for Config {}

impl Sample for Config {
    const SAMPLE: &'static str = r#"size = "20 kB", mails = 3, every = "2 s""#;
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

    fn transactions(&self) -> Option<Transactions> {
        Some(self.sessions().transactions())
    }

    fn connections(&self) -> Connections {
        self.sessions().connections()
    }

    fn check(&self, problems: &mut Problems) {
        self.sessions().check("mails", problems);
    }
}
