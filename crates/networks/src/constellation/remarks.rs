//! Warnings before the run about settings of a constellation that are allowed but probably not
//! intended.

use super::config::{Config, GroundSite};
use super::topology::Topology;
use bentpipe_core::{Problems, Span};
use bentpipe_orbit::crossing::SignChange;
use bentpipe_orbit::observer::Observer;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::visibility::{elevation_margin, next_change};

impl Config {
    /// Adds warnings for a run of `duration`. The configuration must be valid.
    pub fn remark(&self, duration: Span, remarks: &mut Problems) {
        remarks.within("shell", |remarks| {
            for (index, shell) in self.shell.iter().enumerate() {
                for remark in shell.remarks(self.epoch, duration) {
                    remarks.within(index.to_string(), |remarks| remarks.add("", remark));
                }
            }
        });
        let topology = self.topology();
        remarks.within("sites", |remarks| {
            for (name, site) in &self.sites {
                if !self.sees_any(site, &topology.satellites, duration.as_secs_f64()) {
                    let mask = self.mask(site).to_degrees();
                    let message = format!("sees no satellite above {mask:.1} deg in the whole run");
                    remarks.add(name, message);
                }
            }
        });
        let groups = groups(&topology);
        if !topology.isls.is_empty() && groups.len() > 1 {
            let shown: Vec<_> = groups.iter().take(8).map(usize::to_string).collect();
            let more = if groups.len() > 8 { ", ..." } else { "" };
            let message = format!(
                "at the start the links that are up leave {} groups of satellites without a path from one to another, of {}{more} satellites",
                groups.len(),
                shown.join(", "),
            );
            remarks.add("isl", message);
        }
    }

    fn sees_any(&self, site: &GroundSite, satellites: &[Satellite], end: f64) -> bool {
        let observer = Observer::new(&site.site(), self.rotation());
        let mask = self.mask(site);
        let up_now = |satellite: &Satellite| elevation_margin(&observer, satellite, mask, 0.0).value >= 0.0;
        let rises = |satellite: &Satellite| match next_change(&observer, satellite, mask, 0.0, end) {
            SignChange::At(moment) => moment <= end,
            SignChange::NotBefore(_) => false,
        };
        satellites.iter().any(up_now) || satellites.iter().any(rises)
    }
}

/// Returns the sizes of the connected groups of satellites, the largest first.
fn groups(topology: &Topology) -> Vec<usize> {
    let mut leader: Vec<usize> = (0..topology.satellites.len()).collect();
    fn root(leader: &[usize], mut at: usize) -> usize {
        while leader[at] != at {
            at = leader[at];
        }
        at
    }
    for isl in topology.isls.iter().filter(|isl| isl.up) {
        let (a, b) = (root(&leader, isl.ends.0 as usize), root(&leader, isl.ends.1 as usize));
        leader[a.max(b)] = a.min(b);
    }
    let mut sizes = vec![0; leader.len()];
    (0..leader.len()).for_each(|at| sizes[root(&leader, at)] += 1);
    sizes.retain(|size| *size > 0);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}
