//! Former names of keys and values, which are rejected with the current name in the message.

/// A former name and the current name. The former name is the path of a key, or of a text in a
/// list; `*` in the path matches any one step. The current name replaces the last step.
pub type Renamed = (&'static str, &'static str);
