//! Numbers of nl80211, the kernel's interface to its Wi-Fi, from <linux/nl80211.h>.
#![allow(missing_docs, reason = "the names are those of the header")]

pub const FAMILY: &str = "nl80211";

pub const SET_INTERFACE: u8 = 6;
pub const START_AP: u8 = 15;
pub const GET_STATION: u8 = 17;
pub const NEW_STATION: u8 = 19;
pub const DEL_STATION: u8 = 20;
pub const JOIN_IBSS: u8 = 43;
pub const CONNECT: u8 = 46;
pub const SET_WIPHY_NETNS: u8 = 49;
pub const SET_TX_BITRATE_MASK: u8 = 57;
pub const REGISTER_FRAME: u8 = 58;
pub const FRAME: u8 = 59;
pub const SET_POWER_SAVE: u8 = 61;

pub const WIPHY: u16 = 1;
pub const IFINDEX: u16 = 3;
pub const IFTYPE: u16 = 5;
pub const MAC: u16 = 6;
pub const BEACON_INTERVAL: u16 = 12;
pub const DTIM_PERIOD: u16 = 13;
pub const BEACON_HEAD: u16 = 14;
pub const BEACON_TAIL: u16 = 15;
pub const STA_AID: u16 = 16;
pub const STA_LISTEN_INTERVAL: u16 = 18;
pub const STA_SUPPORTED_RATES: u16 = 19;
pub const STA_INFO: u16 = 21;
pub const HT_CAPABILITY: u16 = 31;
pub const WIPHY_FREQ: u16 = 38;
pub const ATTR_FRAME: u16 = 51;
pub const SSID: u16 = 52;
pub const AUTH_TYPE: u16 = 53;
pub const FREQ_FIXED: u16 = 60;
pub const STA_FLAGS2: u16 = 67;
pub const TX_RATES: u16 = 90;
pub const FRAME_MATCH: u16 = 91;
pub const PS_STATE: u16 = 93;
pub const FRAME_TYPE: u16 = 101;
pub const CHANNEL_WIDTH: u16 = 159;
pub const CENTER_FREQ1: u16 = 160;
pub const NETNS_FD: u16 = 219;

/// Types of interfaces: a station of an ad hoc network, and an access point. A new radio's
/// interface is a station.
pub const ADHOC: u32 = 1;
pub const ACCESS_POINT: u32 = 3;
/// Widths of channels: 20 MHz without and with HT.
pub const WITHOUT_HT: u32 = 0;
pub const WITH_HT: u32 = 1;
/// Rates that senders in a band may use: in units of 500 kbit/s, and HT schemes.
pub const RATES_LEGACY: u16 = 1;
pub const RATES_HT: u16 = 2;
/// Authentication without a key.
pub const OPEN_SYSTEM: u32 = 0;
/// Information about a station: its flags, as a mask and values.
pub const STA_INFO_FLAGS: u16 = 17;
/// Flags of a station as bits: it may send data, supports QoS, is authenticated, is associated.
pub const AUTHORIZED: u32 = 1 << 1;
pub const WME: u32 = 1 << 3;
pub const AUTHENTICATED: u32 = 1 << 5;
pub const ASSOCIATED: u32 = 1 << 7;
