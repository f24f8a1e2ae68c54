//! A network of an access point and its associated stations, created with nl80211 alone.
//!
//! The kernel's access point sends beacons and the frames that it is given. It leaves the answers
//! to stations that probe, authenticate and associate to a program, which is this module. Stations
//! need a single request, `CONNECT`; the kernel does the rest. The request is repeated for a
//! station that has lost its access point.

use super::genetlink::{Received, Socket};
use super::management::{self, Frames};
use super::nl80211;
use super::radio::{address, bring_up, channel, choose_rates, interface, width, Radio, SSID};
use crate::host::netlink::Attributes;
use bentpipe_networks::wifi::config::Config;
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval in milliseconds at which stations are checked, and time within which a stop is noticed.
const LOOKING: u16 = 500;
/// Interval of beacons that announce broadcast frames, in beacons.
const DTIM: u32 = 2;
/// Number of beacons that a station may miss while it sleeps.
const LISTEN_INTERVAL: u16 = 10;
/// First bytes of the frames that are answered or that end an association.
const HEARD: [u8; 6] = [
    management::PROBE_REQUEST,
    management::AUTHENTICATION,
    management::ASSOCIATION_REQUEST,
    management::REASSOCIATION_REQUEST,
    management::DISASSOCIATION,
    management::DEAUTHENTICATION,
];

/// The program that answers for the access point and makes stations associate.
pub struct Infrastructure {
    access_point: AccessPoint,
    stations: Vec<Station>,
}

/// A radio's interface: its namespace and its nl80211 socket.
struct Interface {
    socket: Socket,
    family: u16,
    index: u32,
    frequency: u32,
}

struct AccessPoint {
    interface: Interface,
    /// A separate socket for frames, which must not be mixed with answers to requests.
    heard: Socket,
    frames: Frames,
    /// Association identifiers of the stations.
    numbers: BTreeMap<[u8; 6], u16>,
}

struct Station {
    interface: Interface,
    access_point: [u8; 6],
}

impl Infrastructure {
    /// Makes the first radio the access point and the others its stations, which associate when the
    /// program runs.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses a radio as access point or as station.
    pub fn new(config: &Config, radios: &[Radio]) -> io::Result<Infrastructure> {
        let (first, others) = radios.split_first().ok_or_else(|| io::Error::other("there is no radio"))?;
        let access_point = first.namespace.within(|| AccessPoint::new(config))??;
        let station = |radio: &Radio| radio.namespace.within(|| Station::new(config))?;
        Ok(Infrastructure { access_point, stations: others.iter().map(station).collect::<io::Result<_>>()? })
    }

    /// Serves the network until `stop` is true.
    ///
    /// # Errors
    /// Returns the errors of generic netlink.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            for station in &mut self.stations {
                station.look_after()?;
            }
            self.access_point.answer_for(LOOKING, stop)?;
        }
        Ok(())
    }
}

impl Interface {
    /// Returns the interface of this thread's namespace, up and limited to the network's rates. The
    /// interface gets the type `kind`, if given.
    fn new(config: &Config, kind: Option<u32>) -> io::Result<Interface> {
        let (name, index) = interface()?;
        let mut socket = Socket::new()?;
        let family = socket.family(nl80211::FAMILY)?;
        let own = || Attributes::new().u32(nl80211::IFINDEX, index);
        if let Some(kind) = kind {
            socket.request(family, nl80211::SET_INTERFACE, &own().u32(nl80211::IFTYPE, kind))?;
        }
        bring_up(&name)?;
        // Rates are set before the interface has a channel. Later the kernel requires a rate among
        // them that all stations know.
        choose_rates(&mut socket, family, index, config)?;
        Ok(Interface { socket, family, index, frequency: channel(config).0 })
    }

    /// Returns the attribute of every request, the interface.
    fn own(&self) -> Attributes {
        Attributes::new().u32(nl80211::IFINDEX, self.index)
    }

    fn request(&mut self, command: u8, attributes: &Attributes) -> io::Result<()> {
        self.socket.request(self.family, command, attributes).map(drop)
    }
}

impl AccessPoint {
    fn new(config: &Config) -> io::Result<AccessPoint> {
        let mut interface = Interface::new(config, Some(nl80211::ACCESS_POINT))?;
        let frames = Frames::new(config, address(0), SSID);
        let mut heard = Socket::new()?;
        for first in HEARD {
            let wanted = interface
                .own()
                .bytes(nl80211::FRAME_TYPE, &u16::from(first).to_ne_bytes())
                .bytes(nl80211::FRAME_MATCH, &[]);
            heard.request(interface.family, nl80211::REGISTER_FRAME, &wanted)?;
        }
        let (head, tail) = frames.beacon();
        let network = interface
            .own()
            .u32(nl80211::BEACON_INTERVAL, u32::from(management::BEACON_INTERVAL))
            .u32(nl80211::DTIM_PERIOD, DTIM)
            .bytes(nl80211::BEACON_HEAD, &head)
            .bytes(nl80211::BEACON_TAIL, &tail)
            .bytes(nl80211::SSID, SSID)
            .u32(nl80211::AUTH_TYPE, nl80211::OPEN_SYSTEM)
            .u32(nl80211::WIPHY_FREQ, interface.frequency)
            .u32(nl80211::CHANNEL_WIDTH, width(config))
            .u32(nl80211::CENTER_FREQ1, interface.frequency);
        interface.request(nl80211::START_AP, &network)?;
        Ok(AccessPoint { interface, heard, frames, numbers: BTreeMap::new() })
    }

    /// Answers frames for this number of milliseconds, or until none has arrived for that time.
    fn answer_for(&mut self, milliseconds: u16, stop: &AtomicBool) -> io::Result<()> {
        loop {
            let mut waiting = [PollFd::new(self.heard.as_fd(), PollFlags::POLLIN)];
            match poll(&mut waiting, PollTimeout::from(milliseconds)) {
                Ok(0) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    let mut frames = Vec::new();
                    self.heard.read(|received| {
                        if let Received::Message(message) = received {
                            let frame = message.get(nl80211::ATTR_FRAME);
                            frames.extend(
                                frame.filter(|_| message.command == nl80211::FRAME).map(<[u8]>::to_vec),
                            );
                        }
                    })?;
                    for frame in frames {
                        self.answer(&frame)?;
                    }
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    fn answer(&mut self, frame: &[u8]) -> io::Result<()> {
        let Some(station) = Frames::sender(frame) else { return Ok(()) };
        let next = self.numbers.len() as u16 + 1;
        let number = *self.numbers.entry(station).or_insert(next);
        let Some(answer) = self.frames.answer(frame, number) else { return Ok(()) };
        match frame[0] {
            // A new authentication ends the station's association.
            management::AUTHENTICATION => self.forget(station)?,
            management::ASSOCIATION_REQUEST | management::REASSOCIATION_REQUEST => {
                self.forget(station)?;
                self.admit(station, number)?;
            }
            _ => {}
        }
        let answer = self
            .interface
            .own()
            .u32(nl80211::WIPHY_FREQ, self.interface.frequency)
            .bytes(nl80211::ATTR_FRAME, &answer);
        self.interface.request(nl80211::FRAME, &answer)
    }

    /// Allows a station to exchange data.
    fn admit(&mut self, station: [u8; 6], number: u16) -> io::Result<()> {
        let flags = nl80211::AUTHORIZED | nl80211::WME | nl80211::AUTHENTICATED | nl80211::ASSOCIATED;
        let mut admitted = self
            .interface
            .own()
            .bytes(nl80211::MAC, &station)
            .bytes(nl80211::STA_LISTEN_INTERVAL, &LISTEN_INTERVAL.to_ne_bytes())
            .bytes(nl80211::STA_SUPPORTED_RATES, &self.frames.rates())
            .bytes(nl80211::STA_AID, &number.to_ne_bytes())
            .bytes(nl80211::STA_FLAGS2, &[flags.to_ne_bytes(), flags.to_ne_bytes()].concat());
        if let Some(capabilities) = self.frames.ht_capabilities() {
            admitted = admitted.bytes(nl80211::HT_CAPABILITY, &capabilities);
        }
        self.interface.request(nl80211::NEW_STATION, &admitted)
    }

    /// Removes a station from the kernel, if the kernel has it.
    fn forget(&mut self, station: [u8; 6]) -> io::Result<()> {
        let gone = self.interface.own().bytes(nl80211::MAC, &station);
        match self.interface.request(nl80211::DEL_STATION, &gone) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            other => other,
        }
    }
}

impl Station {
    fn new(config: &Config) -> io::Result<Station> {
        let mut interface = Interface::new(config, None)?;
        let awake = interface.own().u32(nl80211::PS_STATE, 0);
        interface.request(nl80211::SET_POWER_SAVE, &awake)?;
        Ok(Station { interface, access_point: address(0) })
    }

    /// Requests an association, unless the station is associated or in the process of associating.
    fn look_after(&mut self) -> io::Result<()> {
        let network = self
            .interface
            .own()
            .bytes(nl80211::MAC, &self.access_point)
            .bytes(nl80211::SSID, SSID)
            .u32(nl80211::AUTH_TYPE, nl80211::OPEN_SYSTEM)
            .u32(nl80211::WIPHY_FREQ, self.interface.frequency);
        match self.interface.request(nl80211::CONNECT, &network) {
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EALREADY | libc::EINPROGRESS | libc::EBUSY)) =>
            {
                Ok(())
            }
            other => other,
        }
    }
}
