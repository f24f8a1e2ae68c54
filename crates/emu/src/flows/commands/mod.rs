//! Programs as flows: programs that a scenario names, at hosts of its emulation. They run only if
//! allowed, and end with the run at the latest.

mod files;
mod iperf3;
mod plan;
mod program;

pub use plan::{plan, Planned};

use crate::clock::Clock;
use crate::error::{Doing, Error};
use crate::host::live::LiveHost;
use bentpipe_core::{Report, Time};
use bentpipe_transport::app::End;
use bentpipe_transport::{flow, names};
use files::Files;
use program::{Ended, Program, Started};
use serde_json::{json, Value};
use std::path::Path;

/// The programs that run at a scenario's hosts.
pub struct Commands {
    waiting: Vec<(Planned, Program)>,
    running: Vec<(Planned, Started)>,
    files: Files,
}

/// The programs of a run after all of them have ended.
pub struct Done {
    programs: Vec<(Planned, Ended)>,
    files: Files,
}

impl Commands {
    /// Prepares the `planned` programs, with output in the folder of the run at `out`, and starts
    /// the servers. Waits for each server until it listens, or until a time limit.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written, or if a server cannot be started.
    pub fn prepare(planned: Vec<Planned>, hosts: &[LiveHost], out: &Path) -> Result<Commands, Error> {
        let mut commands =
            Commands { waiting: Vec::new(), running: Vec::new(), files: Files::new(out, hosts, &planned)? };
        for planned in planned {
            let host = hosts.iter().find(|host| host.name == planned.host).expect("all ends are hosts");
            let program = commands.files.program(&planned, host)?;
            match planned.end {
                End::Source => commands.waiting.push((planned, program)),
                End::Destination => {
                    let doing = format!("starting {} at host {}", planned.shown(), planned.host);
                    let started = program.listening().doing(doing)?;
                    commands.running.push((planned, started));
                }
            }
        }
        Ok(commands)
    }

    /// Starts the programs other than servers, each at the start time of its flow.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn start(&mut self, clock: Clock) -> Result<(), Error> {
        for (planned, program) in self.waiting.drain(..) {
            let started = program.start_at(clock, planned.start).doing("starting a thread for a command")?;
            self.running.push((planned, started));
        }
        Ok(())
    }

    /// Ends the programs that still run: SIGTERM, and a second later SIGKILL.
    pub fn finish(mut self, clock: Clock) -> Done {
        for (_, started) in &self.running {
            started.stop();
        }
        let running = std::mem::take(&mut self.running);
        let programs =
            running.into_iter().map(|(planned, started)| (planned, started.ended(clock))).collect();
        Done { programs, files: self.files }
    }
}

impl Done {
    /// Writes the rows of their flows: iperf3's own results from `-J`, otherwise the times of start
    /// and end.
    pub fn report(&self, report: &mut Report) {
        for (planned, ended) in self.programs.iter().filter(|(planned, _)| planned.end == End::Source) {
            let measured = self.files.output(planned).map(|text| iperf3::read(&text)).unwrap_or_default();
            let time = |time: Option<Time>| time.map_or(f64::NAN, Time::as_secs_f64);
            let (start, completed) = (time(ended.started), time(ended.at.filter(|_| ended.code == Some(0))));
            if measured.iter().all(|direction| direction.reverse) {
                report.row(
                    &flow::SOURCE,
                    &planned.flow,
                    &iperf3::Measured::default().source(start, completed),
                );
            }
            for direction in &measured {
                let name = match direction.reverse {
                    true => names::reverse(&planned.flow),
                    false => planned.flow.clone(),
                };
                report.row(&flow::SOURCE, &name, &direction.source(start, completed));
                report.row(&flow::DESTINATION, &name, &direction.destination(start));
            }
        }
    }

    /// Returns the outcome of each program, for the provenance.
    pub fn notes(&self) -> Vec<Value> {
        let time = |time: Option<Time>| time.map(Time::as_secs_f64);
        let note = |(planned, ended): &(Planned, Ended)| {
            let (stdout, stderr) = self.files.names(planned);
            json!({
                "flow": planned.flow,
                "host": planned.host,
                "serves": planned.end == End::Destination,
                "command": planned.argv,
                "started_s": time(ended.started),
                "ended_s": time(ended.at),
                "exit_code": ended.code,
                "outcome": ended.outcome(),
                "stdout": stdout,
                "stderr": stderr,
            })
        };
        self.programs.iter().map(note).collect()
    }
}
