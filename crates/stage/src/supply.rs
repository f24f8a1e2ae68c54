use bentpipe_core::{Probe, Stream, Table};

/// The engine's services to models while they are built.
pub trait Supply {
    /// Returns the random stream of the stage with this name.
    fn stream(&mut self, name: &str) -> Stream;
    /// Returns a probe on a table for an entity; `None` if that trace is off.
    fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe>;
}
