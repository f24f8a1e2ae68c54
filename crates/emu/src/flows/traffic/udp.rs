//! One end of a flow of datagrams over the kernel's UDP. After the bytes of its application, a
//! datagram contains its number and the time of sending, if there is room, so that its delay and
//! the losses can be measured. The rest is zeros, which reveal bit errors.
//!
//! The driver may be late; datagrams due by then are sent in one call.

use super::Watch;
use crate::clock::{Clock, Timing};
use crate::sys::batch::{self, Incoming, Outgoing, BATCH, HEAD};
use crate::sys::socket;
use bentpipe_core::{Report, Time};
use bentpipe_transport::app::{Actions, Arrival, Event, Stamp};
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_transport::hosting::{Hosted, Site};
use bentpipe_transport::udp::LARGEST;
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use nix::time::{clock_gettime, ClockId};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

static ZEROS: [u8; LARGEST as usize] = [0; LARGEST as usize];

/// One end of a flow of datagrams.
pub struct Endpoint {
    pub site: Site,
    hosted: Hosted,
    socket: OwnedFd,
    /// Datagrams to send, with the times at which they were due.
    waiting: Vec<Outgoing>,
    room: Box<batch::Room>,
    due: Vec<Time>,
    number: u32,
    open: bool,
    pub sent: SourceCounters,
    pub received: DestinationCounters,
    /// Number of datagrams that the kernel refused.
    pub refused: u64,
}

impl Endpoint {
    /// Creates the socket of an end, in this thread's namespace.
    ///
    /// # Errors
    /// Returns an error if the port is in use.
    pub fn new(
        site: Site,
        hosted: Hosted,
        local: SocketAddrV4,
        remote: SocketAddrV4,
    ) -> io::Result<Endpoint> {
        let socket = super::sockets::datagrams(local, remote, site.dscp)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        Ok(Endpoint {
            site,
            hosted,
            socket,
            waiting: Vec::new(),
            room: batch::room(),
            due: Vec::new(),
            number: 0,
            open: false,
            sent: SourceCounters::default(),
            received: DestinationCounters::default(),
            refused: 0,
        })
    }

    /// Returns the time of the next call of [`wake`](Self::wake).
    pub fn next_wake(&self) -> Time {
        self.hosted.next_wake()
    }

    /// Performs the actions that are due.
    pub fn wake(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let now = clock.now();
        // Timers of the application are handled at their due time, so that lateness does not
        // accumulate.
        while let Some(due) = Some(self.hosted.next_wake()).filter(|due| *due <= now) {
            let Some(event) = self.hosted.due(due) else { break };
            self.tell(clock, due, event, watch)?;
        }
        self.flush(clock, watch)
    }

    fn tell(&mut self, clock: Clock, now: Time, event: Event, watch: &mut Watch<'_>) -> io::Result<()> {
        let mut event = Some(event);
        while let Some(told) = event.take() {
            let actions = self.hosted.on(now, 0, told);
            event = self.act(clock, now, &actions, watch)?;
        }
        Ok(())
    }

    /// Performs the actions of the application, and returns its next event.
    fn act(
        &mut self,
        clock: Clock,
        now: Time,
        actions: &Actions,
        watch: &mut Watch<'_>,
    ) -> io::Result<Option<Event>> {
        if let Some(over) = &actions.over {
            watch.over(now, over);
        }
        if actions.send > 0 {
            let mut head = [0; HEAD];
            head[..4].copy_from_slice(&self.number.to_be_bytes());
            self.number = self.number.wrapping_add(1);
            let written = self.hosted.writes();
            self.waiting.push(Outgoing { written, head, size: actions.send.min(LARGEST) as usize });
            self.due.push(now);
            if self.waiting.len() >= BATCH {
                self.flush(clock, watch)?;
            }
        }
        if actions.close || actions.stop {
            self.sent.completed = Some(now);
        }
        if actions.connect && !self.open {
            self.open = true;
            self.sent.start = Some(now);
            return Ok(Some(Event::Connected));
        }
        Ok(None)
    }

    /// Sends the waiting datagrams, as far as the kernel accepts them.
    fn flush(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let mut done = 0;
        while done < self.waiting.len() {
            let now = clock.now();
            let end = self.waiting.len().min(done + BATCH);
            for datagram in &mut self.waiting[done..end] {
                stamp(&mut datagram.head, now);
            }
            match batch::send(self.socket.as_fd(), &self.waiting[done..end], &ZEROS) {
                Ok(count) => {
                    for (datagram, due) in self.waiting.iter().zip(&self.due).skip(done).take(count) {
                        self.sent.sent_bytes += datagram.size as u64;
                        watch.late.add(now.since(*due));
                    }
                    self.sent.sent_packets += count as u64;
                    done += count;
                }
                Err(error) => match error.raw_os_error() {
                    // The socket has no room. The remaining datagrams are sent when it reports
                    // room.
                    Some(libc::EAGAIN) => break,
                    Some(libc::EINTR) => {}
                    // The other end is gone, or the interface has no room: datagrams may be lost.
                    Some(libc::ECONNREFUSED | libc::ENOBUFS) => {
                        self.refused += 1;
                        done += 1;
                    }
                    _ => return Err(error),
                },
            }
        }
        self.waiting.drain(..done);
        self.due.drain(..done);
        Ok(())
    }

    /// Handles arriving datagrams, or room for more.
    pub fn ready(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        while self.receive(clock, watch)? == BATCH {}
        self.flush(clock, watch)
    }

    /// Reads some of the arrived datagrams, and returns their number.
    fn receive(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<usize> {
        let mut incoming = [Incoming::default(); BATCH];
        let Endpoint { hosted, room, socket, .. } = self;
        let count =
            match batch::receive(socket.as_fd(), &mut incoming, room, &|datagram| hosted.written(datagram)) {
                Ok(count) => count,
                Err(error) => match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
                    Errno::EAGAIN | Errno::ECONNREFUSED | Errno::EINTR => return Ok(0),
                    _ => return Err(error),
                },
            };
        let read = clock.now();
        // Stamps are times of the wall clock, which is continuously corrected, so only their age is
        // used. In virtual time datagrams are read at the moment of their arrival.
        let wall = match clock.timing() {
            Timing::Real => Some(clock_gettime(ClockId::CLOCK_REALTIME)?),
            Timing::Virtual => None,
        };
        let wall = wall.map(|wall| wall.tv_sec() as u64 * 1_000_000_000 + wall.tv_nsec() as u64);
        let came = |stamp: Option<u64>| match stamp.zip(wall) {
            Some((stamp, wall)) => {
                Time::from_nanos(read.as_nanos().saturating_sub(wall.saturating_sub(stamp)))
            }
            None => read,
        };
        for (at, datagram) in incoming[..count].iter().enumerate() {
            let now = came(datagram.stamp);
            let payload = datagram.size as u64;
            self.received.delivered_bytes += payload;
            self.received.delivered_packets += 1;
            self.received.last_delivery = Some(now);
            let sent = (datagram.size >= datagram.written + HEAD).then(|| stamp_of(&datagram.head));
            if let Some(Some(stamp)) = sent {
                let delay = now.since(stamp.sent);
                self.received.delay.add(delay);
                let row = [
                    f64::from(stamp.number),
                    delay.as_secs_f64(),
                    payload as f64,
                    self.received.delivered_bytes as f64,
                ];
                watch.datagram(now, row);
            }
            let arrival = Arrival {
                bytes: payload,
                stamp: sent.flatten(),
                intact: datagram.zeros && sent != Some(None),
                content: &self.room[at][..datagram.written],
            };
            let actions = self.hosted.arrived(now, &arrival);
            watch.measured(now, self.hosted.row());
            if let Some(event) = self.act(clock, now, &actions, watch)? {
                self.tell(clock, now, event, watch)?;
            }
        }
        Ok(count)
    }

    /// Returns the socket's file descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the number of datagrams for which the socket had no room, because the driver was
    /// late.
    pub fn drops(&self) -> u64 {
        socket::drops(self.socket.as_fd()).unwrap_or(0).into()
    }

    /// Writes the rows of this end.
    pub fn report(&self, now: Time, report: &mut Report) {
        self.site.report(&self.sent, &self.received, report);
        self.hosted.report(now, &self.site, report);
    }
}

/// Writes the time of sending next to the number in the head of a datagram, and between them a
/// check, which reveals bit errors in either.
fn stamp(head: &mut [u8; HEAD], now: Time) {
    head[8..].copy_from_slice(&now.as_nanos().to_be_bytes());
    let check = check(head);
    head[4..8].copy_from_slice(&check);
}

/// Returns the stamp in the head of a datagram, if it has no bit error.
fn stamp_of(head: &[u8; HEAD]) -> Option<Stamp> {
    let number = u32::from_be_bytes(head[..4].try_into().expect("4 bytes"));
    let sent = Time::from_nanos(u64::from_be_bytes(head[8..].try_into().expect("8 bytes")));
    (check(head) == head[4..8]).then_some(Stamp { number, sent })
}

/// Returns the exclusive or of the words of number and time, which changes with any single bit
/// error.
fn check(head: &[u8; HEAD]) -> [u8; 4] {
    std::array::from_fn(|at| head[at] ^ head[8 + at] ^ head[12 + at] ^ 0x5a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_written_and_not_with_a_wrong_bit() {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&7_u32.to_be_bytes());
        stamp(&mut head, Time::from_nanos(1_234_567_890_123));
        assert_eq!(stamp_of(&head), Some(Stamp { number: 7, sent: Time::from_nanos(1_234_567_890_123) }));
        for bit in 0..HEAD * 8 {
            let mut wrong = head;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(stamp_of(&wrong), None, "bit {bit}");
        }
        assert_eq!(stamp_of(&[0; HEAD]), None);
    }
}
