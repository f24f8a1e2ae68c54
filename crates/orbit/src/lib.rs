//! Positions of satellites and ground stations, and what follows from them: ranges, delays,
//! visibility.

pub mod circular;
pub mod crossing;
pub mod earth;
pub mod elements;
pub mod epoch;
pub mod geo;
pub mod look;
pub mod satellite;
pub mod sgp4;
pub mod shell;
pub mod site;
pub mod vector;
pub mod visibility;
