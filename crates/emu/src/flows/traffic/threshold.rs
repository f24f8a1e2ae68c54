//! The initial slow-start threshold of a host's connections, for congestion controls of the kernel
//! itself.
//!
//! No socket option sets it. The kernel begins a connection with the threshold that it remembers
//! for the two addresses (`ip tcp_metrics`), and remembers for them the locked metric of an earlier
//! connection's route. So an earlier connection is made here, on the host itself: for a moment the
//! peer's address is the host's own. Nothing is sent to the network, and nothing else is remembered
//! afterwards (`tcp_no_metrics_save`).

use super::info::Info;
use crate::host::process;
use nix::sys::socket::{connect, setsockopt, socket, sockopt, AddressFamily, SockFlag, SockType, SockaddrIn};
use nix::sys::time::{TimeVal, TimeValLike};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::thread::park_timeout;
use std::time::Duration;

/// Time limit for a step of a connection that does not leave the host.
const LIMIT: Duration = Duration::from_secs(5);
/// Maximum number of connections until the kernel remembers the threshold. Usually the second
/// connection already has it, unless the first was not closed yet.
const TRIES: u64 = 20;
/// Settings of the namespace during these connections. The first one is set to 1 afterwards, as on
/// all hosts.
const REMEMBERING: [&str; 2] = ["tcp_no_metrics_save", "tcp_no_ssthresh_metrics_save"];

fn set(name: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    fs::write(path, value).map_err(|error| io::Error::new(error.kind(), format!("{name} = {value}: {error}")))
}

/// A local route to `peer` with the threshold, until it is dropped.
struct Route(Ipv4Addr);

impl Route {
    fn change(what: &str, peer: Ipv4Addr, words: &[&str]) -> io::Result<()> {
        let mut ip = Command::new("ip");
        ip.args(["route", what, "local", &format!("{peer}/32"), "dev", "lo", "table", "local"]).args(words);
        process::configure(ip, "")
    }

    fn add(own: Ipv4Addr, peer: Ipv4Addr, segments: u64) -> io::Result<Route> {
        let (own, segments) = (own.to_string(), segments.to_string());
        Route::change("add", peer, &["src", &own, "ssthresh", "lock", &segments])?;
        Ok(Route(peer))
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        let _ = Route::change("del", self.0, &[]);
    }
}

/// Opens and closes a new connection to `at`, and returns its initial threshold.
fn of_new_connection(listener: &TcpListener) -> io::Result<u64> {
    let SocketAddr::V4(at) = listener.local_addr()? else { return Err(io::ErrorKind::Unsupported.into()) };
    let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    // Every kernel has reno. The machine's default congestion control may ignore the remembered
    // threshold, as bbr does.
    setsockopt(&client, sockopt::TcpCongestion, &"reno".into())?;
    setsockopt(&client, sockopt::SendTimeout, &TimeVal::milliseconds(LIMIT.as_millis() as i64))?;
    connect(client.as_raw_fd(), &SockaddrIn::from(at))?;
    let begun = Info::of(client.as_fd())?.ssthresh().unwrap_or(u32::MAX);
    let (server, _) = listener.accept()?;
    // The host of the end that closes first remembers the threshold.
    drop(client);
    drop(server);
    Ok(u64::from(begun))
}

/// Makes the connections of this thread's namespace from `own` to `peer` begin with a threshold of
/// this many segments.
///
/// # Errors
/// Returns an error if ip(8) is missing, or if the kernel does not remember the threshold.
pub fn set_threshold(own: Ipv4Addr, peer: Ipv4Addr, segments: u64) -> io::Result<()> {
    for name in REMEMBERING {
        set(name, "0")?;
    }
    let route = Route::add(own, peer, segments)?;
    let listener = TcpListener::bind((peer, 0))?;
    let mut begun = 0;
    for attempt in 0..TRIES {
        begun = of_new_connection(&listener)?;
        if begun == segments {
            break;
        }
        park_timeout(Duration::from_millis(attempt));
    }
    drop(route);
    set(REMEMBERING[0], "1")?;
    if begun == segments {
        Ok(())
    } else {
        let message = format!("this kernel does not begin connections to {peer} with ssthresh {segments}");
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Namespace;

    #[test]
    fn connections_begin_with_the_threshold_and_the_route_is_gone() {
        let Ok(namespace) = Namespace::new() else {
            bentpipe_testing::skipped("network namespaces need privileges");
            return;
        };
        let (own, peer) = (Ipv4Addr::new(127, 0, 0, 5), Ipv4Addr::new(198, 18, 0, 9));
        let bound = |address: Ipv4Addr| TcpListener::bind((address, 0));
        namespace
            .within(|| {
                set_threshold(own, peer, 23).unwrap();
                assert!(bound(peer).is_err(), "the peer's address is not this host's");
                // The kernel's memory outlives the route, and ended connections do not change it.
                let again = Route::add(own, peer, 99).unwrap();
                let listener = bound(peer).unwrap();
                for _ in 0..3 {
                    assert_eq!(of_new_connection(&listener).unwrap(), 23);
                }
                drop(again);
                // Other peers are not affected.
                let (own, other) = (Ipv4Addr::new(127, 0, 0, 6), Ipv4Addr::new(127, 0, 0, 7));
                let listener = bound(other).unwrap();
                let begun = of_new_connection(&listener).unwrap();
                assert!(begun > 1 << 30, "{own}: {begun}");
            })
            .unwrap();
    }
}
