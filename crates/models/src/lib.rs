//! bentpipe's models, in folders in the order in which a packet meets them.

pub mod mac;
pub mod net;
pub mod network;
pub mod service;
mod text_or_table;
