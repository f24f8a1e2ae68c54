//! Former names.

/// A former name, and the one of today: the path of a key, or of a text in a list, in which `*`
/// stands for any one step. The name of today takes the place of the last step.
pub type Renamed = (&'static str, &'static str);
