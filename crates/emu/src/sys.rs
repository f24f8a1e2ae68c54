//! The calls to the kernel that have no safe wrapper in `nix`. Nothing else in this crate is
//! unsafe.
#![allow(unsafe_code)]

pub mod batch;
mod call;
pub mod confine;
mod fence;
pub mod packet;
pub mod ring;
mod rooms;
pub mod socket;

use nix::errno::Errno;
use nix::mount::{mount, MsFlags};
use nix::sched::{unshare, CloneFlags};
use std::ffi::{CStr, CString, NulError};
use std::io;
use std::mem::zeroed;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The ioctl that attaches a file to a TUN device (<linux/if_tun.h>).
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;

/// The ioctl that adds to the kernel's randomness (random(4)).
const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;

fn check(result: libc::c_int) -> io::Result<()> {
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Returns an interface request for `name`, which must be shorter than IFNAMSIZ.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: ifreq is plain data for which zeros are valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    assert!(name.len() < libc::IFNAMSIZ, "{name} is too long for an interface");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// Makes `tun`, an open /dev/net/tun, the interface `name` of this thread's network namespace:
/// layer 3, without a header before each packet.
pub fn attach_tun(tun: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an ifreq, which lives until the call returns.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), TUNSETIFF, &mut request) })
}

/// Adds a seed to the kernel's random numbers and lets it count as random, which needs
/// CAP_SYS_ADMIN. `random` is an open /dev/urandom.
pub fn seed_random(random: BorrowedFd<'_>, seed: &[u8; 32]) -> io::Result<()> {
    // struct rand_pool_info: number of random bits, number of bytes, the bytes.
    let mut pool = [0; 8 + 32];
    pool[..4].copy_from_slice(&256_i32.to_ne_bytes());
    pool[4..8].copy_from_slice(&32_i32.to_ne_bytes());
    pool[8..].copy_from_slice(seed);
    // SAFETY: RNDADDENTROPY reads two numbers and the bytes that they announce, which live until
    // the call returns.
    check(unsafe { libc::ioctl(random.as_raw_fd(), RNDADDENTROPY, pool.as_ptr()) })
}

/// Sets an interface's MTU and brings it up. `socket` is any IPv4 socket of its namespace.
pub fn bring_up(socket: BorrowedFd<'_>, name: &str, mtu: u32) -> io::Result<()> {
    let mut request = request(name);
    let fd = socket.as_raw_fd();
    // SAFETY: each call reads an ifreq that lives until the call returns; writing a union's plain
    // fields is safe.
    unsafe {
        request.ifr_ifru.ifru_mtu = mtu as libc::c_int;
        check(libc::ioctl(fd, libc::SIOCSIFMTU, &request))?;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        check(libc::ioctl(fd, libc::SIOCSIFFLAGS, &request))
    }
}

/// Brings up the loopback interface of this thread's namespace.
pub fn bring_up_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    let mut request = request("lo");
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the call reads an ifreq that lives until the call returns.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) })
}

fn ipv4_address(address: Ipv4Addr) -> libc::sockaddr {
    let inner = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from(address).to_be() },
        sin_zero: [0; 8],
    };
    // SAFETY: both are plain data of 16 bytes, and the kernel reads an IPv4 address from either.
    unsafe { std::mem::transmute(inner) }
}

/// Gives an interface an IPv4 address and the length of its network's prefix. `socket` is an IPv4
/// socket.
pub fn set_ipv4(socket: BorrowedFd<'_>, name: &str, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
    let mut request = request(name);
    let mask = Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0));
    let fd = socket.as_raw_fd();
    // SAFETY: each call reads an ifreq that lives until the call returns.
    unsafe {
        request.ifr_ifru.ifru_addr = ipv4_address(address);
        check(libc::ioctl(fd, libc::SIOCSIFADDR, &request))?;
        request.ifr_ifru.ifru_netmask = ipv4_address(mask);
        check(libc::ioctl(fd, libc::SIOCSIFNETMASK, &request))
    }
}

/// Makes interface `name` the default route of IPv4.
pub fn add_default_route(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: rtentry is plain data for which zeros are valid; the call reads it and the name,
    // which live until it returns.
    unsafe {
        let mut route: libc::rtentry = zeroed();
        route.rt_dst = ipv4_address(Ipv4Addr::UNSPECIFIED);
        route.rt_genmask = ipv4_address(Ipv4Addr::UNSPECIFIED);
        route.rt_flags = libc::RTF_UP;
        route.rt_dev = name.as_ptr().cast_mut();
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT, &route))
    }
}

/// Makes timers of this thread expire at their time, not up to 50 us later.
pub fn exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}

/// Gives this thread first-in, first-out real-time priority.
pub fn real_time_priority(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads the parameters, which live until it returns; 0 is this thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) })
}

/// From <linux/capability.h>: CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN.
const NETWORK_CAPABILITIES: [u32; 4] = [10, 12, 13, 21];

/// Lets the programs that this thread executes keep the capabilities to create and use networks in
/// its user namespace.
pub fn keep_network_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    // _LINUX_CAPABILITY_VERSION_3: two words for each set.
    let header = Header { version: 0x2008_0522, pid: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: both calls take a header and two `Sets` as <linux/capability.h> lays them out, which
    // live until they return.
    unsafe {
        Errno::result(libc::syscall(libc::SYS_capget, &header, sets.as_mut_ptr()))?;
        sets[0].inheritable |= NETWORK_CAPABILITIES.iter().fold(0, |set, number| set | 1 << number);
        Errno::result(libc::syscall(libc::SYS_capset, &header, sets.as_ptr()))?;
    }
    for number in NETWORK_CAPABILITIES {
        // SAFETY: PR_CAP_AMBIENT takes numbers and touches no memory.
        check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, number, 0, 0) })?;
    }
    Ok(())
}

/// The environment of a program and the way it ends, prepared before the fork so that nothing is
/// allocated after it.
pub struct Surroundings {
    files: Vec<(CString, CString)>,
    dies_with_parent: bool,
    fenced: bool,
}

impl Surroundings {
    /// Creates the surroundings: files seen in place of others (replacement, replaced path), and
    /// whether the program is killed when the thread that started it dies.
    pub fn new(files: &[(PathBuf, PathBuf)], dies_with_parent: bool) -> io::Result<Surroundings> {
        let text = |path: &PathBuf| CString::new(path.as_os_str().as_bytes());
        let files: Result<Vec<_>, NulError> =
            files.iter().map(|(what, place)| Ok((text(what)?, text(place)?))).collect();
        Ok(Surroundings { files: files?, dies_with_parent, fenced: false })
    }

    /// Returns the same in a PID namespace of its own, which ends with the program.
    pub fn fenced(self) -> Surroundings {
        Surroundings { fenced: true, ..self }
    }

    fn enter(&self) -> nix::Result<()> {
        if self.dies_with_parent {
            // SAFETY: PR_SET_PDEATHSIG takes a number and touches no memory.
            Errno::result(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        }
        if self.fenced {
            fence::enter()?;
        }
        // Python ignores these signals. If the caller ignores others, it was asked to.
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: the default action runs no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        if !self.files.is_empty() {
            unshare(CloneFlags::CLONE_NEWNS)?;
            let none: Option<&CStr> = None;
            mount(none, c"/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
            for (what, place) in &self.files {
                mount(Some(what.as_c_str()), place.as_c_str(), none, MsFlags::MS_BIND, none)?;
            }
        }
        Ok(())
    }
}

/// Makes `command` enter its surroundings after the fork.
pub fn prepare(command: &mut Command, surroundings: Surroundings) {
    // SAFETY: between fork and exec only system calls are made, on values that were ready before:
    // nothing is allocated, no lock is taken.
    unsafe {
        command.pre_exec(move || {
            surroundings.enter().map_err(|error| io::Error::from_raw_os_error(error as i32))
        })
    };
}

/// The resources that a process has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Processor seconds of the process and of all children that it has waited for.
    pub cpu_seconds: f64,
}

/// Removes the child `id` if it has ended and returns what it has used; `None` if it still runs.
/// With `wait` it waits for the end.
pub fn reap(id: u32, wait: bool) -> io::Result<Option<Usage>> {
    let mut status = 0;
    let options = if wait { 0 } else { libc::WNOHANG };
    // SAFETY: rusage is plain data for which zeros are valid; the call writes to it and to the
    // status.
    let (ended, usage) = unsafe {
        let mut usage: libc::rusage = zeroed();
        (libc::wait4(id as libc::pid_t, &mut status, options, &mut usage), usage)
    };
    if Errno::result(ended)? == 0 {
        return Ok(None);
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ok(Some(Usage { cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime) }))
}

/// Takes ownership of a file descriptor that a call has just returned.
pub fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: the caller has it from the kernel and passes it to nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
