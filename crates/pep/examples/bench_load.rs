//! Load for `benches/pep.py`: the two ends of many connections.
//!
//!     bench_load serve PORT PORTS                        servers at PORTS ports
//!     bench_load short ADDRESS PORT PORTS COUNT THREADS   COUNT connections, each a byte there and back, as fast as it goes
//!     bench_load hold ADDRESS PORT PORTS COUNT            COUNT connections that stay until standard input ends
//!
//! Prints JSON, one line.

use std::io::{self, Read, Write};
use std::net::{Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The first byte of a connection says whether it stays.
const SHORT: u8 = b's';
const HOLD: u8 = b'h';

fn serve(port: u16, ports: u16) -> io::Result<()> {
    let mut threads = Vec::new();
    for port in port..port + ports {
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))?;
        for _ in 0..4 {
            let listener = listener.try_clone()?;
            threads.push(thread::spawn(move || {
                let mut held = Vec::new();
                for stream in listener.incoming() {
                    // A client that is gone is the client's matter.
                    let Ok(stream) = stream else { continue };
                    if let Ok(true) = answer(&stream) {
                        held.push(stream);
                    }
                }
            }));
        }
    }
    println!("{{\"serving\": {}}}", threads.len());
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Ok(())
}

fn answer(mut stream: &TcpStream) -> io::Result<bool> {
    let mut byte = [0];
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.read_exact(&mut byte)?;
    stream.write_all(&byte)?;
    Ok(byte == [HOLD])
}

fn ask(address: &str, port: u16, kind: u8) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect((address, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(&[kind])?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    match answer == [kind] {
        true => Ok(stream),
        false => Err(io::Error::other("another byte came back")),
    }
}

fn short(address: &str, port: u16, ports: u16, count: u64, threads: u64) {
    let (next, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    let mut times: Vec<u64> = thread::scope(|scope| {
        let run = || {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= count {
                    return times;
                }
                let began = Instant::now();
                let done = ask(address, port + (number % u64::from(ports)) as u16, SHORT)
                    .and_then(|stream| stream.shutdown(Shutdown::Write));
                times.push(began.elapsed().as_micros() as u64);
                if done.is_err() {
                    failed.fetch_add(1, Relaxed);
                }
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a thread of ours does not panic"))
            .collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let of = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "{{\"connections\": {count}, \"failed\": {}, \"seconds\": {seconds}, \"per_second\": {}, \"p50_us\": {}, \
         \"p99_us\": {}}}",
        failed.load(Relaxed),
        count as f64 / seconds,
        of(0.5),
        of(0.99)
    );
}

fn hold(address: &str, port: u16, ports: u16, count: u64) -> io::Result<()> {
    let mut held = Vec::new();
    for number in 0..count {
        held.push(ask(address, port + (number % u64::from(ports)) as u16, HOLD)?);
    }
    println!("{{\"held\": {count}}}");
    let _ = io::stdin().read(&mut [0]);
    Ok(())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words[at].parse::<u64>().expect("a number");
    match words.first().map(String::as_str) {
        Some("serve") => serve(number(1) as u16, number(2) as u16),
        Some("short") => {
            short(&words[1], number(2) as u16, number(3) as u16, number(4), number(5));
            Ok(())
        }
        Some("hold") => hold(&words[1], number(2) as u16, number(3) as u16, number(4)),
        _ => Err(io::Error::other("serve, short or hold: see the head of the file")),
    }
}
