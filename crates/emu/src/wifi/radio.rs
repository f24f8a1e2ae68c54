//! The kernel's simulated radios (mac80211_hwsim), each in a separate namespace. Radios of a
//! network without an access point join one ad hoc network; [`super::infrastructure`] configures
//! the others.

use super::genetlink::{Message, Socket};
use super::nl80211;
use crate::error::{Doing, Error};
use crate::host::namespace::{control_socket, Namespace};
use crate::host::netlink::Attributes;
use crate::sys;
use bentpipe_networks::wifi::config::{speeds, Config, Standard};
use nix::net::if_::if_nameindex;
use nix::sys::socket::AddressFamily;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// Commands and attributes of mac80211_hwsim.
pub mod hwsim {
    /// Name of the generic netlink family.
    pub const FAMILY: &str = "MAC80211_HWSIM";
    pub const REGISTER: u8 = 1;
    pub const FRAME: u8 = 2;
    pub const TX_INFO_FRAME: u8 = 3;
    pub const NEW_RADIO: u8 = 4;
    pub const ADDR_RECEIVER: u16 = 1;
    pub const ADDR_TRANSMITTER: u16 = 2;
    pub const ATTR_FRAME: u16 = 3;
    pub const FLAGS: u16 = 4;
    pub const RX_RATE: u16 = 5;
    pub const SIGNAL: u16 = 6;
    pub const TX_INFO: u16 = 7;
    pub const COOKIE: u16 = 8;
    pub const CHANNELS: u16 = 9;
    pub const REG_CUSTOM_REG: u16 = 12;
    pub const DESTROY_RADIO_ON_CLOSE: u16 = 16;
    pub const FREQ: u16 = 19;
    pub const TX_INFO_FLAGS: u16 = 21;
    pub const PERM_ADDR: u16 = 22;
    /// The sender does not wait for an acknowledgment.
    pub const NO_ACK: u32 = 2;
    /// The frame was acknowledged.
    pub const ACKNOWLEDGED: u32 = 4;
    /// The frame belongs to a session of block acknowledgments (a flag of bentpipe's kernel).
    pub const MAY_AGGREGATE: u32 = 8;
    /// The status describes an aggregate, whose numbers of frames and of acknowledged frames are in
    /// the next bytes (also a flag of bentpipe's kernel).
    pub const AGGREGATE: u32 = 16;
    /// The frame is preceded by an RTS.
    pub const RTS: u16 = 1;
}

/// Address of the ad hoc network (BSSID).
const CELL: [u8; 6] = [2, 0x62, 0x70, 0, 0, 1];
/// Name of the network for stations that search for it (SSID).
pub const SSID: &[u8] = b"bentpipe";
/// Bytes of the largest packet in a frame (maximum MSDU size, IEEE 802.11-2016, table 9-19).
pub const LARGEST: u32 = 2304;

/// A radio of the kernel, in a separate namespace.
#[derive(Debug)]
pub struct Radio {
    /// MAC address of the radio's interface.
    pub address: [u8; 6],
    /// The namespace of the radio's interface.
    pub namespace: Namespace,
    /// Number of the radio's interface.
    pub index: u32,
    /// Number of packets that the queues before the radio dropped for lack of room.
    pub dropped: Arc<AtomicU64>,
}

/// Returns the address of station number `station`.
pub fn address(station: usize) -> [u8; 6] {
    [2, 0, 0, 0, (station >> 8) as u8, station as u8]
}

/// Returns the number of the station with this address.
pub fn station_of(address: &[u8]) -> Option<usize> {
    match address {
        [2, 0, 0, 0, high, low] => Some(usize::from(*high) << 8 | usize::from(*low)),
        _ => None,
    }
}

/// Returns the frequency of the channel in MHz, and the number of its band in nl80211.
pub fn channel(config: &Config) -> (u32, u16) {
    if config.is_low_band() {
        (2412, 0)
    } else {
        (5180, 1)
    }
}

impl Radio {
    /// Creates the radio of a station; `driver` is a socket of the medium's namespace.
    ///
    /// # Errors
    /// Returns an error if the kernel has no mac80211_hwsim or refuses to create a radio.
    pub fn new(driver: &mut Socket, config: &Config, station: usize) -> Result<Radio, Error> {
        let doing = || format!("making the radio of station {station}");
        let own = address(station);
        let family = driver.family(hwsim::FAMILY).doing("looking for mac80211_hwsim in the kernel")?;
        let wanted = Attributes::new()
            .u32(hwsim::CHANNELS, 1)
            .u32(hwsim::REG_CUSTOM_REG, 0)
            .flag(hwsim::DESTROY_RADIO_ON_CLOSE)
            .bytes(hwsim::PERM_ADDR, &own);
        driver.request(family, hwsim::NEW_RADIO, &wanted).doing(doing())?;
        let number = number_of(&own).doing(doing())?;
        let namespace = Namespace::new().doing(doing())?;
        // The interface carries only packets of the engine.
        let _ = namespace.set_sysctl("net.ipv6.conf.default.disable_ipv6", "1");
        let family = driver.family(nl80211::FAMILY).doing("looking for nl80211 in the kernel")?;
        let target = Attributes::new()
            .u32(nl80211::WIPHY, number)
            .u32(nl80211::NETNS_FD, namespace.as_fd().as_raw_fd() as u32);
        driver.request(family, nl80211::SET_WIPHY_NETNS, &target).doing("moving a radio to its namespace")?;
        let joined = || -> io::Result<u32> {
            let (name, index) = interface()?;
            if config.access_point.is_none() {
                join(config, &name, index)?;
            }
            Ok(index)
        };
        let index = namespace.within(joined).and_then(|done| done).doing("joining the network")?;
        Ok(Radio { address: own, namespace, index, dropped: Arc::default() })
    }

    /// Returns true if the radio can exchange data with the station with the address `peer`.
    ///
    /// # Errors
    /// Returns the errors of generic netlink.
    pub fn knows(&self, peer: &[u8; 6]) -> io::Result<bool> {
        self.namespace.within(|| {
            let mut socket = Socket::new()?;
            let family = socket.family(nl80211::FAMILY)?;
            let station = Attributes::new().u32(nl80211::IFINDEX, self.index).bytes(nl80211::MAC, peer);
            let mut known = false;
            let asked = socket.request_for(family, nl80211::GET_STATION, &station, |message| {
                known = is_authorized(message);
            });
            match asked {
                Ok(_) => Ok(known),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
                Err(error) => Err(error),
            }
        })?
    }
}

/// Returns true if the kernel's description of a station says that data may be exchanged with it.
fn is_authorized(message: &Message<'_>) -> bool {
    let flags = message.nested(nl80211::STA_INFO).and_then(|info| info.get(nl80211::STA_INFO_FLAGS));
    // A mask, followed by the values.
    let set = flags.and_then(|flags| Some(u32::from_ne_bytes(flags.get(4..8)?.try_into().ok()?)));
    set.is_some_and(|set| set & nl80211::AUTHORIZED != 0)
}

/// Returns the number of the radio with this address.
fn number_of(address: &[u8; 6]) -> io::Result<u32> {
    let wanted = address.map(|byte| format!("{byte:02x}")).join(":");
    for entry in std::fs::read_dir("/sys/class/ieee80211")? {
        let folder = entry?.path();
        let text = |file: &Path| std::fs::read_to_string(file).map(|text| text.trim().to_owned());
        if text(&folder.join("macaddress"))? == wanted {
            return text(&folder.join("index"))?.parse().map_err(io::Error::other);
        }
    }
    Err(io::Error::other(format!("the kernel made no radio {wanted}")))
}

/// Returns name and number of the only interface of this thread's namespace.
///
/// # Errors
/// Returns an error if the namespace has no such interface.
pub fn interface() -> io::Result<(String, u32)> {
    let interfaces = if_nameindex()?;
    let wlan = interfaces.iter().find(|one| one.name().to_bytes().starts_with(b"wlan"));
    let wlan = wlan.ok_or_else(|| io::Error::other("the radio has no interface"))?;
    Ok((wlan.name().to_string_lossy().into_owned(), wlan.index()))
}

/// Brings up an interface of this thread's namespace, with an MTU for the largest packets.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn bring_up(name: &str) -> io::Result<()> {
    sys::bring_up(control_socket(AddressFamily::Inet)?.as_fd(), name, LARGEST)
}

/// Restricts the interface with number `index` to the rates of the network's adaptation.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn choose_rates(socket: &mut Socket, family: u16, index: u32, config: &Config) -> io::Result<()> {
    let (_, band) = channel(config);
    let kind = if config.standard == Standard::N { nl80211::RATES_HT } else { nl80211::RATES_LEGACY };
    let band_rates = Attributes::new().bytes(kind, &rates(config));
    let mask = Attributes::new()
        .u32(nl80211::IFINDEX, index)
        .nested(nl80211::TX_RATES, &Attributes::new().nested(band, &band_rates));
    socket.request(family, nl80211::SET_TX_BITRATE_MASK, &mask).map(drop)
}

/// Joins the ad hoc network with an interface of this thread's namespace.
fn join(config: &Config, name: &str, index: u32) -> io::Result<()> {
    let mut socket = Socket::new()?;
    let family = socket.family(nl80211::FAMILY)?;
    let own = || Attributes::new().u32(nl80211::IFINDEX, index);
    socket.request(family, nl80211::SET_INTERFACE, &own().u32(nl80211::IFTYPE, nl80211::ADHOC))?;
    bring_up(name)?;
    let (frequency, _) = channel(config);
    let network = own()
        .bytes(nl80211::SSID, SSID)
        .bytes(nl80211::MAC, &CELL)
        .u32(nl80211::WIPHY_FREQ, frequency)
        .u32(nl80211::CHANNEL_WIDTH, width(config))
        .u32(nl80211::CENTER_FREQ1, frequency)
        .flag(nl80211::FREQ_FIXED);
    socket.request(family, nl80211::JOIN_IBSS, &network)?;
    choose_rates(&mut socket, family, index, config)
}

/// Returns the number of the channel's width in nl80211.
pub fn width(config: &Config) -> u32 {
    if config.standard == Standard::N {
        nl80211::WITH_HT
    } else {
        nl80211::WITHOUT_HT
    }
}

/// Returns the rates that senders may use, by their numbers in nl80211: all rates of the standard,
/// or the single rate of a fixed adaptation.
fn rates(config: &Config) -> Vec<u8> {
    let phy = config.phy();
    let all = phy.by_speed();
    let allowed = match config.constant_rate(&speeds(&phy)) {
        Some(position) => vec![all[position]],
        None => all,
    };
    let number = |index: usize| match config.standard {
        Standard::N => index as u8,
        _ => (phy.mode(index).kbit_s / 500) as u8,
    };
    allowed.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_are_known_by_the_addresses_of_their_radios() {
        for station in [0, 1, 255, 300] {
            assert_eq!(station_of(&address(station)), Some(station));
        }
        assert_eq!(station_of(&[0xff; 6]), None);
    }
}
