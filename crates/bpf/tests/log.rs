//! Compares the log of the running kernel's connections with the kernel's own TCP_INFO.

mod common;

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use bentpipe_bpf::{register, Event, Kind, Log, Namespace, Row, Rows, Start};
use common::{
    connection, cookie, in_namespace, namespace, skips, start_losses, stop_losses, transfer,
    transfer_bytewise, Info,
};

fn here(tag: u32) -> [Namespace; 1] {
    [Namespace { inode: namespace(), tag }]
}

/// Returns all pending events of the log.
fn events(log: &mut Log) -> Vec<Event> {
    let mut events = Vec::new();
    while log.poll(Duration::ZERO, &mut |event| events.push(event.clone())).unwrap() > 0 {}
    events
}

fn acks(events: &[Event]) -> usize {
    events.iter().filter(|event| event.kind == Kind::Ack).count()
}

/// Returns the rows of the trace for one connection.
fn rows(events: &[Event], socket: u64) -> Vec<Row> {
    let mut rows = Rows::new();
    events.iter().filter(|event| event.socket == socket).filter_map(|event| rows.add(event)).collect()
}

/// Checks that the last row agrees with TCP_INFO, read after the last acknowledgment and before the
/// connection closed.
fn assert_agree(row: &Row, info: &Info) {
    assert_eq!(row.cwnd, info.snd_cwnd());
    assert_eq!(row.ssthresh.unwrap_or(0x7fff_ffff), info.snd_ssthresh());
    assert_eq!(row.retransmissions, info.total_retrans());
    // TCP_INFO counts the SYN.
    assert_eq!(row.acknowledged, info.bytes_acked() - 1);
    assert_eq!(row.sent, info.bytes_sent() - info.bytes_retrans());
    assert_eq!(row.srtt.unwrap() as u32, info.rtt());
    assert_eq!(row.rttvar.unwrap() as u32, info.rttvar());
    assert_eq!(row.rto, u64::from(info.rto()));
    assert_eq!(row.inflight, 0);
}

#[test]
fn every_acknowledgment_of_the_sender_is_one_event() {
    if skips() {
        return;
    }
    in_namespace(|| {
        let mut log = Log::start(&here(7)).unwrap();
        let (mut client, mut server) = connection("reno", None);
        transfer_bytewise(&mut client, &mut server, 5000);
        let info = Info::of(&client);
        let (local, remote, socket) =
            (client.local_addr().unwrap(), client.peer_addr().unwrap(), cookie(&client));
        drop((client, server));
        let events = events(&mut log);
        assert!(events.iter().all(|event| event.namespace == namespace() && event.tag == 7));
        assert!(events.windows(2).all(|pair| pair[0].time <= pair[1].time));
        let sender: Vec<_> = events.iter().filter(|event| event.socket == socket).cloned().collect();
        let mut ends = sender.iter().filter(|event| event.kind == Kind::Ack);
        assert!(ends.all(|event| event.local == local && event.remote == remote));
        // One of the received segments was the SYN-ACK.
        assert_eq!((acks(&sender), acks(&events)), (5000, 5000));
        assert_eq!(info.segs_in(), 5001);
        assert_agree(rows(&sender, socket).last().unwrap(), &info);
        assert_eq!(log.lost().unwrap(), 0);
    });
}

#[test]
fn rows_show_losses_time_outs_and_reno_s_response() {
    if skips() {
        return;
    }
    let reno =
        register("reno", &BTreeMap::new(), &Start { initial_window: Some(4), ..Start::default() }).unwrap();
    in_namespace(|| {
        let mut log = Log::start(&here(0)).unwrap();
        let (mut client, mut server) = connection(reno.name(), Some(1000));
        transfer(&mut client, &mut server, 3_000_000);
        start_losses(&server, u32::MAX / 50);
        transfer(&mut client, &mut server, 3_000_000);
        // All segments are lost until the first time-out.
        start_losses(&server, u32::MAX);
        let all = transfer_through_outage(&mut log, &mut client, &mut server);
        let info = Info::of(&client);
        let socket = cookie(&client);
        drop((client, server));
        let all = [all, events(&mut log)].concat();

        let rows = rows(&all, socket);
        assert_agree(rows.last().unwrap(), &info);
        assert!(rows.last().unwrap().retransmissions > 0);
        assert!(rows.last().unwrap().timeouts > 0);
        assert!(rows.iter().any(|row| row.ca_state == 3) && rows.iter().any(|row| row.ca_state == 4));
        let counts = |row: &Row| (row.acknowledged, row.sent, row.retransmissions, row.timeouts);
        for pair in rows.windows(2) {
            let (a, b) = (counts(&pair[0]), counts(&pair[1]));
            assert!(a.0 <= b.0 && a.1 <= b.1 && a.2 <= b.2 && a.3 <= b.3, "{pair:?}");
        }
        let first = all.iter().find(|event| event.kind == Kind::Ack).unwrap();
        assert_eq!(first.snd_cwnd, 4, "the initial window of the registration");
        let recoveries: Vec<_> = all.iter().filter(|event| event.kind == Kind::State(3)).collect();
        assert!(!recoveries.is_empty());
        for event in recoveries {
            assert_eq!(event.snd_ssthresh, (event.snd_cwnd / 2).max(2), "RFC 5681, equation 4");
        }
        let after_a_time_out = rows.windows(2).find(|pair| pair[1].timeouts > pair[0].timeouts).unwrap();
        assert_eq!((after_a_time_out[1].cwnd, after_a_time_out[1].rtt), (1, None));
        assert!(after_a_time_out[1].rto >= 2 * after_a_time_out[0].rto);
        // All samples are plausible.
        let samples: Vec<_> = rows.iter().filter_map(|row| row.rtt).collect();
        assert!(samples.len() > 100 && samples.iter().all(|&rtt| rtt > 0 && rtt < 10_000_000));
        assert_eq!(log.lost().unwrap(), 0);
    });
}

/// Transfers data over a path that loses every segment until a time-out appears in the log.
fn transfer_through_outage(log: &mut Log, client: &mut TcpStream, server: &mut TcpStream) -> Vec<Event> {
    let receiver = server.try_clone().unwrap();
    thread::scope(|scope| {
        let read = move || {
            let mut all = Vec::new();
            while !all.iter().any(|event: &Event| event.kind == Kind::State(4) && event.phase == 1) {
                log.poll(Duration::from_millis(10), &mut |event| all.push(event.clone())).unwrap();
            }
            stop_losses(&receiver);
            all
        };
        let reader = thread::Builder::new().spawn_scoped(scope, read).unwrap();
        transfer(client, server, 100_000);
        reader.join().unwrap()
    })
}

#[test]
fn connections_of_other_namespaces_are_not_logged() {
    if skips() {
        return;
    }
    in_namespace(|| {
        let mut log = Log::start(&here(0)).unwrap();
        in_namespace(|| {
            let (mut client, mut server) = connection("reno", None);
            transfer(&mut client, &mut server, 100_000);
        });
        assert_eq!(events(&mut log), []);
    });
}

#[test]
fn a_million_events_are_logged_without_loss() {
    if skips() {
        return;
    }
    in_namespace(|| {
        let mut log = Log::start(&here(0)).unwrap();
        const EVENTS: usize = 1_000_000;
        let (mut client, mut server) = connection("reno", None);
        let socket = cookie(&client);
        let mut rows = Rows::new();
        let mut last = None;
        let mut acks = 0;
        let mut take = |event: &Event| {
            acks += usize::from(event.kind == Kind::Ack);
            if let Some(row) = rows.add(event).filter(|row| row.socket == socket) {
                last = Some(row);
            }
        };
        thread::scope(|scope| {
            let work = || transfer_bytewise(&mut client, &mut server, EVENTS);
            let worker = thread::Builder::new().spawn_scoped(scope, work).unwrap();
            while !worker.is_finished() {
                log.poll(Duration::from_millis(1), &mut take).unwrap();
            }
        });
        let info = Info::of(&client);
        drop((client, server));
        while log.poll(Duration::ZERO, &mut take).unwrap() > 0 {}
        assert_eq!(log.lost().unwrap(), 0);
        assert_eq!((acks, info.segs_in()), (EVENTS, EVENTS as u32 + 1));
        assert_agree(&last.unwrap(), &info);
    });
}

#[test]
fn a_full_ring_counts_its_lost_events() {
    if skips() {
        return;
    }
    in_namespace(|| {
        let mut log = Log::with_ring(&here(0), 1 << 16).unwrap();
        let (mut client, mut server) = connection("reno", None);
        transfer_bytewise(&mut client, &mut server, 5000);
        let seen = events(&mut log);
        let lost = log.lost().unwrap();
        assert_eq!(seen.len(), (1 << 16) / 168, "the ring was full");
        assert_eq!(acks(&seen) + lost as usize, 5000);
    });
}
