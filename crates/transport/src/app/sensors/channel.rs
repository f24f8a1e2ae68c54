//! Errors of the motes' radio channel.

use bentpipe_core::{Stream, Streams, Time};
use bentpipe_link::channel::{Config, Errors};
use bentpipe_sensors::ieee802154::Channel;

/// An error process for each direction between two nodes.
pub struct RadioErrors {
    count: usize,
    /// By sender and receiver; empty for a channel without errors.
    links: Vec<(Errors, Stream)>,
}

impl RadioErrors {
    /// Creates the error processes of `count` nodes.
    pub(super) fn new(config: &Config, count: usize, streams: &Streams) -> RadioErrors {
        let link = |place: usize| {
            let stream = streams.stream(&format!("errors {} {}", place / count, place % count));
            Some((config.errors()?, stream))
        };
        RadioErrors { count, links: (0..count * count).map_while(link).collect() }
    }
}

impl Channel for RadioErrors {
    fn corrupts(&mut self, now: Time, from: usize, to: usize, bytes: u32) -> bool {
        let link = self.links.get_mut(from * self.count + to);
        link.is_some_and(|(errors, stream)| errors.loses_unit(now, bytes, stream))
    }
}
