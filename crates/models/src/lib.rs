//! bentpipe's models, in folders in the order in which a packet meets them. Pure: no clock, no thread, no I/O.

pub mod app;
pub mod transport;
