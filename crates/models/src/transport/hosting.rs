//! What endpoints of all transports share: where they stand, and the application that they host.

use super::flow::{DestinationCounters, SourceCounters};
use crate::app::{Actions, App, End, Event};
use bentpipe_core::{FlowId, NodeId, Report, Stream, Time};

/// One end of a flow: where it stands and what it is called.
#[derive(Clone, Debug)]
pub struct Site {
    /// The flow.
    pub flow: FlowId,
    /// The flow's name, for results.
    pub name: String,
    /// The node of this end.
    pub node: NodeId,
    /// The node of the other end.
    pub peer: NodeId,
    /// Which end this is.
    pub end: End,
    /// When the application starts (at the source).
    pub start: Time,
    /// DSCP of all packets of the flow.
    pub dscp: u8,
    /// The interface under which packets are captured, if they are.
    pub capture: Option<u32>,
}

impl Site {
    /// The name of the direction that comes in here: the flow's own at its destination.
    pub fn incoming(&self) -> String {
        match self.end {
            End::Source => format!("{}.reverse", self.name),
            End::Destination => self.name.clone(),
        }
    }

    /// Writes the rows of what this end sent and received. The flow's own rows describe the direction from
    /// source to destination; when data flows the other way too, its rows carry the name `NAME.reverse`.
    pub fn report(&self, sent: &SourceCounters, received: &DestinationCounters, report: &mut Report) {
        let reverse = || format!("{}.reverse", self.name);
        match self.end {
            End::Source => {
                sent.report(&self.name, report);
                if received.delivered_packets > 0 {
                    received.report(&reverse(), report);
                }
            }
            End::Destination => {
                received.report(&self.name, report);
                if sent.sent_packets > 0 {
                    sent.report(&reverse(), report);
                }
            }
        }
    }
}

/// An application, its random stream and its timer.
pub struct Hosted {
    app: Box<dyn App>,
    stream: Stream,
    /// When the application starts; `Time::MAX` afterwards and at a destination.
    start: Time,
    /// When its timer expires; `Time::MAX` for never.
    timer: Time,
}

impl Hosted {
    /// An application that starts when its site says.
    pub fn new(site: &Site, app: Box<dyn App>, stream: Stream) -> Hosted {
        let start = if site.end == End::Source { site.start } else { Time::MAX };
        Hosted { app, stream, start, timer: Time::MAX }
    }

    /// When to ask [`Hosted::due`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.start.min(self.timer)
    }

    /// What has come due by `now`, the start before the timer; one at a time.
    pub fn due(&mut self, now: Time) -> Option<Event> {
        if self.start <= now {
            self.start = Time::MAX;
            Some(Event::Start)
        } else if self.timer <= now {
            self.timer = Time::MAX;
            Some(Event::Timer)
        } else {
            None
        }
    }

    /// Tells the application and returns what it asks for; the timer is already set.
    #[inline]
    pub fn on(&mut self, now: Time, event: Event) -> Actions {
        let mut actions = Actions::default();
        self.app.on(now, event, &mut self.stream, &mut actions);
        if let Some(timer) = actions.timer {
            self.timer = timer.max(now);
        }
        actions
    }
}
