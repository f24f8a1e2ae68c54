//! Observation of quinn's congestion control, which passes on each call to the observed one.

use bentpipe_core::Span;
use bentpipe_transport::statistics::SpanStatistics;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Values that acknowledgments and losses have shown.
#[derive(Debug, Default)]
pub struct Seen {
    /// Round-trip time of the packet that was acknowledged last.
    pub latest_rtt: Option<Span>,
    /// Statistics of round-trip times, one for each acknowledgment of new packets.
    pub rtt: SpanStatistics,
    /// Bytes in flight after the last acknowledgment.
    pub in_flight: u64,
}

/// The observations of a connection, which its congestion control and its end share.
#[derive(Clone, Debug, Default)]
pub struct Observations(Arc<Mutex<Seen>>);

impl Observations {
    /// Returns the observations.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A factory of observed congestion controls.
pub struct Observing {
    /// Factory of the observed congestion control.
    pub factory: Arc<dyn ControllerFactory + Send + Sync>,
    /// Observations of the connection.
    pub observations: Observations,
}

impl ControllerFactory for Observing {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let control = Arc::clone(&self.factory).build(now, mtu);
        Box::new(Observed { control, observations: self.observations.clone() })
    }
}

struct Observed {
    control: Box<dyn Controller>,
    observations: Observations,
}

impl Controller for Observed {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.observations.seen().in_flight += bytes;
        self.control.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        let latest = Span::from_nanos(now.duration_since(sent).as_nanos() as u64);
        self.observations.seen().latest_rtt = Some(latest);
        self.control.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let mut seen = self.observations.seen();
        seen.in_flight = in_flight;
        if let Some(latest) = seen.latest_rtt.filter(|_| largest.is_some()) {
            seen.rtt.add(latest);
        }
        drop(seen);
        self.control.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let mut seen = self.observations.seen();
        seen.in_flight = seen.in_flight.saturating_sub(lost_bytes);
        drop(seen);
        self.control.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.control.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.control.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.control.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Observed { control: self.control.clone_box(), observations: self.observations.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.control.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.control.into_any()
    }
}
