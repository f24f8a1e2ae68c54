//! The handshake (RFC 9001, section 4): the messages of TLS by size, and the keys that they give.

use super::Connection;
use crate::app::{End, Event};
use crate::quic::frames::{Frame, Space};
use bentpipe_core::Time;

/// Bytes of the messages of TLS 1.3 in a usual handshake: the client's and the server's first
/// messages, the server's remaining messages without the certificate chain, and the client's last.
pub(super) const CLIENT_HELLO: u64 = 300;
const SERVER_HELLO: u64 = 122;
const SERVER_FLIGHT: u64 = 400;
const RESUMED_FLIGHT: u64 = 150;
const FINISHED: u64 = 36;

impl Connection {
    /// Returns true if the keys of a space have been discarded.
    pub(super) fn is_past(&self, space: Space) -> bool {
        match space {
            Space::Initial | Space::Handshake => self.confirmed,
            Space::Application => false,
        }
    }

    /// Advances the handshake after `read` bytes of the other end's messages in a space.
    pub(super) fn progress(&mut self, now: Time, space: Space, read: u64) {
        let flight = match self.config.resumption {
            true => RESUMED_FLIGHT,
            false => SERVER_FLIGHT + self.config.certificate.value(),
        };
        match (self.end, space) {
            (End::Destination, Space::Initial) if read >= CLIENT_HELLO && !self.keys[1] && !self.complete => {
                self.crypto[0].send.hand_over(SERVER_HELLO);
                self.crypto[1].send.hand_over(flight);
                self.keys[1] = true;
                self.keys[2] = true;
            }
            (End::Source, Space::Initial) if read >= SERVER_HELLO && !self.keys[1] && !self.confirmed => {
                self.keys[1] = true;
            }
            (End::Source, Space::Handshake) if read >= flight && !self.complete => {
                self.crypto[1].send.hand_over(FINISHED);
                self.complete(now);
                let opening = std::mem::take(&mut self.opening);
                self.events.extend(opening.into_iter().map(|id| (id, Event::Connected)));
            }
            (End::Destination, Space::Handshake) if read >= FINISHED && !self.complete => {
                self.complete(now);
                self.control.push(Frame::HandshakeDone);
                self.confirm();
            }
            _ => {}
        }
    }

    pub(super) fn complete(&mut self, now: Time) {
        self.complete = true;
        self.completed_at = Some(now);
        self.counters.start.get_or_insert(now);
        self.keys[2] = true;
        self.discover_mtu();
        self.request_acks();
    }

    /// Begins path MTU discovery, if configured.
    pub(super) fn discover_mtu(&mut self) {
        self.mtu_probes = 0;
        self.mtu_probe_due =
            self.config.mtu_discovery && self.config.max_udp_payload_size.value() > self.mtu.into();
    }

    /// Handles the confirmation of the handshake (RFC 9001, section 4.1.2).
    pub(super) fn confirm(&mut self) {
        self.confirmed = true;
        self.discard(Space::Initial);
        self.discard(Space::Handshake);
        if self.migrates {
            self.migrate();
        }
    }

    pub(super) fn discard(&mut self, space: Space) {
        let at = space as usize;
        if self.keys[at] {
            self.keys[at] = false;
            self.controller.forget(self.spaces[at].discard());
            self.probe_timeouts = 0;
        }
    }
}
