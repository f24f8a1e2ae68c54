//! Loading a scenario: files, layers, refusals, and the resolved result. One program, as each compiles the model of its scenarios.

mod files;
mod layers;
mod model;
mod refusals;
mod resolved;
