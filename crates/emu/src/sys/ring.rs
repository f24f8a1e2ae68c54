//! All file operations of a thread at one moment in a single system call (io_uring): writing
//! packets, reading packets, discarding data at the sockets to which packets were written, and
//! waiting for the next event. Arriving packets are read into the ring's rooms.

use super::call::Way;
use super::rooms::Rooms;
use io_uring::{cqueue, opcode, squeue, types, IoUring};
use nix::errno::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Entries in the submission queue. More entries are submitted in several calls.
const PLACES: u32 = 256;
/// Entries in the completion queue, enough for every room and every write of a turn.
const DONE: u32 = 4096;
/// The buffer group of the rooms.
const GROUP: u16 = 0;

/// Position of the operation's kind in an entry's number: the upper bits.
const KIND: u32 = 56;
const READ: u64 = 0;
const WRITE: u64 = 1;
const POLL: u64 = 2;
const TIMER: u64 = 3;
/// Operations whose result is used only if they fail.
const QUIET: u64 = 4;
/// Sets the timer to a new time.
const ALARM: u64 = 5;
/// Reads and discards the data of a socket.
const DISCARD: u64 = 6;
/// Separates the events caused by the ring's own writes from later events.
const MARK: u64 = 7;
/// Sends a question and receives its answer.
const ASK: u64 = 8;
const ANSWER: u64 = 9;
/// Reads a host's answer to a packet, if there is one.
const TAKE: u64 = 10;
/// Cancels the reading of a file, because the answers to its next packet are deferred. Reported
/// only if there was nothing to cancel.
const CANCEL: u64 = 11;

/// Maximum number of a host's answers that are read with the write of the packet. Further answers
/// end the wait.
const TAKES: usize = 8;
/// Number of writes after which one answer fewer is read with each write, until a write has more
/// answers again.
const LOWERED: u32 = 32;

/// Maximum number of bytes that one entry discards.
const CHUNK: usize = 256 << 10;
/// Maximum length of an answer to a question, in bytes.
const ANSWERS: usize = 4096;

/// A file that the ring watches.
struct Watched {
    file: RawFd,
    /// True if the ring reads packets from the file, false if it only reports that the file is
    /// readable.
    packets: bool,
    /// True if the kernel currently has no operation on the file.
    idle: bool,
    number: u64,
    /// Arrived packets: room and length.
    arrived: VecDeque<(u16, usize)>,
    /// Number of answers that are read with the write of a packet.
    takes: usize,
    /// Number of answers to the last such write, and number of such writes since the last reduction
    /// of the number of reads.
    answered: usize,
    written: u32,
}

/// A write whose answers are deferred: they do not end the wait.
#[derive(Default)]
struct PutOff {
    /// The file to which the packet was written, until the entries that read its answers are
    /// pushed.
    file: Option<usize>,
    /// The answers: room and length.
    answers: VecDeque<(u16, usize)>,
}

/// A packet that the kernel is writing.
struct Held {
    buffer: Box<[u8]>,
    file: usize,
}

/// The reason for which a turn ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// True if the timer expired at the set time.
    pub expired: bool,
    /// True if a packet arrived, or a file became ready.
    pub came: bool,
    /// True if all arrivals were caused by the writes of this turn, before the thread could sleep.
    pub at_once: bool,
}

/// A ring of the thread that made it.
pub struct Ring {
    ring: IoUring,
    way: Way,
    watched: Vec<Watched>,
    rooms: Rooms,
    held: Vec<Option<Held>>,
    spare: Vec<usize>,
    /// Number of incomplete entries for writing and discarding.
    writing: usize,
    /// Buffers that have been written, and numbers of the files that had no room for them.
    written: Vec<Box<[u8]>>,
    refused: Vec<usize>,
    /// Sockets whose data is discarded at the next wait, and the numbers of discarded bytes.
    to_discard: VecDeque<RawFd>,
    discarded: VecDeque<(RawFd, usize)>,
    /// Target of discarded data. Because of MSG_TRUNC, nothing is copied to it.
    chunk: Box<[u8]>,
    /// The last question, its answer, and the length of the answer if there is one.
    question: Vec<u8>,
    answer: Box<[u8]>,
    answered: Option<usize>,
    /// True if the mark has arrived, and true if a packet or a file's readiness followed it.
    marked: bool,
    came_later: bool,
    put_off: PutOff,
    /// Numbers of the readable files, for the next answer.
    ready: Vec<u64>,
    /// Time at which the timer expires, in nanoseconds of CLOCK_MONOTONIC.
    armed: Option<u64>,
    /// Time that the kernel reads when the timer is set.
    at: Box<types::Timespec>,
}

impl Ring {
    /// Creates a ring for this thread, for packets of up to `longest` bytes.
    ///
    /// # Errors
    /// Returns an error if the kernel has no io_uring, or no multishot reads (Linux 6.7).
    pub fn new(longest: usize) -> io::Result<Ring> {
        let ring: IoUring = IoUring::builder()
            .setup_cqsize(DONE)
            .setup_single_issuer()
            .setup_defer_taskrun()
            .dontfork()
            .build(PLACES)?;
        let mut probe = io_uring::register::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::ReadMulti::CODE) {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let rooms = Rooms::new(&ring, longest, GROUP)?;
        Ok(Ring {
            ring,
            way: Way::of_this_kernel(),
            watched: Vec::new(),
            rooms,
            held: Vec::new(),
            spare: Vec::new(),
            writing: 0,
            written: Vec::new(),
            refused: Vec::new(),
            to_discard: VecDeque::new(),
            discarded: VecDeque::new(),
            chunk: vec![0; CHUNK].into_boxed_slice(),
            question: Vec::new(),
            answer: vec![0; ANSWERS].into_boxed_slice(),
            answered: None,
            marked: true,
            came_later: false,
            put_off: PutOff::default(),
            ready: Vec::new(),
            armed: None,
            at: Box::new(types::Timespec::new()),
        })
    }

    /// Watches a file under a number. The file must stay open as long as the ring. With `packets`,
    /// the ring reads the arriving packets.
    pub fn watch(&mut self, file: BorrowedFd<'_>, number: u64, packets: bool) {
        let file = file.as_raw_fd();
        self.watched.push(Watched {
            file,
            packets,
            idle: true,
            number,
            arrived: VecDeque::new(),
            takes: 1,
            answered: 0,
            written: 0,
        });
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the targets of entries live until the entries are complete. Rooms, timer and held
        // packets belong to the ring, and are not moved or freed while the kernel may use them.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter(0)?;
            self.gather()?;
        }
        Ok(())
    }

    /// Writes the first `size` bytes of a packet to watched file number `file` at the next turn.
    pub fn write(&mut self, file: usize, buffer: Box<[u8]>, size: usize) -> io::Result<()> {
        let slot = self.spare.pop().unwrap_or_else(|| {
            self.held.push(None);
            self.held.len() - 1
        });
        let to = types::Fd(self.watched[file].file);
        let entry = opcode::Write::new(to, buffer.as_ptr(), size as u32).build();
        self.held[slot] = Some(Held { buffer, file });
        self.writing += 1;
        self.push(&entry.user_data(WRITE << KIND | slot as u64))
    }

    /// Writes a packet as [`write`](Self::write) does, and defers its answers, which must all come
    /// from the same file. Deferred answers do not end the next wait;
    /// [`read_answer`](Self::read_answer) returns them when the wait ends. Likewise,
    /// [`take_answer`](Self::take_answer) returns the answer to `question`. The file is not read
    /// while the packet is written. Then it is read as often as it answered before, and only then
    /// watched again. Only one packet at a time can have deferred answers.
    pub fn write_and_put_off(
        &mut self,
        file: usize,
        buffer: Box<[u8]>,
        size: usize,
        question: Option<(RawFd, &[u8])>,
    ) -> io::Result<()> {
        if !self.watched[file].idle {
            let entry = opcode::AsyncCancel::new(READ << KIND | file as u64).build();
            self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(CANCEL << KIND))?;
            self.watched[file].idle = true;
            // The completion of the cancelled read is counted, too.
            self.writing += 1;
        }
        self.write(file, buffer, size)?;
        self.put_off.file = Some(file);
        self.answered = None;
        match question {
            Some((socket, question)) => self.push_question(socket, question),
            None => Ok(()),
        }
    }

    /// Pushes the entries that read the deferred answers to a packet. Discarding data may cause
    /// answers, too.
    fn push_takes(&mut self) -> io::Result<()> {
        let Some(file) = self.put_off.file.take() else { return Ok(()) };
        let watched = &mut self.watched[file];
        watched.written += 1;
        if watched.written == LOWERED {
            (watched.takes, watched.written) = ((watched.takes - 1).max(1), 0);
        }
        watched.takes = watched.takes.max(std::mem::take(&mut watched.answered).min(TAKES));
        let (from, takes) = (types::Fd(watched.file), watched.takes);
        for _ in 0..takes {
            let entry = opcode::Read::new(from, std::ptr::null_mut(), self.rooms.size() as u32);
            let entry = entry.buf_group(GROUP).rw_flags(libc::RWF_NOWAIT).build();
            self.writing += 1;
            self.push(&entry.flags(squeue::Flags::BUFFER_SELECT).user_data(TAKE << KIND | file as u64))?;
        }
        Ok(())
    }

    /// Copies the next deferred answer.
    pub fn read_answer(&mut self, into: &mut [u8]) -> Option<usize> {
        let (room, size) = self.put_off.answers.pop_front()?;
        Some(self.copy(room, &mut into[..size]))
    }

    /// Treats the remaining deferred answers as arrived packets.
    pub fn return_answers(&mut self, file: usize) {
        let Ring { watched, put_off, .. } = self;
        while let Some(answer) = put_off.answers.pop_back() {
            watched[file].arrived.push_front(answer);
        }
    }

    /// Takes the answer to the question about the packet with deferred answers, if there is one.
    pub fn take_answer(&mut self) -> Option<&[u8]> {
        self.answered.take().map(|length| &self.answer[..length])
    }

    /// Discards the pending data of a TCP socket at the next wait, after all writes.
    pub fn discard(&mut self, socket: RawFd) {
        if !self.to_discard.contains(&socket) {
            self.to_discard.push_back(socket);
        }
    }

    /// Takes a socket, and the number of its bytes that have been discarded since the last wait.
    pub fn take_discarded(&mut self) -> Option<(RawFd, usize)> {
        self.discarded.pop_front()
    }

    fn push_discards(&mut self) -> io::Result<()> {
        while let Some(socket) = self.to_discard.pop_front() {
            let entry = opcode::Recv::new(types::Fd(socket), self.chunk.as_mut_ptr(), CHUNK as u32)
                .flags(libc::MSG_TRUNC | libc::MSG_DONTWAIT)
                .build();
            self.writing += 1;
            self.push(&entry.user_data(DISCARD << KIND | socket as u64))?;
        }
        Ok(())
    }

    /// Performs the due writes, then sends `question` on a socket that answers immediately, as
    /// netlink(7) does, and reads all data caused by both. Returns the answer, if there is one.
    pub fn flush_and_ask(&mut self, socket: RawFd, question: &[u8]) -> io::Result<Option<&[u8]>> {
        self.push_question(socket, question)?;
        self.flush()?;
        Ok(self.answered.map(|length| &self.answer[..length]))
    }

    fn push_question(&mut self, socket: RawFd, question: &[u8]) -> io::Result<()> {
        self.question.clear();
        self.question.extend(question);
        self.answered = None;
        let ask = opcode::Send::new(types::Fd(socket), self.question.as_ptr(), self.question.len() as u32);
        self.push(&ask.build().flags(squeue::Flags::SKIP_SUCCESS).user_data(ASK << KIND))?;
        let answer = opcode::Recv::new(types::Fd(socket), self.answer.as_mut_ptr(), ANSWERS as u32);
        self.writing += 1;
        self.push(&answer.flags(libc::MSG_DONTWAIT).build().user_data(ANSWER << KIND))
    }

    /// Makes the ring send itself a message, if hosts can answer anything. The effects of earlier
    /// writes complete in order, so all arrivals before the message occurred before the thread
    /// slept.
    fn push_mark(&mut self) -> io::Result<()> {
        self.marked = self.writing == 0;
        if !self.marked {
            let own = types::Fd(self.ring.as_raw_fd());
            let entry = opcode::MsgRingData::new(own, 0, MARK << KIND, None).build();
            self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(QUIET << KIND))?;
        }
        Ok(())
    }

    /// Copies the next arrived packet of watched file number `file`.
    pub fn read(&mut self, file: usize, into: &mut [u8]) -> Option<usize> {
        let (room, size) = self.watched[file].arrived.pop_front()?;
        Some(self.copy(room, &mut into[..size]))
    }

    /// Copies the content of a room and frees the room. Returns the length.
    fn copy(&mut self, room: u16, into: &mut [u8]) -> usize {
        into.copy_from_slice(self.rooms.packet(room, into.len()));
        self.rooms.free(room);
        into.len()
    }

    /// Returns true if packets of any file wait to be [`read`](Self::read).
    pub fn has_any(&self) -> bool {
        self.watched.iter().any(|file| !file.arrived.is_empty())
    }

    /// Performs the due writes and reads the data caused by them, without waiting.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.writing > 0 {
            self.push_takes()?;
            self.watch_all()?;
        }
        while self.writing > 0 {
            self.enter(self.writing)?;
            self.gather()?;
        }
        Ok(())
    }

    /// Performs the due writes and discards, and waits until data arrives or until `alarm`, in
    /// nanoseconds of CLOCK_MONOTONIC.
    pub fn wait(&mut self, alarm: Option<u64>) -> io::Result<Turn> {
        self.watch_all()?;
        self.arm(alarm)?;
        self.push_discards()?;
        self.came_later = false;
        if self.put_off.file.is_some() {
            self.push_takes()?;
            self.watch_all()?;
        }
        self.push_mark()?;
        let mut turn = Turn::default();
        loop {
            // The completion of each of them is counted, and so is the mark.
            let over = turn.expired || turn.came || self.armed != alarm;
            self.enter(self.writing + usize::from(!self.marked) + usize::from(!over))?;
            turn.expired |= self.gather()?;
            turn.came = !self.ready.is_empty() || self.has_any();
            self.push_discards()?;
            let over = turn.expired || turn.came || self.armed != alarm;
            if over && self.writing == 0 && self.marked {
                return Ok(Turn { at_once: turn.came && !turn.expired && !self.came_later, ..turn });
            }
        }
    }

    /// Takes the numbers of the files that have become readable since the last call.
    pub fn take_ready(&mut self, into: &mut Vec<u64>) {
        into.append(&mut self.ready);
        into.extend(self.watched.iter().filter(|file| !file.arrived.is_empty()).map(|file| file.number));
    }

    /// Takes a buffer that has been written.
    pub fn take_written(&mut self) -> Option<Box<[u8]>> {
        self.written.pop()
    }

    /// Takes the number of a watched file that had no room for a packet.
    pub fn take_refused(&mut self) -> Option<usize> {
        self.refused.pop()
    }

    /// Makes the kernel watch all files that it does not watch yet, except for the one whose
    /// answers are deferred.
    fn watch_all(&mut self) -> io::Result<()> {
        for index in 0..self.watched.len() {
            let Watched { file, packets, idle, .. } = self.watched[index];
            if !idle || self.put_off.file == Some(index) {
                continue;
            }
            let entry = if packets {
                opcode::ReadMulti::new(types::Fd(file), 0, GROUP)
                    .build()
                    .user_data(READ << KIND | index as u64)
            } else {
                let poll = opcode::PollAdd::new(types::Fd(file), libc::POLLIN as u32);
                poll.build().user_data(POLL << KIND | index as u64)
            };
            self.watched[index].idle = false;
            self.push(&entry)?;
        }
        Ok(())
    }

    fn arm(&mut self, alarm: Option<u64>) -> io::Result<()> {
        if alarm == self.armed {
            return Ok(());
        }
        const SECOND: u64 = 1_000_000_000;
        let before = std::mem::replace(&mut self.armed, alarm);
        let timer = TIMER << KIND;
        let entry = match alarm {
            Some(at) => {
                *self.at = types::Timespec::new().sec(at / SECOND).nsec((at % SECOND) as u32);
                let absolute = types::TimeoutFlags::ABS;
                if before.is_some() {
                    let entry =
                        opcode::TimeoutUpdate::new(timer, &raw const *self.at).flags(absolute).build();
                    entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(ALARM << KIND)
                } else {
                    opcode::Timeout::new(&raw const *self.at).flags(absolute).build().user_data(timer)
                }
            }
            None => {
                let entry = opcode::TimeoutRemove::new(timer).build();
                entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(QUIET << KIND)
            }
        };
        self.push(&entry)
    }

    /// Makes one call to the kernel, which waits until `least` entries are complete.
    fn enter(&mut self, least: usize) -> io::Result<()> {
        /// IORING_ENTER_GETEVENTS: collect complete entries, also without waiting.
        const GETEVENTS: usize = 1;
        let count = {
            let mut queue = self.ring.submission();
            queue.sync();
            queue.len()
        };
        let arguments = [self.ring.as_raw_fd() as usize, count, least, GETEVENTS, 0, 0];
        // SAFETY: the call has no argument that the kernel reads, and the targets of entries are
        // live (see `push`).
        let entered = unsafe { self.way.call(libc::SYS_io_uring_enter, arguments) };
        match entered {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
            _ => Ok(()),
        }
    }

    /// Processes the complete entries. Returns true if the timer expired at the set time.
    fn gather(&mut self) -> io::Result<bool> {
        let (mut expired, mut missed) = (false, false);
        let Ring {
            ring,
            watched,
            rooms,
            held,
            put_off,
            spare,
            writing,
            written,
            refused,
            to_discard,
            discarded,
            ready,
            answered,
            marked,
            came_later,
            ..
        } = self;
        for entry in ring.completion() {
            let (kind, number) = (entry.user_data() >> KIND, entry.user_data() & ((1 << KIND) - 1));
            let result = entry.result();
            match kind {
                // The read was cancelled for a packet whose answers are deferred, or had already
                // ended.
                READ if result == -libc::ECANCELED => *writing -= 1,
                CANCEL => *writing -= 1,
                TAKE => {
                    *writing -= 1;
                    match (result, cqueue::buffer_select(entry.flags())) {
                        (1.., Some(room)) => {
                            watched[number as usize].answered += 1;
                            put_off.answers.push_back((room, result as usize));
                        }
                        // A room was taken, but there was no answer.
                        (_, Some(room)) => rooms.free(room),
                        _ => {}
                    }
                }
                READ => {
                    let file = &mut watched[number as usize];
                    if !cqueue::more(entry.flags()) {
                        file.idle = true;
                    }
                    match (result, cqueue::buffer_select(entry.flags())) {
                        (1.., Some(room)) => {
                            file.arrived.push_back((room, result as usize));
                            file.answered += usize::from(!*marked);
                            *came_later |= *marked;
                        }
                        // There was no free room, or a signal arrived.
                        (0.., _) => {}
                        _ if [libc::ENOBUFS, libc::EAGAIN, libc::EINTR].contains(&-result) => {}
                        _ => return Err(io::Error::from_raw_os_error(-result)),
                    }
                }
                WRITE => {
                    let Some(Held { buffer, file }) = held[number as usize].take() else { continue };
                    spare.push(number as usize);
                    *writing -= 1;
                    written.push(buffer);
                    match Errno::from_raw(-result) {
                        _ if result >= 0 => {}
                        Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM | Errno::EINVAL => refused.push(file),
                        error => return Err(error.into()),
                    }
                }
                DISCARD => {
                    *writing -= 1;
                    // There may be no data, and errors concern the other users of the socket.
                    if result > 0 {
                        match discarded.back_mut() {
                            Some((socket, bytes)) if *socket == number as RawFd => *bytes += result as usize,
                            _ => discarded.push_back((number as RawFd, result as usize)),
                        }
                    }
                    if result as usize == CHUNK {
                        to_discard.push_back(number as RawFd);
                    }
                }
                POLL => {
                    let file = &mut watched[number as usize];
                    file.idle = true;
                    ready.push(file.number);
                    *came_later |= *marked;
                }
                MARK => *marked = true,
                // A question that could not be sent has no answer.
                ASK => {}
                ANSWER => {
                    *writing -= 1;
                    *answered = usize::try_from(result).ok();
                }
                TIMER => expired |= result == -libc::ETIME,
                // The timer expired before it could be set to another time.
                ALARM => missed = true,
                // The timer to remove has just expired.
                _ if [libc::ENOENT, libc::EALREADY].contains(&-result) => {}
                _ => return Err(io::Error::from_raw_os_error(-result)),
            }
        }
        if expired || missed {
            self.armed = None;
        }
        Ok(expired && !missed)
    }
}

impl Drop for Ring {
    /// Cancels the kernel's pending operations on the ring's memory.
    fn drop(&mut self) {
        let _ = self.ring.submitter().register_sync_cancel(None, types::CancelBuilder::any());
    }
}

#[cfg(test)]
mod tests;
