//! Load for `benchmarks/pep.py`: the two ends of connections, which use as little processor time as
//! possible, so that what lies between them is measured. For short connections each processor has
//! one thread, which waits for all of its connections at once.
//!
//!     bench_load serve PORT PORTS                         a server at each of PORTS ports
//!     bench_load short ADDRESS PORT PORTS COUNT AT_ONCE   COUNT connections, each a byte there and
//!     back, AT_ONCE at a time
//!     bench_load hold ADDRESS PORT PORTS COUNT            COUNT connections that stay until
//!     standard input ends
//!     bench_load bulk ADDRESS PORT PORTS SECONDS          one connection that carries as much as
//!     it can
//!
//! Prints JSON, one line.

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use slab::Slab;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The first byte of a connection, which names its kind.
const SHORT: u8 = b's';
const HOLD: u8 = b'h';
const BULK: u8 = b'b';
/// The same on every machine, and from the start: a connection that starts with BBR, the default of
/// some kernels, stays paced when it gets another control later, as by `iperf3 -C`.
const CONGESTION: &[u8] = b"cubic";
/// Bytes per read and write of bulk.
const PIECE: usize = 256 << 10;
const BACKLOG: i32 = 4096;
const EVENTS: usize = 256;
/// A client that receives nothing for so long gives up.
const PATIENCE: Duration = Duration::from_secs(30);

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_tcp_congestion(CONGESTION)?;
    Ok(socket)
}

fn waits(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::EINPROGRESS)
}

/// Calls `run` in a thread for each processor.
fn on_each_processor<T: Send>(run: impl Fn(usize) -> io::Result<T> + Sync) -> io::Result<Vec<T>> {
    let threads = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| run(threads))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread of ours does not panic")).collect()
    })
}

/// Serves at all ports, together with other threads that do the same (SO_REUSEPORT).
fn serve(port: u16, ports: u16) -> io::Result<()> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let mut listeners = Vec::new();
    for port in port..port + ports {
        let address = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let listener = socket(address)?;
        listener.set_reuse_address(true)?;
        listener.set_reuse_port(true)?;
        listener.bind(&SockAddr::from(address))?;
        listener.listen(BACKLOG)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, listeners.len() as u64))?;
        listeners.push(listener);
    }
    let mut streams: Slab<Socket> = Slab::new();
    let mut held = Vec::new();
    let mut keep = |kind: u8, stream: Socket| match kind {
        HOLD => held.push(stream),
        BULK => drop(thread::spawn(|| receive(stream))),
        _ => {}
    };
    let mut events = [EpollEvent::empty(); EVENTS];
    loop {
        let count = epoll.wait(&mut events, EpollTimeout::NONE)?;
        for event in &events[..count] {
            let token = event.data() as usize;
            let Some(listener) = listeners.get(token) else {
                let slot = token - listeners.len();
                match answer(&streams[slot]) {
                    Err(error) if waits(&error) => {}
                    Ok(kind) => keep(kind, streams.remove(slot)),
                    Err(_) => drop(streams.remove(slot)),
                }
                continue;
            };
            while let Ok((stream, _)) = listener.accept() {
                // Usually the byte is already there. A client that is gone matters only to itself.
                match answer(&stream) {
                    Err(error) if waits(&error) => {
                        let entry = streams.vacant_entry();
                        let token = (entry.key() + listeners.len()) as u64;
                        epoll.add(
                            &stream,
                            EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, token),
                        )?;
                        entry.insert(stream);
                    }
                    Ok(kind) => keep(kind, stream),
                    Err(_) => {}
                }
            }
        }
    }
}

/// Sends the first byte back and returns it.
fn answer(mut stream: &Socket) -> io::Result<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    stream.write_all(&byte)?;
    Ok(byte[0])
}

/// Receives everything, and sends the number of bytes to the sender.
fn receive(mut stream: Socket) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let (mut buffer, mut bytes) = (vec![0; PIECE], 0_u64);
    loop {
        match stream.read(&mut buffer)? {
            0 => return stream.write_all(&bytes.to_be_bytes()),
            more => bytes += more as u64,
        }
    }
}

/// A connection of `short`.
struct Short {
    socket: Socket,
    began: Instant,
    asked: bool,
}

impl Short {
    fn begin(address: SocketAddr) -> io::Result<Short> {
        let began = Instant::now();
        let socket = socket(address)?;
        match socket.connect(&SockAddr::from(address)) {
            Err(error) if !waits(&error) => Err(error),
            _ => Ok(Short { socket, began, asked: false }),
        }
    }

    /// Sends the request once the connection is open. Returns true if the answer has come.
    fn event(&mut self, flags: EpollFlags) -> io::Result<bool> {
        if flags.contains(EpollFlags::EPOLLERR) {
            return Err(self.socket.take_error()?.unwrap_or(io::ErrorKind::Other.into()));
        }
        if !self.asked && flags.contains(EpollFlags::EPOLLOUT) {
            self.asked = true;
            self.socket.write_all(&[SHORT])?;
        }
        if !flags.contains(EpollFlags::EPOLLIN) {
            return Ok(false);
        }
        let mut answer = [0];
        match self.socket.read_exact(&mut answer) {
            Err(error) if waits(&error) => Ok(false),
            Err(error) => Err(error),
            Ok(()) if answer == [SHORT] => Ok(true),
            Ok(()) => Err(io::Error::other("another byte came back")),
        }
    }
}

/// Makes connections until `next` reaches `count`. Returns the durations of the successful ones in
/// microseconds.
fn short(addresses: &[SocketAddr], next: &AtomicU64, count: u64, at_once: usize) -> io::Result<Vec<u64>> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let mut open: Slab<Short> = Slab::new();
    let mut times = Vec::new();
    let mut events = [EpollEvent::empty(); EVENTS];
    let all = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
    loop {
        while open.len() < at_once {
            let number = next.fetch_add(1, Relaxed);
            if number >= count {
                break;
            }
            if let Ok(short) = Short::begin(addresses[number as usize % addresses.len()]) {
                let entry = open.vacant_entry();
                epoll.add(&short.socket, EpollEvent::new(all, entry.key() as u64))?;
                entry.insert(short);
            }
        }
        if open.is_empty() {
            return Ok(times);
        }
        let ready = epoll.wait(&mut events, EpollTimeout::try_from(PATIENCE).expect("a minute at most"))?;
        if ready == 0 {
            return Ok(times);
        }
        for event in &events[..ready] {
            let slot = event.data() as usize;
            match open[slot].event(event.events()) {
                Ok(false) => {}
                Ok(true) => times.push(open.remove(slot).began.elapsed().as_micros() as u64),
                Err(_) => drop(open.remove(slot)),
            }
        }
    }
}

fn measure(addresses: &[SocketAddr], count: u64, at_once: usize) -> io::Result<()> {
    let next = AtomicU64::new(0);
    let began = Instant::now();
    let times = on_each_processor(|threads| short(addresses, &next, count, at_once.div_ceil(threads)))?;
    let seconds = began.elapsed().as_secs_f64();
    let mut times = times.concat();
    times.sort_unstable();
    let of = |part: f64| times.get((times.len().saturating_sub(1) as f64 * part) as usize).unwrap_or(&0);
    println!(
        "{{\"connections\": {count}, \"failed\": {}, \"seconds\": {seconds}, \"per_second\": {}, \"p50_us\": {}, \
         \"p99_us\": {}}}",
        count - times.len() as u64,
        times.len() as f64 / seconds,
        of(0.5),
        of(0.99)
    );
    Ok(())
}

fn ask(address: SocketAddr, kind: u8) -> io::Result<TcpStream> {
    let socket = socket(address)?;
    socket.set_nonblocking(false)?;
    socket.connect(&SockAddr::from(address))?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&[kind])?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    match answer == [kind] {
        true => Ok(stream),
        false => Err(io::Error::other("another byte came back")),
    }
}

fn hold(addresses: &[SocketAddr], count: usize) -> io::Result<()> {
    let held: Vec<_> =
        addresses.iter().cycle().take(count).map(|&address| ask(address, HOLD)).collect::<io::Result<_>>()?;
    println!("{{\"held\": {}}}", held.len());
    let _ = io::stdin().read(&mut [0]);
    Ok(())
}

fn bulk(address: SocketAddr, seconds: u64) -> io::Result<()> {
    let mut stream = ask(address, BULK)?;
    let (began, piece) = (Instant::now(), vec![0; PIECE]);
    while began.elapsed().as_secs() < seconds {
        stream.write_all(&piece)?;
    }
    stream.shutdown(Shutdown::Write)?;
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    let (bytes, seconds) = (u64::from_be_bytes(bytes), began.elapsed().as_secs_f64());
    println!("{{\"bytes\": {bytes}, \"seconds\": {seconds}, \"gbps\": {}}}", bytes as f64 * 8e-9 / seconds);
    Ok(())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words[at].parse::<usize>().expect("a number");
    let addresses = || -> io::Result<Vec<SocketAddr>> {
        let port = number(2) as u16;
        (port..port + number(3) as u16)
            .map(|port| {
                (words[1].as_str(), port).to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound.into())
            })
            .collect()
    };
    match words.first().map(String::as_str) {
        Some("serve") => {
            println!("{{\"serving\": {}}}", number(2));
            on_each_processor(|_| serve(number(1) as u16, number(2) as u16)).map(drop)
        }
        Some("short") => measure(&addresses()?, number(4) as u64, number(5)),
        Some("hold") => hold(&addresses()?, number(4)),
        Some("bulk") => bulk(addresses()?[0], number(4) as u64),
        _ => Err(io::Error::other("serve, short, hold or bulk: see the head of the file")),
    }
}
