//! The path from an emulated network to the machine's own network: an interface in the namespace of
//! this process, and a rule that gives packets of the emulated network the machine's address (NAT,
//! RFC 3022). IPv4 only.
//!
//! The rules are in a separate nftables table and are removed with this value. A killed process
//! leaves the table to [`remove_rules`]. Forwarding remains on, because other networks may use it
//! by then. A caller may switch it off only if this was the last network.

use crate::error::{Doing, Error};
use crate::host::port::tun::{self, Tun};
use crate::host::process;
use bentpipe_core::address::Plan;
use nix::net::if_::if_nametoindex;
use std::fs;
use std::io;
use std::process::Command;

const TAKEN: &str =
    "routes of this machine cover all of 198.18.0.0/15, where networks of ours have their addresses; remove \
                     them (ip route), or run without access to the Internet";

const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

/// The outlet; the rules are removed when it is dropped.
pub struct Internet {
    config: tun::Config,
    plan: Plan,
    table: String,
    /// True if forwarding was off before.
    switched: bool,
}

impl Internet {
    /// Chooses unused addresses, and creates the rules under the name `table`.
    ///
    /// # Errors
    /// Returns an error if all address plans are in use, if `nft` is missing, or if the machine
    /// does not allow it.
    pub fn new(table: &str, mtu: u32) -> Result<Internet, Error> {
        let taken = routes().doing("reading the machine's routes")?;
        let plan = (0..Plan::COUNT).filter_map(Plan::new).find(|plan| {
            let network = u32::from(plan.ipv4_network());
            !taken.iter().any(|(other, mask)| *mask != 0 && (network ^ other) & mask & prefix_mask() == 0)
        });
        let plan = plan.ok_or_else(|| io::Error::other(TAKEN)).doing("choosing addresses")?;
        let mut names = (0..1000).map(|number| format!("bentpipe{number}"));
        let free = names.find(|name| if_nametoindex(name.as_str()).is_err());
        let name = free.expect("a machine has fewer interfaces");
        nft(&format!(
            "table ip {table} {{\n chain nat {{\n  type nat hook postrouting priority srcnat;\n  \
             ip saddr {}/{} oifname != \"{name}\" masquerade\n }}\n}}\n",
            plan.ipv4_network(),
            Plan::IPV4_PREFIX
        ))?;
        let config = tun::Config { name, mtu, ipv4: plan.ipv4_outside(), ipv6: None, default_route: false };
        let mut internet = Internet { config, plan, table: table.to_owned(), switched: false };
        let forwarding = fs::read_to_string(FORWARDING).doing("reading whether this machine forwards")?;
        if forwarding.trim() == "0" {
            fs::write(FORWARDING, "1").doing("letting this machine forward")?;
            internet.switched = true;
        }
        Ok(internet)
    }

    /// Returns the address plan of the network.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Creates the interface in the machine's own namespace.
    ///
    /// # Errors
    /// Returns an error if the machine does not allow it.
    pub fn port(&self) -> Result<Tun, Error> {
        Tun::here(&self.config).doing(format!("making the interface {}", self.config.name))
    }

    /// Returns the name of the interface in the machine's own namespace.
    pub fn interface(&self) -> &str {
        &self.config.name
    }

    /// Returns true if the machine did not forward before.
    pub fn switched_forwarding(&self) -> bool {
        self.switched
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        let _ = remove_rules(&self.table, false);
    }
}

/// Removes the remains of an [`Internet`], and nothing else.
///
/// # Errors
/// Returns an error if `nft` is missing, or if the machine does not allow it. A missing table is
/// not an error.
pub fn remove_rules(table: &str, switched_forwarding: bool) -> Result<(), Error> {
    // The table is added first, so that its deletion succeeds in any case.
    nft(&format!("add table ip {table}\ndelete table ip {table}\n"))?;
    if switched_forwarding {
        fs::write(FORWARDING, "0").doing("switching forwarding off again")?;
    }
    Ok(())
}

fn prefix_mask() -> u32 {
    u32::MAX << (32 - Plan::IPV4_PREFIX)
}

/// Returns network and mask of every IPv4 route of this namespace.
fn routes() -> io::Result<Vec<(u32, u32)>> {
    let text = fs::read_to_string("/proc/thread-self/net/route")?;
    let word = |text: Option<&str>| u32::from_str_radix(text?, 16).ok().map(u32::swap_bytes);
    let parsed = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        Some((word(fields.get(1).copied())?, word(fields.get(7).copied())?))
    });
    Ok(parsed.collect())
}

/// Runs a script of nft(8) in this namespace.
fn nft(script: &str) -> Result<(), Error> {
    let mut command = Command::new("nft");
    command.args(["-f", "-"]);
    process::configure(command, script)
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::other("there is no nft on this machine (on Debian: apt install nftables)")
            }
            _ => error,
        })
        .doing("setting up the path to the Internet")
}
