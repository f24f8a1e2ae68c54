//! The engine between real hosts: one thread that reads packets, runs the network up to the present
//! time, and writes packets on time.

use crate::clock::attendance::{Attendance, Counts};
use crate::clock::lateness::Lateness;
use crate::clock::wait::Wait;
use crate::clock::{Clock, Timing};
use crate::frame;
use crate::host::port::Port;
use crate::observer::{Look, Observer, Question};
use crate::path::Path;
use crate::pool::Pool;
use crate::streams;
use bentpipe_core::address::Plan;
use bentpipe_core::{Span, Time};
use bentpipe_engine::{Host, Network};
use bentpipe_link::queue::drop_tail::FULL;
use bentpipe_networks::node::gate;
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Body, Packet};
use bentpipe_voice::recognised::Recogniser;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::AsFd;
use std::sync::{mpsc, Arc};
use std::time::Duration;

mod put_off;

use put_off::PutOff;

/// Number of packets taken from one port before the others get their turn.
const TURN: usize = 64;
/// Maximum size of a packet at the network layer.
const LONGEST: usize = 65_536;
/// Event number of arriving requests.
const REQUEST: u64 = u64::MAX - 1;

/// A request of another thread to the engine's thread.
type Request = Box<dyn FnOnce(&mut Bridge, Time) + Send>;

/// A real host, its port, and its counters.
struct Attachment {
    host: Host,
    port: Box<dyn Port>,
    /// True if the host is a part of the network outside of the models, where no packet begins or
    /// ends.
    relays: bool,
    /// True if the host's packets go through the ring.
    by_ring: bool,
    /// Number of packets that the host sent into the network.
    entered: u32,
    /// Number of packets for which the host had no room.
    refused: u64,
    /// Time at which the port was last found empty.
    empty: Time,
    /// True if a turn ended before all waiting packets were taken.
    backlogged: bool,
    /// True if the host has received a packet, and its answers have not been read yet.
    answers: bool,
    /// Release error of the packets for this host.
    lateness: Lateness,
    /// Number of answers at the last estimate of the path's delay, and the estimated one-way delay.
    measured: (u64, Span),
    /// Excess of the path's delay over the delays of the network, at each estimate.
    remaining: Lateness,
}

impl Attachment {
    fn new(host: Host, port: Box<dyn Port>) -> Attachment {
        Attachment {
            host,
            relays: port.relays(),
            port,
            by_ring: false,
            entered: 0,
            refused: 0,
            empty: Time::ZERO,
            backlogged: false,
            answers: false,
            lateness: Lateness::default(),
            measured: (0, Span::ZERO),
            remaining: Lateness::default(),
        }
    }
}

/// The engine, its hosts, and the clock between them.
pub struct Bridge {
    network: Network,
    clock: Clock,
    attachments: Vec<Attachment>,
    plan: Plan,
    /// Index of the attachment to the outside world, which is the last one. Packets at its gate
    /// that are for no node leave the network there.
    outlet: Option<usize>,
    wait: Wait,
    event: Arc<EventFd>,
    requests: mpsc::Receiver<Request>,
    pool: Pool,
    observer: Option<Box<dyn Observer>>,
    inbox: Box<[u8]>,
    /// Time of the last look at the ports.
    looked: Time,
    stopping: bool,
    /// Attachments whose hosts have received packets that they may have answered at once, in
    /// virtual time.
    answering: Vec<usize>,
    put_off: Option<PutOff>,
    readings: Lateness,
    /// The kernel's counters of the engine's thread at the beginning and at the end of
    /// [`run`](Self::run).
    began: Counts,
    ended: Option<Counts>,
    strays: u64,
    /// RTP streams among the packets that left the network.
    streams: Recogniser,
}

/// A handle to a [`Bridge`] for other threads.
#[derive(Clone)]
pub struct Handle {
    requests: mpsc::Sender<Request>,
    event: Arc<EventFd>,
}

/// The error of a request to an engine that has ended.
#[derive(Debug, thiserror::Error)]
#[error("the emulation has ended")]
pub struct Ended;

impl Handle {
    /// Queues `task` for the engine's thread, which runs it after the work that is due.
    ///
    /// # Errors
    /// Returns an error if the engine has ended.
    pub fn post(&self, task: impl FnOnce(&mut Bridge, Time) + Send + 'static) -> Result<(), Ended> {
        self.requests.send(Box::new(task)).map_err(|_| Ended)?;
        let _ = self.event.write(1);
        Ok(())
    }

    /// Runs `task` in the engine's thread and waits for its result.
    ///
    /// # Errors
    /// Returns an error if the engine has ended.
    pub fn ask<R: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Bridge, Time) -> R + Send + 'static,
    ) -> Result<R, Ended> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.post(move |bridge, now| {
            let _ = answer.send(task(bridge, now));
        })?;
        answered.recv().map_err(|_| Ended)
    }

    /// Runs `task` as [`ask`](Self::ask) does, for an engine that may end in the meantime without
    /// answering.
    ///
    /// # Errors
    /// Returns an error if the engine has ended, or has not answered within `patience`.
    pub fn ask_within<R: Send + 'static>(
        &self,
        patience: Duration,
        task: impl FnOnce(&mut Bridge, Time) -> R + Send + 'static,
    ) -> Result<R, Ended> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.post(move |bridge, now| {
            let _ = answer.try_send(task(bridge, now));
        })?;
        answered.recv_timeout(patience).map_err(|_| Ended)
    }
}

impl Bridge {
    /// Creates a bridge between `network` and its hosts, each with its port. Packets for no node
    /// leave at the host with the number in `outlet` by the port there.
    ///
    /// # Errors
    /// Returns an error if there are no more file descriptors.
    pub fn new(
        network: Network,
        clock: Clock,
        plan: Plan,
        hosts: Vec<(Host, Box<dyn Port>)>,
        outlet: Option<(usize, Box<dyn Port>)>,
    ) -> io::Result<(Bridge, Handle)> {
        let wait = Wait::new(clock.timing())?;
        let event = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
        wait.watch(event.as_fd(), REQUEST)?;
        let beyond = outlet.map(|(number, port)| (hosts[number].0.clone(), port));
        let has_outlet = beyond.is_some();
        let attachments = hosts.into_iter().chain(beyond);
        let attachments: Vec<_> = attachments.map(|(host, port)| Attachment::new(host, port)).collect();
        let outlet = has_outlet.then(|| attachments.len() - 1);
        for (number, attachment) in attachments.iter().enumerate() {
            wait.watch(attachment.port.fd(), number as u64)?;
        }
        let (sender, requests) = mpsc::channel();
        let handle = Handle { requests: sender, event: Arc::clone(&event) };
        let bridge = Bridge {
            network,
            clock,
            plan,
            attachments,
            outlet,
            wait,
            event,
            requests,
            pool: Pool::default(),
            observer: None,
            inbox: vec![0; LONGEST].into_boxed_slice(),
            looked: Time::ZERO,
            stopping: false,
            answering: Vec::new(),
            put_off: None,
            readings: Lateness::default(),
            began: Counts::default(),
            ended: None,
            strays: 0,
            streams: Recogniser::default(),
        };
        Ok((bridge, handle))
    }

    /// Calls `observer` for each packet from now on.
    pub fn observe(&mut self, mut observer: Box<dyn Observer>) {
        observer.begin(self.wait.ring().is_some());
        self.observer = Some(observer);
    }

    /// Runs until `end`, or until [`stop`](Self::stop).
    ///
    /// # Errors
    /// Returns an error if a port fails.
    pub fn run(&mut self, end: Option<Time>) -> io::Result<()> {
        self.began = Counts::now();
        let outcome = self.work(end);
        self.ended = Some(Counts::now());
        outcome
    }

    fn work(&mut self, end: Option<Time>) -> io::Result<()> {
        self.looked = self.clock.now();
        self.wait.begin(self.looked);
        if self.clock.timing() == Timing::Virtual {
            let files = self.attachments.iter().map(|at| (at.port.fd(), at.port.longest_packet()));
            if self.wait.by_ring(files, (self.event.as_fd(), REQUEST)) {
                self.attachments.iter_mut().for_each(|at| at.by_ring = at.port.longest_packet().is_some());
            }
        }
        self.turn_after_turn(end)?;
        self.wait.end()
    }

    fn turn_after_turn(&mut self, end: Option<Time>) -> io::Result<()> {
        loop {
            if let Some(end) = end.filter(|end| *end <= self.clock.now()) {
                self.network.step(end);
                return self.hand_out();
            }
            let now = self.advance()?;
            self.take_answers()?;
            if self.stopping {
                return Ok(());
            }
            let until = self.put_off.as_ref().map(|put_off| put_off.until(end));
            let next = [self.network.next_wake(), end, until].into_iter().flatten().min();
            let ready = self.wait.wait(&self.clock, now, next)?;
            self.take_written(now);
            self.take_put_off()?;
            if ready.slept {
                self.looked = ready.now;
            }
            for index in 0..ready.count {
                match self.wait.ready(index) {
                    None => {}
                    Some(REQUEST) => self.answer()?,
                    Some(number) => self.take_in(number as usize)?,
                }
            }
            self.looked = ready.now;
        }
    }

    /// Ends [`run`](Self::run) after the current turn.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Answers the requests that are pending after the end.
    pub fn settle(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            request(self, self.clock.now());
        }
    }

    /// Performs all work that is due. Returns the time.
    #[inline]
    fn advance(&mut self) -> io::Result<Time> {
        let now = self.clock.now();
        self.network.step(now);
        self.hand_out()?;
        Ok(now)
    }

    fn answer(&mut self) -> io::Result<()> {
        let _ = self.event.read();
        while let Ok(request) = self.requests.try_recv() {
            let now = self.advance()?;
            request(self, now);
            self.hand_out()?;
        }
        Ok(())
    }

    /// Records that a host may have answered a packet at once.
    #[inline]
    fn will_answer(&mut self, number: usize) {
        if !std::mem::replace(&mut self.attachments[number].answers, true) {
            self.answering.push(number);
        }
    }

    /// Takes back the buffers of packets that the ring has written, and the bytes that it has
    /// discarded, both at `now`.
    #[inline]
    fn take_written(&mut self, now: Time) {
        let Some(ring) = self.wait.ring() else { return };
        while let Some(buffer) = ring.take_written() {
            self.pool.put(buffer);
        }
        while let Some(number) = ring.take_refused() {
            self.attachments[number].refused += 1;
        }
        while let Some((socket, bytes)) = ring.take_discarded() {
            if let Some(observer) = &mut self.observer {
                observer.discarded(&mut self.network, socket, now, bytes);
            }
        }
    }

    /// Reads the packets with which hosts have answered immediately. In virtual time this saves a
    /// wait and a query of the clock: a kernel's TCP answers before the packet's write returns.
    fn take_answers(&mut self) -> io::Result<()> {
        while let Some(number) = self.answering.pop() {
            self.attachments[number].answers = false;
            self.take_in(number)?;
        }
        Ok(())
    }

    /// Takes the packets that a host has sent.
    fn take_in(&mut self, number: usize) -> io::Result<()> {
        let attachment = &mut self.attachments[number];
        if !attachment.backlogged {
            attachment.empty = attachment.empty.max(self.looked);
        }
        attachment.backlogged = true;
        for _ in 0..TURN {
            let attachment = &mut self.attachments[number];
            let read = match self.wait.ring().filter(|_| attachment.by_ring) {
                Some(ring) => ring.read(number, &mut self.inbox),
                None => attachment.port.read(&mut self.inbox)?,
            };
            let Some(size) = read else {
                let attachment = &mut self.attachments[number];
                (attachment.backlogged, attachment.empty) = (false, self.clock.now());
                break;
            };
            let now = self.advance()?;
            self.readings.add(now.since(self.attachments[number].empty));
            self.enter(number, now, size)?;
        }
        self.follow(number)
    }

    /// Shortens the delays at a host by the delay of the path to it, if that has been measured
    /// again.
    #[inline]
    fn follow(&mut self, number: usize) -> io::Result<()> {
        let attachment = &self.attachments[number];
        let Some(path) = attachment.port.path().filter(|path| path.rtt().count() != attachment.measured.0)
        else {
            return Ok(());
        };
        let one_way = path.one_way();
        self.attachments[number].measured = (path.rtt().count(), one_way);
        let now = self.advance()?;
        let mut room = if self.attachments[number].host.stages.is_empty() { Span::ZERO } else { one_way };
        for stage in self.attachments[number].host.stages.clone() {
            // Both ends of a link may be hosts on other machines.
            let at_it = self.attachments.iter().filter(|attachment| attachment.host.stages.contains(&stage));
            let all = at_it.fold(Span::ZERO, |all, attachment| all + attachment.measured.1);
            let could = self.network.hasten(now, stage, all);
            room = room.min(one_way.saturating_sub(all.saturating_sub(could)));
        }
        self.attachments[number].remaining.add(one_way.saturating_sub(room));
        Ok(())
    }

    #[inline]
    fn enter(&mut self, number: usize, now: Time, size: usize) -> io::Result<()> {
        let bytes = &self.inbox[..size];
        let headers = frame::parse(bytes);
        let outlet = self.outlet.map(|outlet| self.attachments[outlet].host.node);
        let destination = headers.and_then(|headers| match self.plan.node(headers.destination) {
            None if headers.destination.is_multicast() => None,
            None => outlet,
            node => node,
        });
        let (Some(headers), Some(destination)) = (headers, destination) else {
            // Packets for no node of the network, such as a host's neighbour discovery.
            self.strays += 1;
            return Ok(());
        };
        let spare = self.network.out().spare();
        let buffer = self.pool.fill(bytes, |pool| spare.drain(..).for_each(|spare| pool.put(spare)));
        let attachment = &mut self.attachments[number];
        // Packets of a radio or a proxy come from another node.
        let source = self.plan.node(headers.source).filter(|_| attachment.relays);
        let packet = Packet {
            birth: now,
            number: attachment.entered,
            size: size as u32,
            flow: headers.flow,
            source: source.unwrap_or(attachment.host.node),
            destination,
            connection: 0,
            leg: Leg::THERE,
            dscp: headers.dscp,
            ecn: headers.ecn,
            body: Body::Frame(buffer),
        };
        attachment.entered = attachment.entered.wrapping_add(1);
        self.network.inject(now, attachment.host.gate, gate::HOST, packet);
        let relays = self.attachments[number].relays;
        if let Some(observer) = self.observer.as_mut().filter(|_| !relays) {
            let attachment = &self.attachments[number];
            observer.sent(&mut self.network, attachment.host.node, headers.flow, now, &self.inbox[..size]);
        }
        self.hand_out()
    }

    /// Writes the packets that the network has released to the hosts.
    #[inline]
    fn hand_out(&mut self) -> io::Result<()> {
        while let Some(leaving) = self.network.out().next_leaving() {
            if self.put_off.is_some() {
                self.put_off_no_longer()?;
            }
            let packet = leaving.packet;
            let Body::Frame(mut buffer) = packet.body else {
                self.strays += 1;
                continue;
            };
            let bytes = &mut buffer[..packet.size as usize];
            let mut number = leaving.gate as usize;
            if let Some(outlet) = self
                .outlet
                .filter(|outlet| self.attachments[*outlet].host.gate == self.attachments[number].host.gate)
            {
                let destination = frame::parse(bytes).map(|headers| headers.destination);
                if destination.is_some_and(|destination| self.plan.node(destination).is_none()) {
                    number = outlet;
                }
            }
            let attachment = &mut self.attachments[number];
            frame::mark(bytes, packet.dscp, packet.ecn);
            if let Some(ring) = self.wait.ring().filter(|_| attachment.by_ring) {
                let now = self.clock.now();
                attachment.lateness.add(now.since(leaving.due));
                streams::look(&mut self.streams, now, packet.birth, bytes);
                let node = attachment.host.node;
                let look = match &self.observer {
                    Some(observer) => observer.looks(node, packet.flow, bytes),
                    None => Look::Nothing,
                };
                let question = match look {
                    Look::AtHost(question) => question,
                    Look::Discard(socket) => {
                        ring.discard(socket);
                        None
                    }
                    Look::Nothing => None,
                };
                if question.is_some() || matches!(look, Look::Discard(_)) {
                    let least = self.network.least_delay(&self.attachments[number].host.stages);
                    let packet_alone = !self.network.out().is_any_leaving();
                    // A program that learns of the end of a connection uses the observer's data up
                    // to then.
                    let ends = frame::begins_or_ends(&buffer[..packet.size as usize]);
                    if packet_alone && !ends && least > Span::ZERO {
                        let (flow, asked) = (packet.flow, question.is_some());
                        let question =
                            question.as_ref().map(|question| (question.socket, &question.bytes[..]));
                        ring.write_and_put_off(number, buffer, packet.size as usize, question)?;
                        self.put_off = Some(PutOff { number, flow, at: now, latest: now + least, asked });
                        continue;
                    }
                }
                ring.write(number, buffer, packet.size as usize)?;
                if let (Look::AtHost(question), Some(observer)) = (look, &mut self.observer) {
                    let answer = match question {
                        Some(Question { socket, bytes }) => ring.flush_and_ask(socket, &bytes)?,
                        None => {
                            ring.flush()?;
                            None
                        }
                    };
                    observer.got(&mut self.network, node, packet.flow, now, answer);
                    self.will_answer(number);
                }
                continue;
            }
            let taken = attachment.port.write(bytes)?;
            if self.clock.timing() == Timing::Virtual {
                self.will_answer(number);
            }
            let attachment = &mut self.attachments[number];
            let now = self.clock.now();
            attachment.lateness.add(now.since(leaving.due));
            if attachment.relays {
                if taken {
                    self.pool.put(buffer);
                } else {
                    // The queue at the gate is a part of the network, which drops packets with a
                    // reason.
                    let gate = attachment.host.gate;
                    self.network.drop_at(gate, Packet { body: Body::Frame(buffer), ..packet }, FULL);
                }
                continue;
            }
            attachment.refused += u64::from(!taken);
            streams::look(&mut self.streams, now, packet.birth, bytes);
            if let Some(observer) = &mut self.observer {
                observer.got(&mut self.network, attachment.host.node, packet.flow, now, None);
            }
            self.pool.put(buffer);
        }
        Ok(())
    }

    /// Returns the current time of the run.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns the network, for queries of its stages and its outbox.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Returns the RTP streams of any program among the packets that have left the network so far.
    pub fn streams(&self) -> &Recogniser {
        &self.streams
    }

    /// Takes the RTP streams of any program among the packets that have left the network so far.
    pub fn take_streams(&mut self) -> Recogniser {
        std::mem::take(&mut self.streams)
    }

    /// Returns the release errors of all packets.
    pub fn lateness(&self) -> Lateness {
        let mut all = Lateness::default();
        self.attachments.iter().for_each(|attachment| all.merge(&attachment.lateness));
        all
    }

    /// Returns the release errors of each host's packets, by node.
    pub fn lateness_by_host(&self) -> impl Iterator<Item = (&Host, &Lateness)> {
        self.attachments.iter().map(|attachment| (&attachment.host, &attachment.lateness))
    }

    /// Returns the hosts on other machines, with the measurements of the path to each, and the
    /// excess of its delay over the delays of the network.
    pub fn paths(&self) -> impl Iterator<Item = (&Host, &Path, &Lateness)> {
        self.attachments
            .iter()
            .filter_map(|attachment| Some((&attachment.host, attachment.port.path()?, &attachment.remaining)))
    }

    /// Returns upper bounds of the time that packets from hosts waited in the kernel before the
    /// engine read them. The time to wake a sleeping thread is not included; see
    /// [`wakeups`](Self::wakeups).
    pub fn readings(&self) -> &Lateness {
        &self.readings
    }

    /// Returns the processor time of the engine's thread, and the competition for it. While the
    /// thread runs, call this function in that thread.
    pub fn attendance(&self) -> Attendance {
        Attendance::between(&self.began, &self.ended.unwrap_or_else(Counts::now))
    }

    /// Returns the lateness of the thread's wake-ups by its timer.
    pub fn wakeups(&self) -> &Lateness {
        self.wait.wakeups()
    }

    /// Returns the number of packets lost between the hosts and the engine, outside of any model:
    /// in the kernel's queues, and at hosts without room.
    pub fn lost(&self) -> u64 {
        self.attachments.iter().map(|attachment| attachment.port.lost() + attachment.refused).sum()
    }

    /// Returns the number of packets that are for no node of the network: multicast, unknown
    /// addresses, and protocols other than IP.
    pub fn strays(&self) -> u64 {
        self.strays
    }
}
