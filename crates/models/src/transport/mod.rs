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
    /// What carries a flow.
    pub enum Config {
        "tcp" => Tcp(tcp::Config),
        "tfrc" => Tfrc(tfrc::Config),
        "udp" => Udp(udp::Config),
    }
}

impl Config {
    /// Adds what is wrong.
    pub fn check(&self, problems: &mut Problems) {
        match self {
            Config::Tcp(config) => config.check(problems),
            Config::Tfrc(config) => config.check(problems),
            Config::Udp(_) => {}
        }
    }
}

/// Adds what is wrong with the rate of a Quick-Start request: what its option cannot say (RFC 4782, section 3.1).
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

/// Why an application cannot run over a transport, if so.
pub fn mismatch(app: &app::Config, transport: &Config) -> Option<String> {
    let kind = app.kind();
    match transport {
        Config::Udp(_) if app.is_elastic() => Some(format!(
            "\"{kind}\" needs a transport that says how fast it may send, such as tcp; allowed over udp: what has a \
             rate of its own, such as cbr"
        )),
        Config::Tfrc(_) if app.has_transactions() => Some(format!(
            "\"{kind}\" needs a transport that loses nothing, such as tcp; allowed over tfrc: what can do without, \
             such as cbr and bulk"
        )),
        _ => None,
    }
}
