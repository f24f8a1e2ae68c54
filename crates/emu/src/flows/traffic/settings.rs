//! Settings of a scenario's transport that belong to the host instead of the socket: sysctls of its
//! namespace, and metrics of its routes.

use super::threshold::set_threshold;
use crate::error::{Doing, Error};
use crate::host::live::{LiveHost, INTERFACE};
use crate::host::process;
use bentpipe_core::{Size, Span};
use bentpipe_engine::scenario::Flow;
use bentpipe_transport::tcp;
use bentpipe_transport::tcp::config::{Ecn, Profile};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::process::Command;

/// Settings of one host: values by name, and metrics by the host at the other end.
#[derive(Debug, Default, PartialEq)]
pub struct Settings {
    sysctls: BTreeMap<&'static str, String>,
    routes: BTreeMap<Ipv4Addr, BTreeMap<&'static str, String>>,
    /// Initial slow-start thresholds of connections, in segments, by the host at the other end.
    thresholds: BTreeMap<Ipv4Addr, u64>,
    /// Flow for which each value was set, for messages about flows that disagree.
    owners: BTreeMap<String, String>,
}

/// Two flows of one host need different values of a setting.
#[derive(Debug, thiserror::Error)]
#[error(
    "flows \"{first}\" and \"{second}\" want different values of {what} at host {host}, where real hosts have one; \
     allowed: the same value, or endpoints = \"model\" for one of them"
)]
pub struct Disagreement {
    first: String,
    second: String,
    what: String,
    host: String,
}

/// A setting of the kernel by its name, as sysctl(8) spells it.
pub struct Sysctl(&'static str);

/// A setting that kernels before 6.5 lack.
pub const NEWEST: Sysctl = Sysctl("net.ipv4.tcp_syn_linear_timeouts");

impl Sysctl {
    fn path(&self) -> String {
        format!("/proc/sys/{}", self.0.replace('.', "/"))
    }

    /// Returns true if this kernel has the setting.
    pub fn is_there(&self) -> bool {
        std::path::Path::new(&self.path()).exists()
    }
}

/// Linux's own values, which need no route.
const KERNEL_RTO_MIN: Span = Span::from_millis(200);
const KERNEL_WINDOW: u64 = 10;

const RMEM: &str = "net.ipv4.tcp_rmem";
const WMEM: &str = "net.ipv4.tcp_wmem";

/// Returns the memory of a profile's receive window, twice its size (ip-sysctl.rst,
/// tcp_adv_win_scale); since 6.6 the kernel determines the fraction that is window. A window given
/// by the scenario belongs to the socket.
fn receive_memory(config: &tcp::Config) -> String {
    let most = match config.profile {
        Profile::Linux => 32 << 20,
        Profile::Linux612 | Profile::Linux61 | Profile::Linux2632 => 6 << 20,
        _ => return "4096 33554432 1073741824".to_owned(),
    };
    let start = config.receive_window_start.map_or(most, |start| 2 * start.bytes());
    format!("4096 {} {most}", start.clamp(4096, most))
}

/// Minimum memory of a send buffer on emulated hosts: Linux's own maximum.
pub const LEAST_SENT: u64 = 4 << 20;

/// Returns the memory of the send buffer, at least [`LEAST_SENT`]. For a limit in bytes of payload
/// it is the memory that carries them in a round trip (docs/notes/linux-tcp.md).
fn send_memory(config: &tcp::Config) -> String {
    let carries = config.send_buffer.map(|buffer| buffer.bytes().div_ceil(6).saturating_mul(7));
    let most = config.send_memory.map(Size::bytes).or(carries).unwrap_or(1 << 30);
    format!("4096 {LEAST_SENT} {}", most.clamp(LEAST_SENT, 1 << 30))
}

fn on(value: bool) -> String {
    u8::from(value).to_string()
}

impl Settings {
    /// Returns the settings of every host: buffers that never limit, and no state remembered from
    /// earlier connections.
    pub fn common() -> Settings {
        let mut settings = Settings::default();
        for (name, value) in [
            (RMEM, "4096 33554432 1073741824"),
            (WMEM, "4096 4194304 1073741824"),
            ("net.ipv4.tcp_no_metrics_save", "1"),
        ] {
            settings.sysctls.insert(name, value.to_owned());
        }
        settings
    }

    /// Adds the settings that a flow needs at `host`, one of its ends; `peer` is the address of the
    /// other.
    ///
    /// # Errors
    /// Returns an error if an earlier flow needs another value.
    pub fn add(&mut self, flow: &Flow, host: &str, peer: Ipv4Addr) -> Result<(), Disagreement> {
        let Some(config) = flow.transport.tcp() else { return Ok(()) };
        for (name, value) in [
            ("net.ipv4.tcp_sack", on(config.offers_sack())),
            ("net.ipv4.tcp_dsack", on(config.dsack)),
            // The classic kind in place of the accurate one.
            ("net.ipv4.tcp_ecn", on(config.ecn != Ecn::Off)),
            ("net.ipv4.tcp_timestamps", on(config.timestamps)),
            // 3: tail loss probes; 2: F-RTO in any state.
            ("net.ipv4.tcp_early_retrans", if config.tail_loss_probe { "3" } else { "0" }.to_owned()),
            ("net.ipv4.tcp_frto", if config.frto { "2" } else { "0" }.to_owned()),
            ("net.ipv4.tcp_slow_start_after_idle", on(config.restart_after_idle)),
            ("net.ipv4.tcp_comp_sack_delay_ns", config.ack_compression.as_nanos().to_string()),
            ("net.ipv4.tcp_window_scaling", on(config.window_scaling)),
            ("net.ipv4.tcp_synack_retries", config.syn_retries.value().to_string()),
            (NEWEST.0, config.syn_linear_timeouts.value().to_string()),
            ("net.ipv4.tcp_retries2", config.retries.value().to_string()),
            ("net.ipv4.tcp_pacing_ss_ratio", config.pacing_ss_ratio.value().to_string()),
            ("net.ipv4.tcp_pacing_ca_ratio", config.pacing_ca_ratio.value().to_string()),
            (RMEM, receive_memory(config)),
            (WMEM, send_memory(config)),
        ] {
            self.own(flow, host, name, &value)?;
            self.sysctls.insert(name, value);
        }
        let mut metrics = BTreeMap::new();
        if config.initial_window.value() != KERNEL_WINDOW {
            metrics.insert("initcwnd", config.initial_window.value().to_string());
        }
        if config.rto_variance_min != KERNEL_RTO_MIN {
            metrics.insert("rto_min", format!("{}ms", config.rto_variance_min.as_micros().div_ceil(1000)));
        }
        if !config.delayed_ack {
            metrics.insert("quickack", "1".to_owned());
        }
        self.own(flow, host, &format!("routes to {peer}"), &format!("{metrics:?}"))?;
        if !metrics.is_empty() {
            self.routes.insert(peer, metrics);
        }
        Ok(())
    }

    /// Makes connections of `host` to `peer` begin with the flow's slow-start threshold, for a
    /// congestion control that does not set it.
    ///
    /// Returns an error if an earlier flow needs another threshold, or none.
    /// Returns an error if an earlier flow needs another threshold, or none.
    pub fn add_threshold(
        &mut self,
        flow: &Flow,
        host: &str,
        peer: Ipv4Addr,
        segments: Option<u64>,
    ) -> Result<(), Disagreement> {
        let value = segments.map_or("none".to_owned(), |segments| segments.to_string());
        self.own(flow, host, &format!("initial_ssthresh towards {peer}"), &value)?;
        if let Some(segments) = segments {
            self.thresholds.insert(peer, segments);
        }
        Ok(())
    }

    /// Makes `congestion` the default of connections of `host` to `peer`, because the flow's
    /// program does not know the scenario. The kernel lets namespaces use the congestion controls
    /// that the machine allows everybody (tcp_allowed_congestion_control). For others there is a
    /// metric of the route, which also applies to connections that request another.
    ///
    /// # Errors
    /// Returns an error if an earlier flow needs another value.
    pub fn add_default(
        &mut self,
        flow: &Flow,
        host: &str,
        peer: Ipv4Addr,
        congestion: &str,
    ) -> Result<(), Disagreement> {
        let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
        if allowed.unwrap_or_default().split_whitespace().any(|name| name == congestion) {
            const DEFAULT: &str = "net.ipv4.tcp_congestion_control";
            self.own(flow, host, DEFAULT, congestion)?;
            self.sysctls.insert(DEFAULT, congestion.to_owned());
        } else {
            self.own(flow, host, &format!("congestion control towards {peer}"), congestion)?;
            self.routes.entry(peer).or_default().insert("congctl", congestion.to_owned());
        }
        Ok(())
    }

    fn own(&mut self, flow: &Flow, host: &str, what: &str, value: &str) -> Result<(), Disagreement> {
        let key = format!("{what} = {value}");
        let earlier = self.owners.iter().find(|(other, _)| {
            other.strip_prefix(what).is_some_and(|rest| rest.starts_with(" = ")) && **other != key
        });
        if let Some((_, first)) = earlier {
            return Err(Disagreement {
                first: first.clone(),
                second: flow.name.clone(),
                what: what.to_owned(),
                host: host.to_owned(),
            });
        }
        self.owners.entry(key).or_insert_with(|| flow.name.clone());
        Ok(())
    }

    /// Applies the settings at `host`.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses a value, or if ip(8) for the routes is missing.
    pub fn apply(&self, host: &LiveHost) -> Result<(), Error> {
        let doing = format!("setting up host {}", host.name);
        let sysctls = || -> io::Result<()> {
            for (name, value) in &self.sysctls {
                if *name == NEWEST.0 && !NEWEST.is_there() {
                    continue;
                }
                std::fs::write(Sysctl(name).path(), value)
                    .map_err(|error| io::Error::new(error.kind(), format!("{name} = {value}: {error}")))?;
            }
            Ok(())
        };
        let routes = || -> io::Result<()> {
            for (peer, metrics) in &self.routes {
                let mut ip = Command::new("ip");
                ip.args(["route", "replace", &format!("{peer}/32"), "dev", INTERFACE]);
                ip.args(metrics.iter().flat_map(|(name, value)| [*name, value.as_str()]));
                process::configure(ip, "")?;
            }
            Ok(())
        };
        let thresholds = || {
            let mut all = self.thresholds.iter();
            all.try_for_each(|(peer, segments)| set_threshold(host.ipv4, *peer, *segments))
        };
        let both = host.namespace.within(|| thresholds().and_then(|()| sysctls()).and_then(|()| routes()));
        both.and_then(|done| done).doing(doing)
    }

    /// Returns the settings, for the provenance.
    pub fn describe(&self) -> serde_json::Value {
        let routes: BTreeMap<String, _> =
            self.routes.iter().map(|(peer, metrics)| (peer.to_string(), metrics)).collect();
        let thresholds: BTreeMap<String, _> =
            self.thresholds.iter().map(|(peer, segments)| (peer.to_string(), segments)).collect();
        serde_json::json!({ "sysctls": self.sysctls, "routes": routes, "initial_ssthresh": thresholds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_engine::scenario::Endpoints;
    use bentpipe_transport::app;

    fn flow(name: &str, transport: &str) -> Flow {
        Flow {
            name: name.to_owned(),
            from: "a".to_owned(),
            to: "b".to_owned().into(),
            multicast: None,
            count: None,
            group: None,
            start: Span::ZERO,
            starts: None,
            dscp: bentpipe_core::Dscp::default(),
            app: app::Config::Bulk(app::bulk::Config::default()),
            transport: bentpipe_transport::Config::Tcp(serde_json::from_str(transport).unwrap()),
            endpoints: Endpoints::Kernel,
        }
    }

    #[test]
    fn flows_of_one_host_must_agree() {
        let peer = Ipv4Addr::LOCALHOST;
        let mut settings = Settings::common();
        settings.add(&flow("one", r#"{"timestamps": true}"#), "a", peer).unwrap();
        settings.add(&flow("two", r#"{"timestamps": true}"#), "a", peer).unwrap();
        let refused = settings.add(&flow("three", r#"{"timestamps": false}"#), "a", peer).unwrap_err();
        let text = refused.to_string();
        for word in ["\"one\"", "\"three\"", "tcp_timestamps", "host a"] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(settings.sysctls["net.ipv4.tcp_timestamps"], "1");
        // Routes to other hosts differ.
        let other = flow("four", r#"{"timestamps": true, "delayed_ack": false}"#);
        assert!(settings.add(&other, "a", peer).is_err());
        settings.add(&other, "a", Ipv4Addr::new(198, 18, 0, 9)).unwrap();
        // The kernel's memory of a host applies to all connections to it.
        settings.add_threshold(&other, "a", peer, Some(20)).unwrap();
        let refused = settings.add_threshold(&flow("five", "{}"), "a", peer, None).unwrap_err().to_string();
        assert!(refused.contains("initial_ssthresh towards 127.0.0.1"), "{refused}");
    }
}
