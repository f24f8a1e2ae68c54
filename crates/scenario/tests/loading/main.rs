//! Loading a scenario: files, layers, errors, and the resolved result. All are one program, because
//! each program compiles the model of its scenarios.

mod files;
mod layers;
mod model;
mod refusals;
mod resolved;
