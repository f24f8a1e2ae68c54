//! Former names of keys and values, which are refused with the current name.

/// A former name and the current one. The former name is the path of a key, or of a text in a list,
/// in which `*` matches any one step. The current name takes the place of the last step.
pub type Renamed = (&'static str, &'static str);
