//! Talkers, which generate the talk spurts of each side of a call. Each kind of talker has its own
//! file.
//!
//! A talker is one side of a conversation and returns its talk spurts in order ([`Spurt`]). Both
//! sides of a conversation are built from the same configuration and equal random streams. If the
//! speech of one side depends on the other side (`p59`), each side computes the complete
//! conversation and uses its own part.

pub mod always;
pub mod exponential;
pub mod p59;
pub mod recorded;

use bentpipe_core::{kinds, Problems, Span, Stream};

kinds! {
    /// The talker at each side of a call, which alternates between speech and silence.
    #[schemars(rename = "Talker")]
    pub enum Config: Talker {
        "p59" => P59(p59::Config),
        "exponential" => Exponential(exponential::Config),
        "recorded" => Recorded(recorded::Config),
        "always" => Always(always::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::P59(p59::Config::default())
    }
}

/// One of the two sides of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The caller, at the source of the flow.
    Caller,
    /// The callee, at the destination of the flow.
    Callee,
}

impl Side {
    /// Returns the opposite side of the conversation.
    pub fn other(self) -> Side {
        match self {
            Side::Caller => Side::Callee,
            Side::Callee => Side::Caller,
        }
    }
}

/// A period in which a talker speaks without a pause, counted from the beginning of the
/// conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spurt {
    /// Time at which the talk spurt begins.
    pub begin: Span,
    /// Time at which the talk spurt ends, which is after `begin`.
    pub end: Span,
}

/// The talk spurts of one side, in order. They neither overlap nor touch.
pub type Spurts = Box<dyn Iterator<Item = Spurt> + Send>;

/// The factory of a talker, implemented by its `Config`.
pub trait Talker {
    /// Returns the talk spurts of one side of a conversation. Both sides get equal streams as
    /// `plan`.
    fn spurts(&self, side: Side, plan: Stream) -> Spurts;

    /// Returns the long-term fraction of time in which a side speaks, if known.
    fn activity(&self) -> Option<f64>;

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}
