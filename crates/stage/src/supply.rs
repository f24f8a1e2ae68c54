use bentpipe_core::{Probe, Stream, Table};

/// What models request of the engine while they are built.
pub trait Supply {
    /// Returns the random stream of the stage of this name.
    fn stream(&mut self, name: &str) -> Stream;
    /// Returns a probe on a table for an entity, if that trace is wanted.
    fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe>;
}
