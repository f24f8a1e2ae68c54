//! A TUN interface in a host's namespace. It carries network-layer packets (layer 3) up to its MTU,
//! with valid checksums, and works without root.

use super::Port;
use crate::host::namespace::{control_socket, Namespace};
use crate::host::netlink;
use crate::sys;
use bentpipe_core::address::Plan;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::AddressFamily;
use nix::unistd::{read, write};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Number of packets that can wait in the kernel for the engine. The kernel's TCP sends a whole
/// window at once, and the kernel silently drops packets beyond this number.
const QUEUE: u32 = 131_072;
/// The maximum queue of kernels since 2026 (ERANGE otherwise; seen with Debian's 6.1.192).
const LIMITED_QUEUE: u32 = 32_767;

/// The configuration of an interface.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the interface in its namespace.
    pub name: String,
    /// Maximum size of a packet in bytes, from 1280 (RFC 8200, section 5) to 65 535.
    pub mtu: u32,
    /// IPv4 address of the interface, in a network of [`Plan::IPV4_PREFIX`].
    pub ipv4: Ipv4Addr,
    /// IPv6 address of the interface, in a network of [`Plan::IPV6_PREFIX`]; `None` for none.
    pub ipv6: Option<Ipv6Addr>,
    /// True if the interface is the default route.
    pub default_route: bool,
}

/// The engine's side of the interface.
pub struct Tun {
    file: File,
    /// The counter of packets that the host dropped because the queue was full.
    counters: File,
    name: String,
    /// Maximum length of a packet in bytes.
    mtu: usize,
}

impl Tun {
    /// Creates the interface in `namespace`.
    ///
    /// # Errors
    /// Returns an error if this machine has no TUN or does not allow its use, or if the namespace
    /// has an interface of that name.
    pub fn new(namespace: &Namespace, config: &Config) -> io::Result<Tun> {
        namespace.within(|| Tun::here(config))?
    }

    /// Creates the interface in this thread's namespace.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn here(config: &Config) -> io::Result<Tun> {
        let options = &mut OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let file = options.open("/dev/net/tun").map_err(|error| match error.kind() {
            // Returns the same error as for a device without its driver.
            io::ErrorKind::NotFound => io::Error::from_raw_os_error(libc::ENODEV),
            _ => error,
        })?;
        sys::attach_tun(file.as_fd(), &config.name)?;
        let socket = control_socket(AddressFamily::Inet)?;
        sys::set_ipv4(socket.as_fd(), &config.name, config.ipv4, Plan::IPV4_PREFIX)?;
        let index = if_nametoindex(config.name.as_str())?;
        netlink::set_queue(index, QUEUE).or_else(|error| match error.raw_os_error() {
            Some(libc::ERANGE) => netlink::set_queue(index, LIMITED_QUEUE),
            _ => Err(error),
        })?;
        sys::bring_up(socket.as_fd(), &config.name, config.mtu)?;
        // Some kernels are built without IPv6.
        if let (Some(ipv6), Ok(_)) = (config.ipv6, control_socket(AddressFamily::Inet6)) {
            netlink::set_ipv6(index, ipv6, Plan::IPV6_PREFIX)?;
            netlink::set_ipv6(index, link_local(ipv6), Plan::IPV6_PREFIX)?;
        }
        if config.default_route {
            sys::add_default_route(socket.as_fd(), &CString::new(config.name.as_str())?)?;
        }
        let counters = File::open("/proc/thread-self/net/dev")?;
        Ok(Tun { file, counters, name: config.name.clone(), mtu: config.mtu as usize })
    }
}

impl Tun {
    /// Returns a file to which packets for the host can be written.
    ///
    /// # Errors
    /// Returns an error if there are no more file descriptors.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// Returns the link-local address (fe80::/64) with the same interface identifier (RFC 4291, section
/// 2.5.6).
fn link_local(address: Ipv6Addr) -> Ipv6Addr {
    Ipv6Addr::from(0xfe80 << 112 | u128::from(address) & u128::from(u64::MAX))
}

impl Port for Tun {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match read(&self.file, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        match write(&self.file, packet) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM | Errno::EINVAL) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn longest_packet(&self) -> Option<usize> {
        Some(self.mtu)
    }

    fn lost(&self) -> u64 {
        dropped_by_host(&self.counters, &self.name).unwrap_or(0)
    }
}

/// Returns the column "drop" of the interface's transmit side in /proc/net/dev.
fn dropped_by_host(mut file: &File, name: &str) -> Option<u64> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_string(&mut text).ok()?;
    let mut interfaces = text.lines().filter_map(|line| line.split_once(':'));
    let (_, values) = interfaces.find(|(interface, _)| interface.trim() == name)?;
    values.split_whitespace().nth(11)?.parse().ok()
}
