//! Transcendental functions with the same result on every machine.
//!
//! The standard library's functions call the platform's C library, whose results differ in the last
//! digits between versions and platforms. The functions here come from the crate `libm`, so a run
//! in a browser equals a run on any computer to the last bit. Clippy rejects the standard library's
//! functions. Functions that IEEE 754 defines exactly, such as `sqrt` and `abs`, remain methods, as
//! does `powi`: on every target, the compiler multiplies in the order of its routine `__powidf2`.

pub use libm::{
    acos, asin, atan2, cbrt, cos, erfc, exp, expm1 as exp_m1, hypot, j0, log as ln, log10, log1p as ln_1p,
    log2, pow as powf, sin, sincos as sin_cos,
};
