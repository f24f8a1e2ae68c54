//! Names derived from a flow's name: the stages and random streams of its ends, and its directions
//! in results. Such names are composed only here.

use crate::app::End;

/// Returns the name of the direction from the destination of a flow, or of the entity traced under
/// `name`, back to its source.
pub fn reverse(name: &str) -> String {
    format!("{name}.reverse")
}

/// Returns the name of an end of a flow, for its stage, its random stream, and its rows in tables
/// about ends of flows.
pub fn end(flow: &str, end: End) -> String {
    let end = match end {
        End::Source => "source",
        End::Destination => "destination",
    };
    format!("{flow}.{end}")
}

/// Returns the number of an end in tables that have such a column: 0 for the source, 1 for the
/// destination.
pub fn end_number(end: End) -> f64 {
    match end {
        End::Source => 0.0,
        End::Destination => 1.0,
    }
}

/// Returns the name of the random stream from which both ends of a flow draw the lengths of their
/// messages.
pub fn plan(flow: &str) -> String {
    format!("{flow}.plan")
}

/// Returns the name of the random stream from which an end of a flow draws the times of its
/// negative acknowledgments.
pub fn backoff(end: &str) -> String {
    format!("{end}.backoff")
}

/// Returns the names of the stages and random streams of a flow.
pub fn of(flow: &str) -> [String; 5] {
    let [source, destination] = [end(flow, End::Source), end(flow, End::Destination)];
    let [first, second] = [backoff(&source), backoff(&destination)];
    [source, destination, plan(flow), first, second]
}

/// Returns the name of a connection of a flow by number: the first has the name of the flow.
pub fn connection(flow: &str, number: u16) -> String {
    match number {
        0 => flow.to_owned(),
        further => format!("{flow}.{further}"),
    }
}

/// Returns the names under which the sender and the receiver of a connection of `flow` are traced
/// at an end: the flow's for its direction, NAME.reverse for the other, followed by .1, .2, ... for
/// further connections.
pub fn traced_as(flow: &str, at: End, number: u16) -> (String, String) {
    let name = connection(flow, number);
    let back = reverse(&name);
    match at {
        End::Source => (name, back),
        End::Destination => (back, name),
    }
}
