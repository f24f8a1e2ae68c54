//! Carrier sense and back-off: the state of the medium at each station, and the times at which the
//! station's access categories may transmit. The model covers physical carrier sense, the network
//! allocation vector (NAV), interframe spaces and the back-off.
//!
//! Slots cost no events. A category with a back-off of `slots` slots transmits at base + slots x
//! slot. Here, base is the end of the last busy period that the station heard, plus AIFS (DIFS, or
//! EIFS after a frame that the station could not read). If the medium becomes busy earlier, the
//! number of complete slots since base is subtracted from the back-off.
//!
//! With DCF, a slot counts at its end if the medium was idle. After a busy period, a category with
//! remaining back-off therefore waits for at least one slot. With EDCA (IEEE 802.11-2016,
//! 10.22.2.3), a slot counts at its beginning, so the slot in which another station starts to
//! transmit counts, too.

use bentpipe_core::{Span, Stream, Time};

/// The state of the medium at one station.
#[derive(Clone, Copy, Debug, Default)]
struct StationMedium {
    /// End of the last frame that the station hears, including its own frames.
    busy_until: Time,
    /// Time until which the network allocation vector (NAV) reserves the medium.
    reserved_until: Time,
    /// Time up to which any frame that ends has overlapped with another frame at this station.
    overlapped_until: Time,
    /// End of the station's last transmission.
    sending_until: Time,
    /// Time until which the station waits for a missing response.
    waiting_until: Time,
    /// EIFS - DIFS after a frame that the station could not read; otherwise zero.
    extra: Span,
}

/// Parameters of an access category; DCF has a single one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Number of slots in AIFS after SIFS. With 2 slots, AIFS equals DIFS.
    pub aifs: u64,
    /// Smallest contention window, in slots.
    pub cw_min: u32,
    /// Largest contention window, in slots.
    pub cw_max: u32,
    /// Maximum duration of a transmission opportunity (TXOP); zero for a single exchange.
    pub txop: Span,
}

/// Contention state of an access category of a station.
#[derive(Clone, Copy, Debug)]
struct Contender {
    space: Span,
    cw: u32,
    cw_min: u32,
    cw_max: u32,
    /// Number of remaining slots of the back-off.
    slots: u32,
    /// True if the category has a frame to send.
    ready: bool,
    /// Arrival time of the first frame, if it arrived while the medium was idle and no back-off
    /// remained.
    idle_since: Option<Time>,
}

/// The shared medium with the state of all stations.
pub struct Air {
    station_media: Vec<StationMedium>,
    contenders: Vec<Contender>,
    /// Time at which each contender transmits unless the medium becomes busy before; `Time::MAX` if
    /// the contender has nothing to send.
    starts: Vec<Time>,
    /// Number of access categories per station.
    categories: usize,
    slot: Span,
    eifs_extra: Span,
    /// For each station, the indices of the stations that hear it, including itself; `None` if
    /// every station hears every other one.
    heard_by: Option<Vec<Vec<u16>>>,
    /// True if slots are counted at their beginning.
    edca: bool,
    stream: Stream,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Index of the sending station.
    pub from: usize,
    /// Time at which the first bit is sent.
    pub begin: Time,
    /// Time at which the last bit is received.
    pub end: Time,
}

impl Air {
    /// Creates an idle medium for `stations` stations, each with the categories of `access`.
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

    /// Returns the next time at which a category transmits, if any.
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

    /// Calls `act` for each station that hears `from`, including `from` itself.
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

    /// Returns the time from which on a category of `station` counts slots.
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

    /// Freezes the back-off of a station whose medium becomes busy at `now`: subtracts the slots
    /// that have passed from the back-off of each category.
    #[inline]
    fn freeze(&mut self, station: usize, now: Time) {
        for index in station * self.categories..(station + 1) * self.categories {
            let contender = self.contenders[index];
            let base = self.base(station, contender.space);
            // Without this busy period, the category would have transmitted without a back-off.
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

    /// Returns true if a frame that ends has overlapped with another frame at this station.
    #[inline]
    pub fn is_overlapped(&self, station: usize, transmission: &Transmission) -> bool {
        self.station_media[station].overlapped_until >= transmission.end
    }

    /// Returns true if the NAV of a station lets it answer an RTS at `now`.
    #[inline]
    pub fn may_answer(&self, station: usize, now: Time) -> bool {
        self.station_media[station].reserved_until <= now
    }

    /// Ends a frame for all stations that hear it. Stations that can read the frame, except the
    /// addressed station `to`, respect the reservation until `reserved_until`. Stations that cannot
    /// read the frame wait for EIFS. At the station `corrupted`, if any, the channel has corrupted
    /// the frame.
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
                    // A station that was transmitting has not tried to read the frame.
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

    /// Starts the contention of a category that has received its first frame.
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

    /// Returns true if a category contends for the medium.
    pub fn is_contending(&self, index: usize) -> bool {
        self.contenders[index].ready
    }

    /// Stops the contention of a category that transmits or has nothing more to send.
    pub fn withdraw(&mut self, index: usize) {
        self.contenders[index].ready = false;
        self.starts[index] = Time::MAX;
    }

    #[inline]
    fn draw(&mut self, window: u32) -> u32 {
        // Scales the upper 32 bits to the window. The bias is below 1e-6.
        (((self.stream.bits() >> 32) * (u64::from(window) + 1)) >> 32) as u32
    }

    /// Draws a new back-off after a transmission. If its frame is `settled`, the smallest window is
    /// used; otherwise the window is doubled. Slots count from `from` on at the earliest.
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
