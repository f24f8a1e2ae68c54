//! `packets.pcapng`: packets at the scenario's capture points, for Wireshark, tshark and tcptrace.
//!
//! The file has one interface per capture point, of link type raw IP, with time stamps in
//! nanoseconds. Model packets get real headers (`headers.rs`) and a payload of zeros. Real frames
//! are captured unchanged.
//!
//! Programs based on libpcap (tcpdump, tcptrace) accept a pcapng file with one raw IP interface. Up
//! to at least libpcap 1.10.3 they reject a file with several such interfaces, because libpcap
//! compares LINKTYPE_RAW (101) of the later interfaces with DLT_RAW (12), to which it maps the
//! first one. These programs would also count a packet once per capture point. To extract one
//! interface, use `tshark -r packets.pcapng -Y 'frame.interface_id == 0' -F nsecpcap -w st1.pcap`.

use crate::{headers, pcapng, ResultsError};
use bentpipe_core::{FlowId, Time};
use bentpipe_stage::{Body, Capture, Content, Packet};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the file.
pub(crate) const FILE: &str = "packets.pcapng";

/// Number of bytes collected for one write.
const BUFFER: usize = 256 * 1024;

/// Maximum length of the comment on a control message, in bytes.
const COMMENT: usize = 2000;

/// Options of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureOptions {
    /// Maximum number of bytes kept of each packet; `None` for all. Payloads are zeros, so 120
    /// bytes are sufficient for all headers, but checksums can then not be verified.
    pub snap: Option<u32>,
    /// Time 0 of the run in nanoseconds since 1970-01-01 UTC; 0 for a simulation.
    pub epoch: u64,
}

/// The capture to which stages pass packets; set it with
/// [`Outbox::set_capture`](bentpipe_stage::Outbox::set_capture).
pub struct PacketCapture {
    shared: Arc<Shared>,
}

/// The file of a capture, which closes it at the end.
pub struct CaptureFile {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    failed: AtomicBool,
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    file: File,
    options: CaptureOptions,
    /// Data that is not in the file yet.
    buffer: Vec<u8>,
    /// Length of the complete blocks in `buffer`: its whole length unless a block was interrupted
    /// by a panic.
    whole: usize,
    /// Number of bytes in the file, always complete blocks.
    length: u64,
    /// Notes of layers about a connection of a flow
    /// ([`Payload::header`](bentpipe_stage::Payload::header)).
    notes: BTreeMap<(FlowId, u16), [u32; 2]>,
    problem: Option<ResultsError>,
}

/// Creates the file below `root`.
pub(crate) fn create(
    root: &Path,
    interfaces: &[String],
    options: CaptureOptions,
) -> Result<(PacketCapture, CaptureFile), ResultsError> {
    let path = root.join(FILE);
    let file = File::create(&path).map_err(|error| ResultsError::write(FILE, error))?;
    let mut buffer = Vec::with_capacity(BUFFER);
    pcapng::section_header(&mut buffer);
    for name in interfaces {
        pcapng::interface_description(&mut buffer, name, options.snap.unwrap_or(0));
    }
    let mut writer = Writer {
        file,
        options,
        whole: buffer.len(),
        buffer,
        length: 0,
        notes: BTreeMap::new(),
        problem: None,
    };
    // Written at once, so that even the capture of a killed run can be read.
    writer.flush();
    if let Some(problem) = writer.problem {
        let _ = fs::remove_file(&path);
        return Err(problem);
    }
    let shared = Arc::new(Shared { failed: AtomicBool::new(false), writer: Mutex::new(writer) });
    Ok((PacketCapture { shared: Arc::clone(&shared) }, CaptureFile { shared }))
}

impl Capture for PacketCapture {
    fn packet(&mut self, interface: u32, now: Time, packet: &Packet) {
        let mut writer = self.shared.writer();
        if writer.problem.is_some() {
            return;
        }
        writer.packet(interface, now, packet);
        if writer.problem.is_some() {
            self.shared.failed.store(true, Ordering::Relaxed);
        }
    }
}

impl CaptureFile {
    /// Returns true if writing has failed; [`CaptureFile::finish`] returns the error.
    pub fn failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Writes the remaining data. Later packets are lost, or written only if they fill the buffer.
    pub fn finish(self) -> Result<(), ResultsError> {
        let mut writer = self.shared.writer();
        if writer.problem.is_none() {
            writer.flush();
        }
        match writer.problem.as_ref() {
            Some(problem) => Err(problem.again()),
            None => Ok(()),
        }
    }
}

impl Shared {
    /// Locks the writer. A poisoned lock is usable, because `whole` states how much of the buffer
    /// is valid.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    fn packet(&mut self, interface: u32, now: Time, packet: &Packet) {
        let snap = self.options.snap.map_or(usize::MAX, |snap| snap as usize);
        let time = self.options.epoch + now.as_nanos();
        let payload = packet.body.payload();
        let signalling = payload.filter(|payload| payload.content() == Content::Signalling);
        let comment = signalling.map(|message| shortened(format!("{message:?}")));
        let notes = &mut self.notes;
        pcapng::enhanced_packet(&mut self.buffer, interface, time, comment.as_deref(), |out| {
            let begin = out.len();
            let original = match (&packet.body, payload) {
                (_, Some(payload)) => {
                    let notes = notes.entry((packet.flow, packet.connection)).or_default();
                    headers::append(packet, payload, notes, out)
                }
                (Body::Frame(bytes), None) => {
                    out.extend_from_slice(&bytes[..packet.size as usize]);
                    // The bytes of a frame do not contain marks that the network has set since.
                    bentpipe_wire::set_traffic_class(&mut out[begin..], packet.traffic_class());
                    packet.size
                }
                (_, None) => unreachable!("all packets except frames have a payload"),
            };
            out.resize(begin + (original as usize).min(snap), 0);
            original
        });
        self.whole = self.buffer.len();
        if self.whole >= BUFFER - 4096 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let whole = &self.buffer[..self.whole];
        let written = self.file.seek(SeekFrom::Start(self.length)).and_then(|_| self.file.write_all(whole));
        match written {
            Ok(()) => self.length += whole.len() as u64,
            Err(error) => {
                // Readers would reject the whole file because of an incomplete block.
                let _ = self.file.set_len(self.length);
                self.problem = Some(ResultsError::write(FILE, error));
            }
        }
        self.buffer.clear();
        self.whole = 0;
    }
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().find(|(index, _)| *index >= COMMENT) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_cut_between_characters() {
        assert_eq!(shortened("short".to_owned()), "short");
        assert!(shortened("ä".repeat(COMMENT)).len() <= COMMENT + 4);
    }
}
