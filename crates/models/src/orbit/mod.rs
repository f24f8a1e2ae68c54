//! Where satellites and ground stations are, and what follows from it: ranges, delays, visibility.

pub mod geo;
