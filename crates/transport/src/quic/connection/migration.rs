//! Migration (RFC 9000, section 9): after a handover the client has another address, and both ends
//! reset what they know about the path.
//!
//! - Each end validates the path by PATH_CHALLENGE, in datagrams of at least 1200 bytes (section
//!   8.2). Until the path is validated, the server sends at most three times as many bytes as it
//!   has received from the new address (section 8).
//! - Congestion control, the round-trip times and the packet size are reset (sections 9.4 and
//!   14.3). Packets sent over an earlier path are acknowledged and repeated, but do not change
//!   these.
//! - The client migrates once the handshake is confirmed (section 9).

use super::Connection;
use crate::app::End;
use crate::quic::frames::{full_packet, Datagram, Frame, Kind, Space, SMALLEST_INITIAL};

impl Connection {
    /// Changes the address of the client, at once or when the handshake is confirmed.
    pub fn migrate(&mut self) {
        self.migrates = !self.confirmed;
        if self.confirmed {
            self.begin_path(self.path + 1);
            // The server follows a packet only if the packet has more than questions about the path
            // (section 9.1).
            self.control.push(Frame::Ping);
        }
    }

    /// Follows a client whose address has changed, if this datagram shows it: its packet is the
    /// newest one, and has a frame that does not only validate the path (section 9.3).
    pub(super) fn follow_client(&mut self, datagram: &Datagram) {
        if self.end == End::Source || !self.complete || datagram.path <= self.path {
            return;
        }
        let largest = self.spaces[Space::Application as usize].largest_received();
        let moves = datagram.packets().any(|packet| {
            packet.kind == Kind::OneRtt
                && largest.is_none_or(|largest| packet.number > largest)
                && !packet.frames.iter().all(Frame::validates_path)
        });
        if moves {
            (self.validated, self.received_bytes, self.sent_bytes) = (false, 0, 0);
            self.begin_path(datagram.path);
        }
    }

    fn begin_path(&mut self, path: u32) {
        self.path = path;
        self.mtu = SMALLEST_INITIAL;
        self.controller =
            self.controller.on_new_path(&self.config, (self.congestion)(), full_packet(self.mtu));
        self.path_start = self.controller.flights();
        self.discover_mtu();
        self.probe_timeouts = 0;
        self.control.retain(|frame| !frame.validates_path());
        self.control.push(Frame::PathChallenge(path.into()));
    }

    /// Handles the answer to the question about a path.
    pub(super) fn validate_path(&mut self, number: u64) {
        if number == u64::from(self.path) {
            self.validated = true;
        }
    }
}
