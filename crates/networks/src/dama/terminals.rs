//! The terminals of a network: their entries in a scenario, and each terminal with all its
//! settings.

use super::scheme;
use super::timing::Timing;
use bentpipe_core::text_or_table;
use bentpipe_core::{numbered, Count, RateOrZero, Span};
use bentpipe_link::acm::Decibel;
use bentpipe_orbit::geo::Site;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// One terminal, or several identical ones. Unset values are taken from the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Group {
    /// Node name of the terminal. For `count` terminals, the numbers from 1 replace `{}` in the
    /// name, or are appended to it.
    #[serde(alias = "prefix", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of identical terminals. If unset, there is one terminal, and `name` is used
    /// unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count<1, 65_000>>,
    /// Scheme by which each terminal requests slots, instead of the network's. Changes of the
    /// network's scheme during a run do not affect it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Box<scheme::Config>>,
    /// Constant rate of each terminal (CRA), instead of the network's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cra: Option<RateOrZero>,
    /// Time at which each terminal starts to log on. If unset, it is logged on from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logon: Option<Span>,
    /// Time at which each terminal logs off, which drops its waiting packets. If unset, it never
    /// logs off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logoff: Option<Span>,
    /// Period after which logon and logoff repeat. If unset, they happen once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// Rate that each terminal gets before others when it requests slots; must be a whole number of
    /// slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<RateOrZero>,
    /// Maximum rate that each terminal gets by request; must be a whole number of slots. If unset,
    /// only the links limit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<RateOrZero>,
    /// Weight of each terminal relative to the others, for the allocator `max-min`; 1 if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Count<1, 1000>>,
    /// Es/N0 of each terminal on the return link in clear sky, in dB, for adaptive coding and
    /// modulation. If unset, it is that of the return link's `acm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub esn0_db: Option<Decibel>,
    /// Es/N0 of each terminal on the forward link in clear sky, in dB, for adaptive coding and
    /// modulation. If unset, it is that of the forward link's `acm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_esn0_db: Option<Decibel>,
    /// Position of the terminals, if propagation is computed from positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
}

/// An entry in the list of terminals.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[serde(untagged)]
pub enum Terminals {
    /// The node name of a terminal with the network's settings.
    Name(String),
    /// One or more terminals with their own settings.
    Group(Group),
}

/// A single terminal with all its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Name of the terminal's node.
    pub name: String,
    /// Scheme by which the terminal requests slots.
    pub scheme: scheme::Config,
    /// True if the scheme is the terminal's own instead of the network's.
    pub has_own_scheme: bool,
    /// Number of constant slots of the terminal (CRA).
    pub constant: u32,
    /// Time at which the terminal starts to log on; `None` if it is logged on from the start.
    pub logon: Option<Span>,
    /// Time at which the terminal logs off.
    pub logoff: Option<Span>,
    /// Period after which logon and logoff repeat.
    pub period: Option<Span>,
    /// Number of slots that the terminal gets before others when it requests them.
    pub min: u32,
    /// Maximum number of slots that the terminal gets by request.
    pub max: u32,
    /// Weight of the terminal relative to other terminals.
    pub weight: u32,
    /// Number of bytes that each slot of the terminal carries in clear sky. If its signal is too
    /// weak for any waveform, the most robust one counts.
    pub slot_bytes: u32,
    /// The terminal's own Es/N0 in clear sky, on the forward link and on the return link.
    pub esn0_db: (Option<Decibel>, Option<Decibel>),
    /// Names of the terminal in fade files: its own name, and the name of its group.
    pub names: Vec<String>,
    /// Propagation delays of the terminal; their maxima if satellites move.
    pub timing: Timing,
    /// The terminal's own position.
    pub site: Option<Site>,
}

impl Terminals {
    /// Returns the node names of the terminals of this entry.
    pub fn names(&self) -> Vec<String> {
        match self {
            Terminals::Name(name) => vec![name.clone()],
            Terminals::Group(Group { name: Some(name), count: Some(count), .. }) => {
                numbered(name, count.value()).collect()
            }
            Terminals::Group(Group { name: Some(name), .. }) => vec![name.clone()],
            Terminals::Group(_) => Vec::new(),
        }
    }

    /// Returns the name of a group of terminals, as it is written in the scenario.
    pub(super) fn group_name(&self) -> Option<String> {
        match self {
            Terminals::Group(Group { name: Some(name), count: Some(_), .. }) => Some(name.clone()),
            _ => None,
        }
    }

    /// Returns the number of terminals of this entry.
    pub(super) fn count(&self) -> u64 {
        match self {
            Terminals::Group(Group { count: Some(count), .. }) => count.value(),
            _ => 1,
        }
    }

    /// Returns the scheme of this entry, if it is not the network's.
    pub(super) fn own_scheme(&self) -> Option<&scheme::Config> {
        match self {
            Terminals::Name(_) => None,
            Terminals::Group(group) => group.scheme.as_deref(),
        }
    }

    pub(super) fn group(&self) -> Group {
        match self {
            Terminals::Name(_) => Group::default(),
            Terminals::Group(group) => group.clone(),
        }
    }
}

impl Serialize for Terminals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Terminals::Name(name) => serializer.serialize_str(name),
            Terminals::Group(group) => group.serialize(serializer),
        }
    }
}

text_or_table!(
    Terminals,
    "a node name, or a table with name",
    |text| Ok(Terminals::Name(text.to_owned())),
    Terminals::Group
);
