//! Counters of a proxy, and its answers to HTTP requests for them, in Prometheus' text format
//! 0.0.4.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A number that one worker changes and others read.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds one to the count.
    pub fn up(&self) {
        self.add(1);
    }

    /// Subtracts one from the count.
    pub fn down(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    /// Sets the value to `number`.
    pub fn set(&self, number: u64) {
        self.0.store(number, Relaxed);
    }

    /// Adds `number` to the count.
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Relaxed);
    }

    /// Returns the value of the count.
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! counts {
    ($($name:ident $kind:literal $labels:literal $help:literal;)*) => {
        /// The counters of one worker.
        #[derive(Default)]
        pub struct Counts { $(#[doc = $help] pub $name: Count,)* }

        /// Name, type, labels, help, and the function that returns a worker's number.
        const METRICS: &[(&str, &str, &str, &str, fn(&Counts) -> u64)] =
            &[$((metric(stringify!($name), $labels), $kind, $labels, $help, |counts| counts.$name.value()),)*];
    };
}

counts! {
    connections "gauge" "" "Connections whose two ends are there.";
    handshakes "gauge" "" "Connections whose server has not answered or whose client has not finished its handshake.";
    pipes "gauge" "" "Pipes, of two descriptors each.";
    accepted "counter" "" "Connections of which both ends came to be there.";
    closed "counter" "" "Connections that both ends closed.";
    reset "counter" "" "Connections that one end reset or lost.";
    idle "counter" "" "Connections reset as they were idle.";
    bytes_up "counter" "direction=\"up\"" "Bytes given to the sink.";
    bytes_down "counter" "direction=\"down\"" "Bytes given to the sink.";
    failed_refused "counter" "reason=\"refused\"" "Connections that servers did not accept.";
    failed_unreachable "counter" "reason=\"unreachable\"" "Connections that servers did not accept.";
    failed_timeout "counter" "reason=\"timeout\"" "Connections that servers did not accept.";
    failed_client "counter" "reason=\"client\"" "Connections that servers did not accept.";
    failed_address "counter" "reason=\"address\"" "Connections that servers did not accept.";
    failed_other "counter" "reason=\"other\"" "Connections that servers did not accept.";
    passed "counter" "" "Connections that passed by the proxy, as it was full.";
    unheld "counter" "" "SYNs whose handshake was completed at once, as too many were kept back.";
    unseen "counter" "" "Times that SYNs were lost, as more came than there was room for.";
}

/// Returns the name of a metric that several counts share.
const fn metric(name: &'static str, labels: &'static str) -> &'static str {
    match labels.as_bytes() {
        [] => name,
        [b'd', ..] => "bytes",
        _ => "failed",
    }
}

/// Formats the sums over all workers for Prometheus.
pub fn text(workers: &[&Counts]) -> String {
    let mut text = String::new();
    let mut last = "";
    for (name, kind, labels, help, value) in METRICS {
        let total = if *kind == "counter" { "_total" } else { "" };
        if *name != last {
            let _ = writeln!(text, "# HELP bentpipe_pep_{name}{total} {help}");
            let _ = writeln!(text, "# TYPE bentpipe_pep_{name}{total} {kind}");
            last = name;
        }
        let sum: u64 = workers.iter().map(|counts| value(counts)).sum();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(text, "bentpipe_pep_{name}{total}{labels} {sum}");
    }
    text
}

/// Answers the requests of all clients that have connected.
pub fn answer(listener: &TcpListener, workers: &[&Counts]) {
    while let Ok((stream, _)) = listener.accept() {
        // A client that has gone away is no error.
        let _ = answer_one(stream, workers);
    }
}

fn answer_one(mut stream: TcpStream, workers: &[&Counts]) -> io::Result<()> {
    // At most about a second, since one thread answers all clients.
    let until = Instant::now() + Duration::from_millis(500);
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(Duration::from_millis(500)))?;
    let mut request = [0; 2048];
    let mut length = 0;
    while !request[..length].windows(4).any(|end| end == b"\r\n\r\n") && length < request.len() {
        let left = until.saturating_duration_since(Instant::now());
        // Zero would be no limit.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut request[length..])? {
            0 => break,
            more => length += more,
        }
    }
    let found = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ");
    let (status, body) =
        if found { ("200 OK", text(workers)) } else { ("404 Not Found", "only /metrics\n".to_owned()) };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_sums_over_workers_with_one_header_each() {
        let (one, two) = (Counts::default(), Counts::default());
        one.bytes_up.add(3);
        two.bytes_up.add(4);
        one.connections.up();
        let text = text(&[&one, &two]);
        assert!(text.contains("bentpipe_pep_bytes_total{direction=\"up\"} 7\n"));
        assert!(text.contains("# TYPE bentpipe_pep_connections gauge\nbentpipe_pep_connections 1\n"));
        let heads: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        let mut different = heads.clone();
        different.dedup();
        assert_eq!(heads, different);
        assert_eq!(text.lines().filter(|line| line.contains("failed_total{")).count(), 6);
    }
}
