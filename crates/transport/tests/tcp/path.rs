//! Two endpoints and a link in each direction, run on a virtual clock.

use super::common::site;
use super::reno::Reno;
use bentpipe_link::Link;
use bentpipe_testing::bench::{self, stream, Bench};
use bentpipe_transport::app::{Config as AppConfig, End};
use bentpipe_transport::tcp::endpoint::{Endpoint, MakeCongestion, Traces};
use bentpipe_transport::tcp::Config;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

pub const SOURCE: usize = 0;
pub const DESTINATION: usize = 1;

pub struct Path {
    bench: Bench<bench::Path<Endpoint, Link>>,
    pub calls: Arc<Mutex<Vec<String>>>,
}

impl Deref for Path {
    type Target = Bench<bench::Path<Endpoint, Link>>;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

impl DerefMut for Path {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.bench
    }
}

impl Path {
    /// A path of two links given as JSON, with an application.
    pub fn new(config: &Config, app: &AppConfig, links: [&str; 2]) -> Path {
        let calls = Arc::default();
        let build = |end: End, name: &str| {
            let noted = (end == End::Source).then(|| Arc::clone(&calls));
            let congestion: MakeCongestion = Box::new(move || Box::new(Reno { calls: noted.clone() }));
            let app = app.build(end, stream("plan"));
            Endpoint::new(site(end), config, app, congestion, stream(name), Traces::default())
        };
        let ends = [build(End::Source, "source"), build(End::Destination, "destination")];
        let link = |name: &str, json: &str| {
            Link::new(name, &serde_json::from_str(json).unwrap(), stream(name), None)
        };
        let links = [link("out", links[0]), link("back", links[1])];
        Path { bench: Bench::new(bench::Path::new(ends, links)), calls }
    }

    /// Returns a bulk transfer of this many bytes, endless with `None`.
    pub fn bulk(config: &Config, bytes: Option<u64>, links: [&str; 2]) -> Path {
        let size = bytes.map(|bytes| format!(r#""size": "{bytes} B""#)).unwrap_or_default();
        let app = serde_json::from_str(&format!(r#"{{"bulk": {{{size}}}}}"#)).unwrap();
        Path::new(config, &app, links)
    }

    /// A value of the flow's own report.
    pub fn value(&mut self, table: &str, column: &str) -> f64 {
        self.report().value(table, "flow", column).unwrap_or(f64::NAN)
    }
}
