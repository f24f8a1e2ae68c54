//! The messages between terminals and the network control centre (NCC). They are sent as packets.
//! Their sizes include only the fields that the model needs.

use super::frame::{Frame, Run};
use super::requests::contention::Contention;
use super::scheme::CapacityRequest;
use bentpipe_core::NodeId;
use bentpipe_stage::{Content, Packet, Payload};

/// A capacity request, in the satellite access control field of a synchronisation burst (EN 301
/// 790, section 6.6.1). It is sent out of band and takes no traffic slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Logon identifier: the terminal's index in the list of terminals.
    pub terminal: u16,
    /// The superframe at the start of which the request was made.
    pub superframe: u64,
    /// The capacity that the terminal requests.
    pub capacity: CapacityRequest,
    /// The mini-slots in which the request was sent, if several terminals share them.
    pub shared: Option<Contention>,
}

/// Data sent in shared mini-slots.
#[derive(Clone, Debug)]
pub struct DataBurst {
    /// Index of the terminal.
    pub terminal: u16,
    /// The mini-slots in which the burst was sent.
    pub shared: Contention,
    /// The packets that it carries.
    pub packets: Vec<Packet>,
}

/// A terminal burst time plan (EN 301 790, section 8.5.5.7), which assigns slots for one
/// superframe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tbtp {
    /// The superframe for which it is valid.
    pub superframe: u64,
    /// Terminals with their assigned slots, in ascending order. A terminal may occur several times.
    pub entries: Vec<(u16, Run)>,
}

/// A terminal's request to log on (common signalling channel burst).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogonRequest {
    /// Index of the terminal.
    pub terminal: u16,
}

/// A terminal's message that it logs off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logoff {
    /// Index of the terminal.
    pub terminal: u16,
    /// The first superframe in which the terminal sends nothing.
    pub superframe: u64,
}

/// The NCC's message that it has logged a terminal on (terminal information message).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogonResponse {
    /// Index of the terminal.
    pub terminal: u16,
    /// The first superframe in which the terminal may send.
    pub superframe: u64,
    /// Constant slots (CRA) that the terminal has while it is logged on.
    pub constant: Run,
}

macro_rules! messages {
    ($($type:ty),+) => {
        $(impl Payload for $type {
            fn content(&self) -> Content {
                Content::Signalling
            }
        })+
    };
}
messages!(Request, DataBurst, Tbtp, LogonRequest, LogonResponse, Logoff);

impl Tbtp {
    /// Returns the slots that the plan assigns to this terminal.
    pub fn runs_of(&self, terminal: u16) -> impl Iterator<Item = Run> + '_ {
        let from = self.entries.partition_point(|(other, _)| *other < terminal);
        self.entries[from..].iter().take_while(move |(other, _)| *other == terminal).map(|(_, run)| *run)
    }

    /// Returns the size in bytes of the section with `entries` entries: section header 8, group 1,
    /// superframe count 2, frame loop count 1, CRC 4; for each frame, frame number 1 and loop count
    /// 2; for each entry, logon identifier 2, flags and start slot 2, slot count 1.
    pub fn bytes(frame: &Frame, entries: usize) -> u32 {
        16 + frame.frames * (3 + 5 * entries as u32)
    }
}

/// Size in bytes of a request: the signalling field of a synchronisation burst.
pub const REQUEST_BYTES: u32 = 16;
/// Size in bytes of a logon request: a common signalling channel burst.
pub const LOGON_REQUEST_BYTES: u32 = 16;
/// Size in bytes of a logoff message: the signalling field of a synchronisation burst.
pub const LOGOFF_BYTES: u32 = 16;
/// Size in bytes of a terminal information message with its logon initialize descriptor.
pub const LOGON_RESPONSE_BYTES: u32 = 48;
/// The destination of messages that all terminals receive.
pub const ALL_TERMINALS: NodeId = NodeId(u16::MAX);
