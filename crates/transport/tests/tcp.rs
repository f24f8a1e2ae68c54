//! TCP as a whole: transcripts, bulk transfers over simple paths, and paths that lose, reorder and
//! duplicate, with and without proxies that split.

#[path = "tcp/bulk.rs"]
mod bulk;
mod common;
#[path = "tcp/hostile.rs"]
mod hostile;
#[path = "tcp/path.rs"]
mod path;
#[path = "tcp/reno.rs"]
mod reno;
#[path = "tcp/split.rs"]
mod split;
#[path = "tcp/transcript.rs"]
mod transcript;
