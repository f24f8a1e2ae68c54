//! The configuration of a proxy, as given on the command line.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Time at which the client's handshake is completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
    /// After the server has accepted: the client sees a refusal as without a proxy.
    #[default]
    Late,
    /// At once: saves a round trip, but the client sees a refusal as a reset.
    Early,
}

/// The configuration of a proxy; keys have the names of the options of `bentpipe machine pep`,
/// except `workers`, which is `--threads`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Interfaces on which clients' connections arrive; empty means all.
    pub interface: Vec<String>,
    /// Ports of servers, `80` or `8000-8999`; empty means all.
    pub port: Vec<String>,
    /// Networks of servers, `192.0.2.0/24`; empty means all.
    pub to: Vec<String>,
    /// Time at which the client's handshake is completed.
    pub accept: Accept,
    /// Congestion control towards clients; by default the kernel's.
    pub client_congestion: Option<String>,
    /// Congestion control towards servers.
    pub server_congestion: Option<String>,
    /// True if connections to servers use TCP Fast Open (RFC 7413).
    pub fast_open: bool,
    /// Most connections at once; further ones pass by the proxy.
    pub connections: u32,
    /// Number of threads; by default as many as there are processors and as the descriptors
    /// require.
    pub workers: Option<u32>,
    /// Bytes of each socket's buffers; by default the kernel's choice.
    pub buffer: Option<u32>,
    /// Seconds without a byte after which a connection is reset; 0 for never.
    pub idle_timeout: u32,
    /// Seconds without a byte after which an end is probed (keepalive); 0 for never.
    pub keepalive: u32,
    /// Seconds within which a server must accept.
    pub connect_timeout: u32,
    /// Seconds for connections to end after SIGTERM.
    pub drain_timeout: u32,
    /// Address at which metrics are served by HTTP.
    pub metrics: Option<String>,
    /// User that the proxy becomes after its set-up.
    pub user: String,
    /// The bit of packets' marks that the proxy uses.
    pub mark: u32,
    /// Number of the proxy's routing table, and priority of the rule that leads to it.
    pub table: u32,
    /// Number of the first worker's group of nfnetlink_log.
    pub group: u16,
    /// True if each connection is logged.
    pub log_connections: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            interface: Vec::new(),
            port: Vec::new(),
            to: Vec::new(),
            accept: Accept::Late,
            client_congestion: None,
            server_congestion: None,
            fast_open: false,
            connections: 20_000,
            workers: None,
            buffer: None,
            // RFC 5382, REQ-5: established connections are kept for at least 2 hours 4 minutes.
            idle_timeout: 7440,
            keepalive: 300,
            connect_timeout: 60,
            drain_timeout: 30,
            metrics: None,
            user: "nobody".to_owned(),
            mark: 0x10_0000,
            table: 1049,
            group: 4900,
            log_connections: false,
        }
    }
}

impl Config {
    /// Checks the values.
    ///
    /// # Errors
    /// A value is not allowed; the error contains the option, its value and the allowed ones.
    pub fn check(&self) -> Result<(), Error> {
        for port in &self.port {
            ports(port)
                .ok_or_else(|| Error::option("--port", port, "is no port, as 80, or range, as 8000-8999"))?;
        }
        for network in &self.to {
            prefix(network).ok_or_else(|| {
                Error::option("--to", network, "is no network, as 192.0.2.0/24 or 2001:db8::/32")
            })?;
        }
        for name in &self.interface {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:".contains(c);
            if name.is_empty() || name.len() > 15 || !name.chars().all(plain) {
                return Err(Error::option("--interface", name, "is no name of an interface"));
            }
        }
        within("--connections", self.connections, 1, 1_000_000)?;
        within("--workers", self.workers.unwrap_or(1), 1, 256)?;
        within("--buffer", self.buffer.unwrap_or(4096), 4096, 1 << 30)?;
        within("--connect-timeout", self.connect_timeout, 1, 600)?;
        within("--drain-timeout", self.drain_timeout, 0, 86_400)?;
        within("--keepalive", self.keepalive, 0, 32_767)?;
        within("--table", self.table, 1, 32_000)?;
        if matches!(self.table, 253..=255) {
            return Err(Error::option("--table", self.table, "is one of the kernel's own (253 to 255)"));
        }
        self.metrics_address()?;
        if self.mark.count_ones() != 1 {
            return Err(Error::option("--mark", format!("{:#x}", self.mark), "is not one bit, as 0x100000"));
        }
        if self.group > u16::MAX - 256 {
            return Err(Error::option("--group", self.group, "allowed is 0 to 65279"));
        }
        Ok(())
    }

    /// Returns the address at which metrics are served, if any.
    pub(crate) fn metrics_address(&self) -> Result<Option<SocketAddr>, Error> {
        let address = |text: &String| {
            let wrong = || {
                Error::option("--metrics", text, "is no address with port, as 127.0.0.1:9100 or [::1]:9100")
            };
            text.parse().map_err(|_| wrong())
        };
        self.metrics.as_ref().map(address).transpose()
    }
}

fn within(option: &'static str, value: u32, min: u32, max: u32) -> Result<(), Error> {
    match (min..=max).contains(&value) {
        true => Ok(()),
        false => Err(Error::option(option, value, format!("allowed is {min} to {max}"))),
    }
}

/// Returns the first and last port of `80` or `8000-8999`.
fn ports(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (0 < first && first <= last).then_some((first, last))
}

/// Returns address and prefix length of `192.0.2.0/24`; a single address gets its full length.
pub(crate) fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Some(max), |length| length.parse().ok())?;
    (length <= max).then_some((address, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_networks_are_parsed() {
        assert_eq!(ports("80"), Some((80, 80)));
        assert_eq!(ports("8000-8999"), Some((8000, 8999)));
        for wrong in ["", "0", "65536", "9-8", "80,81", "http"] {
            assert_eq!(ports(wrong), None, "{wrong}");
        }
        assert_eq!(prefix("192.0.2.0/24"), Some((IpAddr::from([192, 0, 2, 0]), 24)));
        assert_eq!(prefix("::1").unwrap().1, 128);
        for wrong in ["192.0.2.0/33", "::/129", "example.org", "1.2.3", "::/-1", "{ drop }"] {
            assert_eq!(prefix(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn invalid_values_are_refused_with_the_reason() {
        let say = |config: Config| config.check().unwrap_err().to_string();
        assert!(Config::default().check().is_ok());
        let config = Config { mark: 3, ..Config::default() };
        assert_eq!(say(config), "--mark 0x3: is not one bit, as 0x100000");
        let config = Config { connections: 0, ..Config::default() };
        assert_eq!(say(config), "--connections 0: allowed is 1 to 1000000");
        let config = Config { interface: vec!["a\" drop".to_owned()], ..Config::default() };
        assert!(say(config).contains("is no name of an interface"));
    }
}
