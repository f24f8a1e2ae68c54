//! The TFRC header of a packet.

use bentpipe_core::{Span, Time};
use bentpipe_stage::packet::quick_start::QuickStart;
use bentpipe_stage::{Content, Payload};
use std::sync::Arc;

/// TFRC header (RFC 5348, section 3.2) of a data packet, whose sequence number is
/// [`Packet::number`], or of a report.
#[derive(Clone, Debug)]
pub struct Tfrc {
    /// Time of transmission, which may be later than the hand-over of the payload.
    pub sent: Time,
    /// The sender's round-trip time; zero before the first sample.
    pub rtt: Span,
    /// The receiver's report, in packets of feedback.
    pub feedback: Option<TfrcFeedback>,
    /// Quick-Start request to the path.
    pub quick_start: Option<QuickStart>,
}

/// A receiver's report (RFC 5348, section 3.2.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TfrcFeedback {
    /// Transmission time of the last packet (t_recvdata).
    pub echo: Time,
    /// Time between the arrival of that packet and the sending of this report (t_delay).
    pub delay: Span,
    /// X_recv in bytes per second.
    pub receive_rate: f64,
    /// Loss event rate estimated by the receiver (p), 0 to 1.
    pub loss_event_rate: f64,
    /// Rate granted by the path to a request, in bit/s (a Quick-Start response).
    pub granted: Option<u64>,
}

impl Payload for Tfrc {
    fn content(&self) -> Content {
        match self.feedback {
            None => Content::Data,
            Some(_) => Content::Feedback,
        }
    }

    fn quick_start(&self) -> Option<QuickStart> {
        self.quick_start
    }

    fn with_quick_start(&self, request: QuickStart) -> Arc<dyn Payload> {
        Arc::new(Tfrc { quick_start: Some(request), ..self.clone() })
    }
}
