//! Test helpers: a network namespace, and sockets with the required options.

#![allow(unsafe_code, dead_code)]

use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::thread;

use bentpipe_bpf::available;
use bentpipe_testing::skipped;

/// Returns true if the test must be skipped because BPF cannot be used, and reports the reason.
pub fn skips() -> bool {
    match available() {
        Ok(()) => false,
        Err(reason) => {
            skipped(reason);
            true
        }
    }
}

/// Runs `test` in a new network namespace with loopback up. Packets have at most 1500 bytes and are
/// not merged into larger ones, so that each is acknowledged as on a real link.
pub fn in_namespace<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let inside = move || {
            // SAFETY: changes only the namespace of this thread, which runs nothing but `test`.
            check(unsafe { libc::unshare(libc::CLONE_NEWNET) });
            loopback_up();
            test()
        };
        let thread = thread::Builder::new().spawn_scoped(scope, inside).unwrap();
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns the inode number of this thread's network namespace.
pub fn namespace() -> u32 {
    std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino().try_into().unwrap()
}

fn loopback_up() {
    // From include/uapi/linux/ethtool.h: switches for segmentation offload to the device (TSO) and
    // for generic segmentation offload (GSO).
    const ETHTOOL_STSO: u32 = 0x1f;
    const ETHTOOL_SGSO: u32 = 0x24;
    let socket = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    // SAFETY: a structure of numbers, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_mtu = 1500;
    // SAFETY: the call expects this type of request.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFMTU, &request) });
    for feature in [ETHTOOL_STSO, ETHTOOL_SGSO] {
        let mut off = [feature, 0_u32];
        request.ifr_ifru.ifru_data = off.as_mut_ptr().cast();
        // SAFETY: `off` is a struct ethtool_value that outlives the call.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &request) });
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: as above.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) });
}

/// Returns the client and the server of a connection over loopback. The client uses the given
/// congestion control, with segments of at most `segment` bytes. The server's buffer is so large
/// that its window never closes.
pub fn connection(congestion: &str, segment: Option<i32>) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    set_number(&listener, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 1 << 26);
    // SAFETY: creates a descriptor, owned by the next statement.
    let socket = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) });
    // SAFETY: the descriptor has just been created and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    set(&socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, congestion.as_bytes());
    set_number(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 1 << 28);
    if let Some(segment) = segment {
        set_number(&socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, segment);
    }
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: listener.local_addr().unwrap().port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: `address` has the given length.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) });
    (TcpStream::from(socket), listener.accept().unwrap().0)
}

/// Sends `bytes` bytes from one end to the other, waits until all are acknowledged, and reads them.
/// The buffers hold all of them. The receiver does not read during the transfer, because the kernel
/// merges segments that arrive while a program uses the socket.
pub fn transfer(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    let mut block = vec![0; bytes];
    from.write_all(&block).unwrap();
    while unacknowledged(from) > 0 {
        // SAFETY: waits for a millisecond, for no descriptor.
        check(unsafe { libc::poll(std::ptr::null_mut(), 0, 1) });
    }
    to.read_exact(&mut block).unwrap();
}

/// Sends `bytes` bytes one at a time. A separate segment acknowledges each byte before the next is
/// sent.
pub fn transfer_bytewise(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    from.set_nodelay(true).unwrap();
    for _ in 0..bytes {
        from.write_all(&[0]).unwrap();
        to.read_exact(&mut [0]).unwrap();
        // The kernel acknowledges a small segment once the program has read it.
        while unacknowledged(from) > 0 {
            set_number(to, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1);
            std::thread::yield_now();
        }
    }
}

/// Returns the name of a socket's congestion control.
pub fn congestion(socket: &TcpStream) -> String {
    let name: [u8; 16] = get(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap().to_owned()
}

/// Returns the number that identifies a socket in the log.
pub fn cookie(socket: &TcpStream) -> u64 {
    u64::from_ne_bytes(get(socket, libc::SOL_SOCKET, libc::SO_COOKIE))
}

/// Attaches a socket filter that drops incoming segments at random before TCP sees them. The loss
/// probability is `share` / 2^32.
pub fn start_losses(socket: &TcpStream, share: u32) {
    const RANDOM: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM) as u32;
    let code = |class, size, mode| (class | size | mode) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(code(libc::BPF_LD, libc::BPF_W, libc::BPF_ABS), 0, 0, RANDOM),
        step(code(libc::BPF_JMP, libc::BPF_JGE, libc::BPF_K), 0, 1, share),
        step(code(libc::BPF_RET, libc::BPF_K, 0), 0, 0, u32::MAX),
        step(code(libc::BPF_RET, libc::BPF_K, 0), 0, 0, 0),
    ];
    let program = libc::sock_fprog { len: 4, filter: steps.as_mut_ptr() };
    let length = size_of_val(&program) as libc::socklen_t;
    let at = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: the kernel copies the program during the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), at.0, at.1, (&raw const program).cast(), length) });
}

/// Detaches the filter of [`start_losses`] from this socket.
pub fn stop_losses(socket: &TcpStream) {
    set_number(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0);
}

/// The contents of TCP_INFO (struct tcp_info of include/uapi/linux/tcp.h).
pub struct Info([u8; 232]);

impl Info {
    pub fn of(socket: &TcpStream) -> Info {
        Info(get(socket, libc::IPPROTO_TCP, libc::TCP_INFO))
    }

    pub fn rto(&self) -> u32 {
        self.u32(8)
    }

    pub fn rtt(&self) -> u32 {
        self.u32(68)
    }

    pub fn rttvar(&self) -> u32 {
        self.u32(72)
    }

    pub fn snd_ssthresh(&self) -> u32 {
        self.u32(76)
    }

    pub fn snd_cwnd(&self) -> u32 {
        self.u32(80)
    }

    pub fn total_retrans(&self) -> u32 {
        self.u32(100)
    }

    pub fn bytes_acked(&self) -> u64 {
        self.u64(120)
    }

    pub fn segs_in(&self) -> u32 {
        self.u32(140)
    }

    pub fn bytes_sent(&self) -> u64 {
        self.u64(200)
    }

    pub fn bytes_retrans(&self) -> u64 {
        self.u64(208)
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().unwrap())
    }
}

fn unacknowledged(socket: &TcpStream) -> i32 {
    let mut bytes = 0;
    // SAFETY: the call writes an int.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) });
    bytes
}

fn set(socket: &impl AsRawFd, level: i32, option: i32, value: &[u8]) {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length) });
}

fn set_number(socket: &impl AsRawFd, level: i32, option: i32, value: i32) {
    set(socket, level, option, &value.to_ne_bytes());
}

fn get<const N: usize>(socket: &impl AsRawFd, level: i32, option: i32) -> [u8; N] {
    let mut value = [0; N];
    let mut length = N as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &mut length)
    });
    value
}

fn check(result: i32) -> i32 {
    assert!(result >= 0, "{}", io::Error::last_os_error());
    result
}
