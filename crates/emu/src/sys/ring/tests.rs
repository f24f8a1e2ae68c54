use super::*;
use crate::clock::{monotonic, sleep_until};
use crate::sys::rooms::ROOMS;
use nix::sys::socket::{socketpair, AddressFamily, SockFlag, SockType};
use nix::unistd::{read, write};
use std::os::fd::AsFd;

/// Maximum length of a packet in these tests, in bytes.
const ROOM: usize = 9000;

/// Runs a test with a ring, and with the other ends of two files: one whose packets the ring reads,
/// and one that it polls.
fn with_ring(test: impl FnOnce(&mut Ring, &std::os::fd::OwnedFd, &std::os::fd::OwnedFd)) {
    let mut ring = match Ring::new(ROOM) {
        Ok(ring) => ring,
        Err(error) => return bentpipe_testing::skipped(format!("this kernel has no such io_uring: {error}")),
    };
    let pair = || {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        socketpair(AddressFamily::Unix, SockType::Datagram, None, flags).expect("there are files")
    };
    let ((ours, theirs), (polled, other)) = (pair(), pair());
    ring.watch(ours.as_fd(), 7, true);
    ring.watch(polled.as_fd(), 8, false);
    test(&mut ring, &theirs, &other);
    drop(ring);
}

fn ready(ring: &mut Ring) -> Vec<u64> {
    let mut numbers = Vec::new();
    ring.take_ready(&mut numbers);
    numbers
}

#[test]
fn packets_keep_their_order_also_if_they_exceed_the_rooms() {
    with_ring(|ring, theirs, _| {
        let mut room = [0; ROOM];
        for packet in 0..3_u8 {
            ring.write(0, vec![packet; 2048].into_boxed_slice(), 100 + usize::from(packet)).unwrap();
        }
        ring.flush().unwrap();
        for packet in 0..3_u8 {
            assert_eq!(read(theirs, &mut room).unwrap(), 100 + usize::from(packet));
            assert_eq!(room[0], packet);
            assert_eq!(ring.take_written().map(|buffer| buffer.len()), Some(2048));
        }
        let (mut sent, mut taken) = (0_u32, 0_u32);
        while taken < 3 * u32::from(ROOMS) {
            while write(theirs, &sent.to_ne_bytes()).is_ok() {
                sent += 1;
            }
            assert!(ring.wait(None).unwrap().came);
            assert_eq!(ready(ring), [7]);
            while let Some(size) = ring.read(0, &mut room) {
                assert_eq!(room[..size], taken.to_ne_bytes());
                taken += 1;
            }
        }
    });
}

#[test]
fn data_of_any_length_is_discarded_with_the_wait() {
    use std::io::Write;
    with_ring(|ring, theirs, _| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        receiver.set_nonblocking(true).unwrap();
        // Discarding without data neither ends the wait nor counts.
        ring.discard(receiver.as_raw_fd());
        let at = monotonic() + 1_000_000;
        assert!(ring.wait(Some(at)).unwrap().expired && monotonic() >= at);
        assert_eq!(ring.take_discarded(), None);
        let sent = 3 * CHUNK + 5;
        let all = move || {
            sender.write_all(&vec![1; sent]).unwrap();
            sender
        };
        let thread = std::thread::Builder::new().spawn(all).unwrap();
        let mut discarded = 0;
        while discarded < sent {
            ring.discard(receiver.as_raw_fd());
            ring.discard(receiver.as_raw_fd());
            ring.wait(Some(monotonic() + 1_000_000)).unwrap();
            while let Some((socket, bytes)) = ring.take_discarded() {
                assert_eq!(socket, receiver.as_raw_fd());
                discarded += bytes;
            }
        }
        assert_eq!(discarded, sent);
        drop(thread.join().unwrap());
        // An arriving packet ends the wait together with the discarded data.
        write(theirs, b"yes").unwrap();
        ring.discard(receiver.as_raw_fd());
        assert!(ring.wait(None).unwrap().came);
        assert_eq!(ring.take_discarded(), None);
        assert_eq!(ready(ring), [7]);
    });
}

#[test]
fn events_of_own_writes_are_distinguished_from_later_events() {
    with_ring(|ring, theirs, _| {
        ring.watch(theirs.as_fd(), 9, true);
        let far = Some(monotonic() + 1_000_000_000_000);
        for _ in 0..3 {
            ring.write(0, vec![1; 8].into_boxed_slice(), 8).unwrap();
            let turn = ring.wait(far).unwrap();
            assert!(turn.came && turn.at_once && !turn.expired);
            assert_eq!((ready(ring), ring.read(2, &mut [0; ROOM])), (vec![9], Some(8)));
        }
        // The other end of the polled file answers in another thread when it has received the
        // packet.
        let (own, answering) = std::os::unix::net::UnixDatagram::pair().unwrap();
        ring.watch(own.as_fd(), 10, true);
        let answer = move || {
            let size = answering.recv(&mut [0; 8]).unwrap();
            sleep_until(monotonic() + 30_000_000);
            answering.send(&[2; 4]).unwrap();
            size
        };
        let thread = std::thread::Builder::new().spawn(answer).unwrap();
        ring.write(3, vec![1; 8].into_boxed_slice(), 8).unwrap();
        let turn = ring.wait(far).unwrap();
        assert!(turn.came && !turn.at_once);
        assert_eq!((ready(ring), ring.read(3, &mut [0; ROOM])), (vec![10], Some(4)));
        assert_eq!(thread.join().unwrap(), 8);
        // Without a write, the arrival cannot be caused by one.
        write(theirs, b"yes").unwrap();
        let turn = ring.wait(far).unwrap();
        assert!(turn.came && !turn.at_once);
    });
}

#[test]
fn the_ring_waits_for_the_alarm_packets_and_files() {
    with_ring(|ring, theirs, other| {
        let at = monotonic() + 3_000_000;
        let turn = ring.wait(Some(at)).unwrap();
        assert!(turn.expired && !turn.came && monotonic() >= at);
        // The alarm is set later, then sooner, and then removed.
        write(other, b"x").unwrap();
        let turn = ring.wait(Some(at + 1_000_000_000_000)).unwrap();
        assert!(turn.came && !turn.expired);
        assert_eq!(ready(ring), [8]);
        // Nothing has read the packet, so it is still pending.
        assert!(ring.wait(Some(at + 500_000_000_000)).unwrap().came);
        assert_eq!(ready(ring), [8]);
        write(theirs, b"yes").unwrap();
        assert!(ring.wait(None).unwrap().came);
        let mut numbers = ready(ring);
        numbers.sort_unstable();
        assert_eq!(numbers, [7, 8]);
        assert_eq!(ring.read(0, &mut [0; ROOM]), Some(3));
    });
}

/// Returns a socket that receives its own packets, like a host that answers each packet
/// immediately.
fn echo() -> std::os::unix::net::UnixDatagram {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("bentpipe-ring-{}-{number}", std::process::id());
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    socket.connect_addr(&address).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

#[test]
fn deferred_answers_do_not_end_the_wait() {
    with_ring(|ring, theirs, _| {
        let (host, asked) = (echo(), echo());
        ring.watch(host.as_fd(), 9, true);
        let packet = |length: usize| vec![length as u8; 64].into_boxed_slice();
        let mut room = [0; ROOM];
        // There are more rounds than rooms, so rooms that were taken without a result must be
        // freed.
        for round in 0..2 * usize::from(ROOMS) {
            let length = 1 + round % 60;
            let at = monotonic() + 20_000;
            let question = format!("what about {round}?");
            let question = (round % 2 == 0).then_some((asked.as_raw_fd(), question.as_bytes()));
            ring.write_and_put_off(2, packet(length), length, question).unwrap();
            let turn = ring.wait(Some(at)).unwrap();
            assert!(turn.expired && !turn.came && monotonic() >= at, "{turn:?}");
            assert!(ready(ring).is_empty());
            assert_eq!(ring.take_answer(), question.map(|(_, question)| question));
            assert_eq!((ring.read_answer(&mut room), room[0]), (Some(length), length as u8));
            assert_eq!(ring.read_answer(&mut room), None);
            assert!(ring.take_written().is_some());
        }
        let far = Some(monotonic() + 1_000_000_000_000);
        // One answer more than before ends the wait at the moment of the write. Afterwards that
        // number of answers is deferred.
        for round in 0..3 {
            ring.write(2, packet(7), 7).unwrap();
            ring.write_and_put_off(2, packet(8), 8, None).unwrap();
            let alarm = if round == 0 { far } else { Some(monotonic() + 20_000) };
            let turn = ring.wait(alarm).unwrap();
            assert_eq!((turn.came, turn.expired), (round == 0, round > 0), "{turn:?}");
            assert!(turn.at_once || round > 0);
            assert_eq!(ring.read_answer(&mut room), Some(7));
            let second = if round == 0 { ring.read(2, &mut room) } else { ring.read_answer(&mut room) };
            assert_eq!(second, Some(8));
        }
        // Packets from other files end the wait, and so do later packets from the same file.
        ring.write_and_put_off(2, packet(5), 5, None).unwrap();
        write(theirs, b"yes").unwrap();
        assert!(ring.wait(far).unwrap().came);
        assert_eq!(
            (ready(ring), ring.read(0, &mut room), ring.read_answer(&mut room)),
            (vec![7], Some(3), Some(5))
        );
        let later = host.try_clone().unwrap();
        let send = move || {
            sleep_until(monotonic() + 20_000_000);
            later.send(&[3; 3]).unwrap()
        };
        ring.write_and_put_off(2, packet(5), 5, None).unwrap();
        let thread = std::thread::Builder::new().spawn(send).unwrap();
        let turn = ring.wait(far).unwrap();
        assert!(turn.came && !turn.at_once);
        assert_eq!((ring.read_answer(&mut room), ring.read(2, &mut room)), (Some(5), Some(3)));
        assert_eq!(thread.join().unwrap(), 3);
        // Deferred answers are also available without a wait, and can become ordinary packets.
        ring.write_and_put_off(2, packet(6), 6, None).unwrap();
        ring.flush().unwrap();
        ring.return_answers(2);
        assert_eq!(
            (ring.read_answer(&mut room), ready(ring), ring.read(2, &mut room)),
            (None, vec![9], Some(6))
        );
    });
}
