//! The medium as each station hears it, and the times at which its access categories may transmit:
//! carrier sense, physical and by the network allocation vector (NAV), spaces between frames, and
//! the back-off.
//!
//! Slots cost no events. A category that counts down from `slots` transmits at base + slots x slot,
//! where base is the end of the last busy period that its station heard, plus AIFS (DIFS, or EIFS
//! after a frame that the station could not read). If the medium becomes busy before that, the
//! whole slots that have passed since base are subtracted.
//!
//! With DCF a slot counts when it has passed idle, so after a busy period a frozen category waits
//! for at least one slot. With EDCA (IEEE 802.11-2016, 10.22.2.3) the count is taken at the
//! beginning of a slot, so the slot in which another station starts counts, too.

use bentpipe_core::{Span, Stream, Time};

/// The state of the medium as one station hears it.
#[derive(Clone, Copy, Debug, Default)]
struct StationMedium {
    /// End of the last frame that it hears, including its own.
    busy_until: Time,
    /// Time until which the network allocation vector (NAV) reserves the medium.
    reserved_until: Time,
    /// Time until which frames that end overlap with others here.
    overlapped_until: Time,
    /// End of its own last transmission.
    sending_until: Time,
    /// Time until which it waits for a response that does not come.
    waiting_until: Time,
    /// EIFS - DIFS after a frame that it could not read; otherwise zero.
    extra: Span,
}

/// Parameters of an access category; DCF has a single one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Slots of AIFS beyond SIFS; 2 makes DIFS.
    pub aifs: u64,
    /// Smallest contention window, in slots.
    pub cw_min: u32,
    /// Largest contention window, in slots.
    pub cw_max: u32,
    /// Time for which a station may keep the medium; zero for one frame.
    pub txop: Span,
}

/// An access category of a station, as far as its right to transmit is concerned.
#[derive(Clone, Copy, Debug)]
struct Contender {
    space: Span,
    cw: u32,
    cw_min: u32,
    cw_max: u32,
    /// Number of slots left of the back-off.
    slots: u32,
    /// True if it has a frame to contend for.
    ready: bool,
    /// Time at which its first frame came, if it came while the medium was idle and no back-off was
    /// left.
    idle_since: Option<Time>,
}

/// The shared medium with the state of all stations.
pub struct Air {
    station_media: Vec<StationMedium>,
    contenders: Vec<Contender>,
    /// Time at which each contender transmits if nothing else happens; `Time::MAX` if it has
    /// nothing to send.
    starts: Vec<Time>,
    /// Number of access categories of a station.
    categories: usize,
    slot: Span,
    eifs_extra: Span,
    /// Stations that hear each station, itself included; `None` if all hear all.
    heard_by: Option<Vec<Vec<u16>>>,
    /// True if slots are counted at their beginning.
    edca: bool,
    stream: Stream,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Station that sends it.
    pub from: usize,
    /// Time at which its first bit is sent.
    pub begin: Time,
    /// Time at which its last bit is received.
    pub end: Time,
}

impl Air {
    /// Creates an idle medium among `stations` stations with these categories each.
    pub fn new(
        stations: usize,
        access: &[Access],
        (slot, sifs): (Span, Span),
        eifs_extra: Span,
        heard_by: Option<Vec<Vec<u16>>>,
        edca: bool,
        stream: Stream,
    ) -> Air {
        let of_station = access.iter().map(|access| Contender {
            space: sifs + slot * access.aifs,
            cw: access.cw_min,
            cw_min: access.cw_min,
            cw_max: access.cw_max,
            slots: 0,
            ready: false,
            idle_since: None,
        });
        let of_station: Vec<Contender> = of_station.collect();
        Air {
            station_media: vec![StationMedium::default(); stations],
            contenders: of_station.repeat(stations),
            starts: vec![Time::MAX; stations * access.len()],
            categories: access.len(),
            slot,
            eifs_extra,
            heard_by,
            edca,
            stream,
        }
    }

    /// Returns the next time at which a category transmits, if any does.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.starts.iter().copied().min().filter(|time| *time < Time::MAX)
    }

    /// Adds the categories that transmit at `now` to `due`, in ascending order.
    #[inline]
    pub fn due(&self, now: Time, due: &mut Vec<usize>) {
        due.extend(
            self.starts.iter().enumerate().filter(|(_, start)| **start == now).map(|(index, _)| index),
        );
    }

    /// Returns true if all stations hear each other.
    #[inline]
    pub fn open(&self) -> bool {
        self.heard_by.is_none()
    }

    /// Calls `act` for each station that hears `from`, itself included.
    #[inline]
    pub fn listeners(&mut self, from: usize, mut act: impl FnMut(&mut Air, usize)) {
        match self.heard_by.take() {
            None => (0..self.station_media.len()).for_each(|station| act(self, station)),
            Some(lists) => {
                lists[from].iter().for_each(|station| act(self, usize::from(*station)));
                self.heard_by = Some(lists);
            }
        }
    }

    /// Returns the time from which on a station's category counts slots.
    #[inline]
    fn base(&self, station: usize, space: Span) -> Time {
        let medium = &self.station_media[station];
        (medium.busy_until.max(medium.reserved_until) + medium.extra + space).max(medium.waiting_until)
    }

    #[inline]
    fn plan(&mut self, station: usize) {
        for index in station * self.categories..(station + 1) * self.categories {
            let contender = self.contenders[index];
            self.starts[index] = match contender.ready {
                true => {
                    self.base(station, contender.space).max(contender.idle_since.unwrap_or_default())
                        + self.slot * u64::from(contender.slots)
                }
                false => Time::MAX,
            };
        }
    }

    /// Subtracts the slots that have passed for a station's categories by `now`, at which its
    /// medium becomes busy.
    #[inline]
    fn freeze(&mut self, station: usize, now: Time) {
        for index in station * self.categories..(station + 1) * self.categories {
            let contender = self.contenders[index];
            let base = self.base(station, contender.space);
            // It would have transmitted without a back-off if the medium had stayed idle.
            let deferred =
                (contender.ready && contender.idle_since.is_some()).then(|| self.draw(contender.cw));
            let contender = &mut self.contenders[index];
            contender.idle_since = None;
            if let Some(slots) = deferred {
                contender.slots = slots;
            } else if contender.slots > 0 && now >= base {
                let passed = now.since(base) / self.slot + u64::from(self.edca);
                contender.slots = u64::from(contender.slots).saturating_sub(passed) as u32;
            }
        }
    }

    /// Puts a frame on the air.
    pub fn put(&mut self, transmission: Transmission) {
        self.station_media[transmission.from].sending_until = transmission.end;
        self.listeners(transmission.from, |air, station| {
            let busy_until = air.station_media[station].busy_until;
            if busy_until > transmission.begin {
                let medium = &mut air.station_media[station];
                medium.overlapped_until = medium.overlapped_until.max(busy_until).max(transmission.end);
            } else {
                air.freeze(station, transmission.begin);
            }
            let medium = &mut air.station_media[station];
            medium.busy_until = busy_until.max(transmission.end);
            air.plan(station);
        });
    }

    /// Returns true if a frame that ends overlaps with another at this station.
    #[inline]
    pub fn is_overlapped(&self, station: usize, transmission: &Transmission) -> bool {
        self.station_media[station].overlapped_until >= transmission.end
    }

    /// Returns true if the NAV of a station lets it answer an RTS at `now`.
    #[inline]
    pub fn may_answer(&self, station: usize, now: Time) -> bool {
        self.station_media[station].reserved_until <= now
    }

    /// Ends a frame for all stations that hear it: those that can read it respect `reserved_until`
    /// if they are not addressed, and those that cannot wait for EIFS. `corrupted` is a station for
    /// which the channel corrupted it.
    pub fn end(
        &mut self,
        transmission: &Transmission,
        to: Option<usize>,
        reserved_until: Time,
        corrupted: Option<usize>,
    ) {
        self.listeners(transmission.from, |air, station| {
            let extra = air.eifs_extra;
            let medium = &mut air.station_media[station];
            if station != transmission.from {
                let unreadable = medium.overlapped_until >= transmission.end || corrupted == Some(station);
                if unreadable {
                    // A station that was sending itself has not tried to read it.
                    if medium.sending_until <= transmission.begin {
                        medium.extra = extra;
                    }
                } else {
                    medium.extra = Span::ZERO;
                    if to != Some(station) {
                        medium.reserved_until = medium.reserved_until.max(reserved_until);
                    }
                }
            } else {
                medium.extra = Span::ZERO;
            }
            air.plan(station);
        });
    }

    /// Notes that a category has its first frame.
    pub fn request_access(&mut self, now: Time, index: usize) {
        let station = index / self.categories;
        let contender = self.contenders[index];
        let medium = &self.station_media[station];
        let base = self.base(station, contender.space);
        let busy = medium.busy_until.max(medium.reserved_until) > now;
        let left = contender.slots > 0 && base + self.slot * u64::from(contender.slots) > now;
        if !left {
            let slots = if busy { self.draw(contender.cw) } else { 0 };
            let contender = &mut self.contenders[index];
            contender.slots = slots;
            contender.idle_since = (!busy).then_some(now);
        }
        self.contenders[index].ready = true;
        self.plan(station);
    }

    /// Stops the contention of a category, because it transmits or has nothing more to send.
    pub fn withdraw(&mut self, index: usize) {
        self.contenders[index].ready = false;
        self.starts[index] = Time::MAX;
    }

    #[inline]
    fn draw(&mut self, window: u32) -> u32 {
        // The 32 upper bits as a fraction of the window; its bias is below 1e-6.
        (((self.stream.bits() >> 32) * (u64::from(window) + 1)) >> 32) as u32
    }

    /// Draws a new back-off after a transmission, from the smallest window if it is `settled`,
    /// otherwise from one twice as large as before. It counts from `from` on at the earliest.
    pub fn back_off(&mut self, index: usize, settled: bool, from: Time, ready: bool) {
        let contender = self.contenders[index];
        let cw = match settled {
            true => contender.cw_min,
            false => (2 * contender.cw + 1).min(contender.cw_max),
        };
        let slots = self.draw(cw);
        let contender = &mut self.contenders[index];
        (contender.cw, contender.slots, contender.ready, contender.idle_since) = (cw, slots, ready, None);
        let station = index / self.categories;
        self.station_media[station].waiting_until = from;
        self.plan(station);
    }
}
