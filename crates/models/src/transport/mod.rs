//! End-to-end transport protocols.

mod classes;
pub mod details;
pub mod flow;
pub mod hosting;
pub mod names;
pub mod tcp;
pub mod tfrc;
pub mod udp;

use crate::app;
use crate::net::quick_start::QuickStart;
use bentpipe_core::{kinds, Problems, Rate};

kinds! {
    /// The transport protocol that carries a flow.
    pub enum Config {
        "tcp" => Tcp(tcp::Config),
        "tfrc" => Tfrc(tfrc::Config),
        "udp" => Udp(udp::Config),
    }
}

impl Config {
    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        match self {
            Config::Tcp(config) => config.check(problems),
            Config::Tfrc(config) => config.check(problems),
            Config::Udp(_) => {}
        }
    }
}

/// Adds a problem if the option of a Quick-Start request cannot express the rate (RFC 4782, section 3.1).
fn check_quick_start(rate: Option<Rate>, problems: &mut Problems) {
    let [least, most] = [1, 15].map(|rate| QuickStart { rate, missed: false }.bits_per_second());
    if let Some(rate) = rate.filter(|rate| !(least..=most).contains(&rate.bits_per_second())) {
        let [least, most] = [least, most].map(Rate::from_bits_per_second);
        problems.add(
            "quick_start",
            format!("{rate} is out of range; allowed: {least} to {most} (RFC 4782, section 3.1)"),
        );
    }
}

/// Returns why an application cannot run over a transport, if so.
pub fn mismatch(app: &app::Config, transport: &Config) -> Option<String> {
    let kind = app.kind();
    match transport {
        Config::Udp(_) if app.is_elastic() => Some(format!(
            "\"{kind}\" needs a transport that controls the rate, such as tcp; allowed over udp: applications that have a \
             rate of their own, such as cbr"
        )),
        Config::Tfrc(_) if app.has_transactions() => Some(format!(
            "\"{kind}\" needs a reliable transport, such as tcp; allowed over tfrc: applications that tolerate losses, \
             such as cbr and bulk"
        )),
        _ => None,
    }
}
