//! Positions of satellites and ground stations, with their ranges, delays and visibility.

pub mod circular;
pub mod crossing;
pub mod earth;
pub mod elements;
pub mod epoch;
pub mod geo;
pub mod observer;
pub mod satellite;
pub mod sgp4;
pub mod shell;
pub mod site;
pub mod vector;
pub mod visibility;
