//! Loading a scenario: files, layers, refusals, and the resolved result. One program, because each
//! program compiles the model of its scenarios.

mod files;
mod layers;
mod model;
mod refusals;
mod resolved;
