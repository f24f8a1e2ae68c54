//! Contact plans: the intervals in which nodes can transmit to other nodes, with rates and light
//! times.
//!
//! A contact is open from its start until its end, which is exclusive. A transmission may start at
//! time t if start <= t < end, and its last bit must leave at or before the end. Data sent during a
//! contact arrives even if the contact ends during its light time.
//!
//! Plans are read from five formats ([`read`]) and checked for contradictions ([`Plan::new`]). A
//! contradictory plan is refused, with the lines that contradict each other.

pub mod number;
pub mod read;

use bentpipe_core::{Span, Time};
use number::BitRate;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A node of a plan: its index in the order of [`Plan::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u32);

/// An interval in which one node can transmit to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contact {
    /// Number of the contact in the plan.
    pub id: u64,
    /// The node that transmits.
    pub from: Node,
    /// The node that receives.
    pub to: Node,
    /// Earliest start of a transmission.
    pub start: Time,
    /// Latest end of a transmission; exclusive for its start.
    pub end: Time,
    /// Transmission rate.
    pub rate: BitRate,
    /// One-way light time (OWLT) from transmitter to receiver.
    pub delay: Span,
}

impl Contact {
    /// Returns the number of bytes that can be sent during the complete contact.
    pub fn volume(&self) -> u64 {
        self.rate.bytes_in(self.end.since(self.start))
    }
}

/// A contact in a file, before the plan is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Number of the contact, if the file has one.
    pub id: Option<u64>,
    /// Name or number of the transmitter.
    pub from: String,
    /// Name or number of the receiver.
    pub to: String,
    /// Start of the contact, relative to second 0 of the plan.
    pub start: Time,
    /// End of the contact, relative to second 0 of the plan.
    pub end: Time,
    /// Transmission rate.
    pub rate: BitRate,
    /// One-way light time.
    pub delay: Span,
}

impl Entry {
    /// Returns an error if the contact does not end after its start.
    pub(crate) fn problem(&self) -> Option<ParseError> {
        let (start, end) = (number::seconds(self.start), number::seconds(self.end));
        (self.end <= self.start).then(|| {
            ParseError::at(
                self.line,
                format!(
                    "the contact ends at {end} s and starts at {start} s; allowed: an end after its start"
                ),
            )
        })
    }
}

/// An error in a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParseError {
    /// Line of the file, counted from 1; 0 for an error of the complete file.
    pub line: usize,
    /// Description of the error, with the wrong value and the allowed values.
    pub message: String,
}

impl ParseError {
    /// Creates an error for a line.
    pub fn at(line: usize, message: impl Into<String>) -> ParseError {
        ParseError { line, message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

/// A contact plan without contradictions.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    names: Vec<String>,
    contacts: Vec<Contact>,
    /// Indices of the contacts in which each node transmits, sorted by end.
    outgoing: Vec<Vec<u32>>,
}

impl Plan {
    /// Checks the entries and creates a plan from them. If `nodes` are given, entries must not
    /// contain other nodes.
    ///
    /// Two contacts from one node to another may overlap if they have the same rate and light time.
    /// Otherwise they contradict each other.
    ///
    /// # Errors
    /// Returns all errors, in the order of lines.
    pub fn new(entries: &[Entry], nodes: Option<&[String]>) -> Result<Plan, Vec<ParseError>> {
        let mut errors = Vec::new();
        let mut names: Vec<&str> = match nodes {
            Some(nodes) => nodes.iter().map(String::as_str).collect(),
            None => entries.iter().flat_map(|entry| [entry.from.as_str(), entry.to.as_str()]).collect(),
        };
        names.sort_by(|a, b| compare(a, b));
        names.dedup();
        let mut ids = BTreeMap::new();
        let mut contacts = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let before = errors.len();
            let mut refuse = |message: String| errors.push(ParseError::at(entry.line, message));
            let mut node = |name: &str| match names.binary_search_by(|known| compare(known, name)) {
                Ok(index) => Node(index as u32),
                Err(_) => {
                    refuse(format!("unknown node \"{name}\"; allowed: {}", name_list(&names)));
                    Node(0)
                }
            };
            let (from, to) = (node(&entry.from), node(&entry.to));
            if entry.from == entry.to {
                refuse(format!("the contact leads from node {} to itself; allowed: two nodes", entry.from));
            }
            let id = entry.id.unwrap_or(index as u64 + 1);
            if let Some(other) = ids.insert(id, entry.line) {
                refuse(format!("contact {id} is also in line {other}; allowed: a number for each contact"));
            }
            errors.extend(entry.problem());
            if errors.len() == before {
                let (start, end, rate, delay) = (entry.start, entry.end, entry.rate, entry.delay);
                contacts.push((entry.line, Contact { id, from, to, start, end, rate, delay }));
            }
        }
        contradictions(&contacts, &names, &mut errors);
        if !errors.is_empty() {
            errors.sort();
            return Err(errors);
        }
        let names = names.into_iter().map(str::to_owned).collect();
        Ok(Plan::of(names, contacts.into_iter().map(|(_, contact)| contact).collect()))
    }

    /// Creates a plan of valid contacts, without checks.
    pub fn of(names: Vec<String>, contacts: Vec<Contact>) -> Plan {
        let mut outgoing = vec![Vec::new(); names.len()];
        for (index, contact) in contacts.iter().enumerate() {
            outgoing[contact.from.0 as usize].push(index as u32);
        }
        for list in &mut outgoing {
            list.sort_by_key(|index| contacts[*index as usize].end);
        }
        Plan { names, contacts, outgoing }
    }

    /// Returns the contacts in the order of the file.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Returns the names of all nodes: first numbers by value, then names in alphabetical order.
    pub fn nodes(&self) -> &[String] {
        &self.names
    }

    /// Returns the node of this name.
    pub fn node(&self, name: &str) -> Option<Node> {
        self.names.binary_search_by(|known| compare(known, name)).ok().map(|index| Node(index as u32))
    }

    /// Returns the name of a node.
    pub fn name(&self, node: Node) -> &str {
        &self.names[node.0 as usize]
    }

    /// Returns the indices of the contacts in which `node` transmits and that end after `time`,
    /// sorted by end.
    pub fn outgoing(&self, node: Node, time: Time) -> &[u32] {
        let list = self.outgoing.get(node.0 as usize).map_or(&[][..], Vec::as_slice);
        let ended = list.partition_point(|index| self.contacts[*index as usize].end <= time);
        &list[ended..]
    }
}

/// Adds an error for each contact that overlaps another contact of the same pair with a different
/// rate or light time.
fn contradictions(contacts: &[(usize, Contact)], names: &[&str], errors: &mut Vec<ParseError>) {
    let mut pairs: BTreeMap<(Node, Node), Vec<&(usize, Contact)>> = BTreeMap::new();
    for contact in contacts {
        pairs.entry((contact.1.from, contact.1.to)).or_default().push(contact);
    }
    for mut contacts in pairs.into_values() {
        contacts.sort_by_key(|(line, contact)| (contact.start, *line));
        let mut open: Vec<&(usize, Contact)> = Vec::new();
        for current in contacts {
            open.retain(|other| other.1.end > current.1.start);
            let differing =
                open.iter().find(|other| (other.1.rate, other.1.delay) != (current.1.rate, current.1.delay));
            if let Some(other) = differing {
                let (late, early) = if current.0 > other.0 { (current, *other) } else { (*other, current) };
                let (from, to) = (names[current.1.from.0 as usize], names[current.1.to.0 as usize]);
                errors.push(ParseError::at(
                    late.0,
                    format!(
                        "overlaps the contact in line {} from {from} to {to}, {} to {} s, with another rate or light time; \
                         allowed: one rate and one light time at a time",
                        early.0,
                        number::seconds(early.1.start),
                        number::seconds(early.1.end),
                    ),
                ));
            }
            open.push(current);
        }
    }
}

/// Compares two node names: numbers precede names, and are compared by value.
pub fn compare(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

fn name_list(names: &[&str]) -> String {
    const MAX_LISTED: usize = 12;
    let shown = names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED {
        format!("{shown}, ... ({} nodes)", names.len())
    } else {
        shown
    }
}
