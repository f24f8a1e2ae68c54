//! Two hosts of this machine with an engine between them, to measure the cost of the engine itself.

use crate::clock::Clock;
use crate::error::{Doing, Error};
use crate::live::{Live, Prepared, Setup};
use crate::{Bridge, Handle, Namespace};
use bentpipe_core::{Recorder, Time};
use bentpipe_engine::scenario::Scenario;
use nix::sys::resource::{getrusage, Usage, UsageWho};
use serde_json::json;
use std::net::Ipv4Addr;

/// Two hosts and a running engine.
pub struct Rig {
    live: Live,
}

/// The state after a [`Rig`] has stopped.
pub struct Ran {
    /// The engine between the two hosts.
    pub bridge: Bridge,
    /// Time of the run at which the engine stopped.
    pub end: Time,
    /// CPU time of the engine's thread, in seconds.
    pub cpu_s: f64,
}

/// Returns a scenario of one link between nodes `a` and `b`: bits per second and nanoseconds in
/// each direction, with unlimited queues.
pub fn one_link(rate: u64, delay: u64) -> Scenario {
    let link = json!({
        "name": "link", "from": "a", "to": "b",
        "rate": format!("{rate} bit/s"), "delay": format!("{delay} ns"), "queue": {"unlimited": {}},
    });
    scenario(json!({"name": "calibration", "duration": "1 s", "record": {"traces": []}, "link": [link]}))
}

/// Returns a scenario from its JSON, which is written in this program.
pub fn scenario(value: serde_json::Value) -> Scenario {
    serde_json::from_value(value).expect("the scenario is written in this program")
}

impl Rig {
    /// Starts the engine between the nodes `from` and `to` of a scenario.
    ///
    /// # Errors
    /// Returns an error if this machine does not allow namespaces or TUN devices.
    pub fn start(scenario: &Scenario, from: &str, to: &str, mtu: u32) -> Result<Rig, Error> {
        let setup = Setup {
            scenario,
            seed: (1, 0),
            hosts: &[from.to_owned(), to.to_owned()],
            recorder: Recorder::default(),
            capture: None,
            mtu,
            internet: None,
            radios: None,
            elsewhere: &[],
        };
        Ok(Rig { live: Prepared::new(setup)?.start(Clock::start(), None)? })
    }

    /// Returns the network namespaces of the two hosts.
    pub fn namespaces(&self) -> [&Namespace; 2] {
        [0, 1].map(|host| &self.live.hosts()[host].namespace)
    }

    /// Returns the IPv4 addresses of the two hosts.
    pub fn addresses(&self) -> [Ipv4Addr; 2] {
        [0, 1].map(|host| self.live.hosts()[host].ipv4)
    }

    /// Returns a handle to the engine.
    pub fn handle(&self) -> &Handle {
        self.live.handle()
    }

    /// Stops the engine and returns it with its costs.
    ///
    /// # Errors
    /// Returns the errors of the engine.
    pub fn stop(self) -> Result<Ran, Error> {
        let used = self.handle().ask(|_, now| (now, getrusage(UsageWho::RUSAGE_THREAD)));
        let bridge = self.live.finish()?;
        let (end, used) = used.map_err(std::io::Error::other).doing("asking the engine")?;
        Ok(Ran { bridge, end, cpu_s: cpu_seconds(&used.doing("asking for the engine's CPU time")?) })
    }
}

/// Returns the sum of user and system time in seconds.
pub fn cpu_seconds(used: &Usage) -> f64 {
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    seconds(used.user_time()) + seconds(used.system_time())
}
