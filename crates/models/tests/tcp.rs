//! TCP as a whole: transcripts, bulk transfers over simple paths, and paths that lose, reorder and duplicate.

#[path = "tcp/bulk.rs"]
mod bulk;
#[path = "tcp/hostile.rs"]
mod hostile;
#[path = "tcp/path.rs"]
mod path;
#[path = "tcp/reno.rs"]
mod reno;
#[path = "tcp/transcript.rs"]
mod transcript;
