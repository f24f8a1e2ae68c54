//! Facts about the hops over a constellation: rates and delays of its paths, sampled over the run.

use super::config::Config;
use super::view::{Path, View};
use bentpipe_core::{Rate, Span};
use bentpipe_link::framing;
use bentpipe_link::queue;
use bentpipe_stage::facts::{moments, Course, Crossing, Hop};
use std::collections::BTreeSet;

impl Config {
    /// Returns the hops over network `name`, each between two of its sites.
    ///
    /// # Panics If [`Config::check`] has found a problem, or if an end of a crossing is outside the
    /// network.
    pub(super) fn path_hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        let site = |node: &str| self.sites.keys().position(|site| site == node).expect("both ends are sites");
        let pairs: Vec<(usize, usize)> =
            crossings.iter().map(|crossing| (site(crossing.from), site(crossing.to))).collect();
        let run = crossings.iter().map(|crossing| crossing.traffic.run).max().unwrap_or(Span::ZERO);
        let mut paths: Vec<Vec<Option<Path>>> = vec![Vec::new(); pairs.len()];
        if !pairs.is_empty() {
            let mut view = View::new(self);
            for now in moments(run) {
                let found = view.frame(now, &pairs).paths;
                paths.iter_mut().zip(found).for_each(|(paths, path)| paths.push(path));
            }
        }
        let expected = self.expected_delays();
        let found = crossings.iter().zip(pairs).zip(paths);
        found.map(|((crossing, (a, b)), paths)| self.hop(name, crossing, &paths, expected(a, b))).collect()
    }

    /// Returns the queues of the network: the location, the rate and the discipline of each.
    pub(super) fn described_queues(&self) -> Vec<(String, Rate, queue::Config)> {
        let ground = |what: &str, rate| (what.to_owned(), rate, self.gsl.queue.clone());
        let mut queues = vec![ground("SITE.up", self.gsl.up), ground("SITE.down", self.gsl.down)];
        queues.extend(self.isl.link().map(|isl| ("isl".to_owned(), isl.rate, isl.queue)));
        queues
    }

    /// Returns the hop of a crossing, with the paths found at the sampled times. If no paths were
    /// found, the hop has the delay `expected`.
    fn hop(&self, name: &str, crossing: &Crossing<'_>, paths: &[Option<Path>], expected: Span) -> Hop {
        let super::Gsl { up, down, mask: _, queue, error, choice: _, antennas: _ } = &self.gsl;
        let traffic = crossing.traffic;
        let delays = Course::of(paths.iter().flatten().map(|path| (path.delay, 1.0)));
        let over: BTreeSet<&[u32]> = paths.iter().flatten().map(|path| &path.satellites[..]).collect();
        let longest = over.iter().map(|satellites| satellites.len()).max().unwrap_or(0);
        let between = self.isl.link().filter(|_| longest > 1);
        let rate = between.iter().fold((*up).min(*down), |rate, isl| rate.min(isl.rate));
        let mut notes = error.notes();
        let missing = paths.iter().filter(|path| path.is_none()).count();
        if missing > 0 {
            notes.push(format!("at {missing} of {} moments there is no path", paths.len()));
        }
        if over.len() > 1 {
            notes.push(format!(
                "its path changes with the satellites (handover, routing): {} different ones were seen",
                over.len()
            ));
        }
        if self.routing.balance.is_some() {
            notes.push("it spreads connections over several paths (balance)".to_owned());
        }
        let plain = framing::Config::default().framed(None, traffic.bytes);
        let packets = rate.bytes_in(traffic.run) / u64::from(traffic.bytes.max(1));
        let ground = plain.loss(error, traffic.bytes, packets);
        let space = between.as_ref().map_or(0.0, |isl| plain.loss(&isl.error, traffic.bytes, packets));
        let survive = (1.0 - ground).powi(2) * (1.0 - space).powi(longest.saturating_sub(1) as i32);
        let (up, down) = (up.bits_per_second() as f64, down.bits_per_second() as f64);
        let queue = queue.facts(rate, traffic.dscp);
        notes.extend(between.iter().flat_map(|isl| isl.queue.facts(isl.rate, traffic.dscp).notes));
        Hop {
            part: format!("{name}.{}", crossing.from),
            rate_bit_s: Course::constant(rate.bits_per_second() as f64),
            delay_s: delays.unwrap_or_else(|| Course::constant(expected.as_secs_f64())),
            loss: 1.0 - survive,
            queue,
            access: Vec::new(),
            shared: vec![
                (format!("{name}.{}.up", crossing.from), up),
                (format!("{name}.{}.down", crossing.to), down),
            ],
            notes,
        }
        .within(1.0)
    }
}
