//! The Transmission Control Protocol (RFC 9293).

pub mod congestion;
