//! Adaptive coding and modulation (ACM): the MODCOD that a sender uses for each receiver follows
//! the receiver's signal.
//!
//! | part | contents |
//! | --- | --- |
//! | [`modcod`] | the MODCODs of DVB-S2, DVB-S2X and DVB-RCS2, with thresholds and efficiencies |
//! | [`signal`] | the Es/N0 of a receiver over time: clear sky, fades, feeder link |
//! | [`adaptation`] | the loop that chooses a MODCOD, with margin, hysteresis and delay |
//! | [`frames`] | baseband frames that packets of several receivers share |
//! | [`budget`] | the Es/N0 in clear sky, by a link budget |
//!
//! ```toml
//! [network.sat.forward]
//! rate = "10 Mbit/s"                      # 10 MBd: at one bit per symbol
//! acm = { esn0_db = 12.0, fade = { samples = { file = "storm.csv" } } }
//!
//! [network.sat.return]
//! acm = { burst = 1616, esn0_db = 10.0, fade = { samples = { file = "storm.csv" } } }
//! ```

pub mod adaptation;
pub mod budget;
pub mod frames;
pub mod modcod;
pub mod signal;

pub use adaptation::{Adaptation, Interval, Rule};
pub use modcod::{Modcod, Modcods};

use self::budget::{Budget, Sheet};
use self::signal::{Clear, Columns, Fade, Signal};
use bentpipe_core::{Column, Probe, Problems, Real, Span, Table};
use bentpipe_stage::facts::{self, Course};
use bentpipe_stage::DropReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ratio of symbol energy to noise density (Es/N0) in dB, from -50 to 60.
pub type Decibel = Real<-50_000, 60_000>;
/// A margin or hysteresis in dB, from 0 to 60.
pub type Margin = Real<0, 60_000>;

/// Drop reason: the receiver's signal was below the threshold of the packet's MODCOD.
pub const FADED: DropReason = DropReason::new("signal below the threshold of the MODCOD");

/// Drop reason: the receiver's signal is known to be too weak for every MODCOD.
pub const OUTAGE: DropReason = DropReason::new("outage");

/// Adaptive coding and modulation (ACM): the MODCOD for each receiver follows its signal, with a
/// margin, a hysteresis and a delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Acm")]
pub struct Config {
    /// Number of symbols in a burst of the return link, 536 or 1616, which selects the linear
    /// modulation bursts of DVB-RCS2 (EN 301 545-2, annex A). Required for return links; links and
    /// forward links have no bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u16>,
    /// MODCODs of links and forward links: `"dvb-s2"` (EN 302 307-1, the default) or `"dvb-s2x"`
    /// (adds those of EN 302 307-2).
    #[serde(default)]
    pub modcods: Modcods,
    /// Margin in dB by which a terminal's Es/N0 must exceed a MODCOD's threshold. It covers the
    /// decrease of the signal within `delay`; beyond it packets are lost. Default 1 dB, 0 to 60 dB.
    #[serde(default = "one")]
    #[schemars(extend("changeable" = true))]
    pub margin_db: Margin,
    /// Hysteresis in dB: the additional excess of the Es/N0 over a threshold before a more
    /// efficient MODCOD is used, or any MODCOD after an outage. Default 0.5 dB, 0 to 60 dB.
    #[serde(default = "half")]
    #[schemars(extend("changeable" = true))]
    pub hysteresis_db: Margin,
    /// Time from a change of the signal until the sender uses another MODCOD: measurement, report
    /// and propagation. Default 500 ms.
    #[serde(default = "report")]
    pub delay: Span,
    /// Es/N0 in clear sky in dB, for terminals without their own value. It applies to the whole
    /// path, or to the terminal's link alone if `feeder_esn0_db` is given. If unset, the result of
    /// `budget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("changeable" = true))]
    pub esn0_db: Option<Decibel>,
    /// Es/N0 of the feeder link in clear sky in dB, whose noise then adds to the noise of the
    /// terminal's link. If unset, an attenuation of the feeder link reduces the Es/N0 of the whole
    /// path by the same amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("changeable" = true))]
    pub feeder_esn0_db: Option<Decibel>,
    /// Link budget that gives the Es/N0 in clear sky, for terminals without their own value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Fades of terminals and of the feeder link as time series. If unset, the sky stays clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fade: Option<Fade>,
}

fn one() -> Margin {
    Margin::thousandths(1000)
}

fn half() -> Margin {
    Margin::thousandths(500)
}

fn report() -> Span {
    Span::from_millis(500)
}

/// Trace of the changes of MODCODs.
pub static TRACE: Table = Table {
    name: "acm",
    entity: "terminal direction",
    about: "when the sender starts to use another MODCOD for a terminal (TERMINAL.forward, TERMINAL.return) or on a link (LINK, \
            LINK.return), and at the start",
    columns: &[
        Column::real("esn0", "dB", "Es/N0 that was reported to the sender"),
        Column::whole("modcod", "1", "number of the MODCOD in its standard; 0 in an outage, and for those of DVB-S2X"),
        Column::real("efficiency", "bit/symbol", "bits per symbol of the MODCOD; 0 in an outage"),
    ],
};

/// Report of a loop over a run.
pub static REPORT: Table = Table {
    name: "acm",
    entity: "terminal direction",
    about:
        "at the end of the run, for each terminal and direction with ACM (TERMINAL.forward, TERMINAL.return), and for each \
         direction of a link with ACM (LINK, LINK.return)",
    columns: &[
        Column::real(
            "efficiency",
            "bit/symbol",
            "mean over time of the bits per symbol of the MODCOD in use; 0 in an outage",
        ),
        Column::real("outage", "s", "time without a usable MODCOD, as far as the sender knew"),
        Column::whole("changes", "1", "number of changes of the MODCOD"),
        Column::whole(
            "lost",
            "packets",
            "packets and messages lost because the signal was below the threshold of their MODCOD",
        ),
    ],
};

/// Returns the MODCODs of a run as facts; `None` for a run without duration.
pub fn described(parts: &[Interval]) -> Option<facts::Acm> {
    let efficiency = |part: &&Interval| part.modcod.map_or(0.0, |modcod| modcod.efficiency);
    let name = |part: &Interval| part.modcod.map(|modcod| modcod.name);
    let by = |a: &&Interval, b: &&Interval| efficiency(a).total_cmp(&efficiency(b));
    Some(facts::Acm {
        modcod: name(parts.first()?),
        least: name(parts.iter().min_by(by)?),
        greatest: name(parts.iter().max_by(by)?),
        efficiency: Course::of(parts.iter().map(|part| (efficiency(&part), part.seconds)))?,
        esn0_db: Course::of(parts.iter().map(|part| (part.esn0_db, part.seconds)))?,
        outages: outages(parts),
    })
}

/// Returns start and end, in seconds, of each interval without a MODCOD.
fn outages(parts: &[Interval]) -> Vec<[f64; 2]> {
    let (mut found, mut time): (Vec<[f64; 2]>, f64) = (Vec::new(), 0.0);
    for part in parts {
        let end = time + part.seconds;
        match found.last_mut().filter(|last| last[1] == time) {
            _ if part.modcod.is_some() => {}
            Some(last) => last[1] = end,
            None => found.push([time, end]),
        }
        time = end;
    }
    found
}

/// The behaviour of a loop in a run, in numbers.
pub struct Played {
    /// The rate over time; 0 in an outage.
    pub rate: Course,
    /// The MODCODs that were used, and the signal that selected them.
    pub acm: Option<facts::Acm>,
    /// Notes for the reader of the facts.
    pub notes: Vec<String>,
}

impl Config {
    /// Returns the MODCODs that a sender may use.
    pub fn list(&self) -> Vec<&'static Modcod> {
        self.burst.map_or_else(|| self.modcods.list(), modcod::waveforms)
    }

    /// Returns the most robust MODCOD, which signalling uses.
    pub fn most_robust(&self) -> &'static Modcod {
        let list = self.list().into_iter();
        list.min_by(|a, b| a.threshold_db.total_cmp(&b.threshold_db))
            .expect("the configuration has been checked")
    }

    /// Returns the settings of the loop.
    pub fn rule(&self) -> Rule {
        Rule { margin: self.margin_db.value(), hysteresis: self.hysteresis_db.value(), delay: self.delay }
    }

    /// Returns the Es/N0 in clear sky of a terminal with its `own` value, if any.
    pub fn clear(&self, own: Option<Decibel>) -> Clear {
        let given = own.or(self.esn0_db).map(Decibel::value);
        let own = given
            .or_else(|| self.budget.as_ref().map(Budget::esn0_db))
            .expect("the configuration has been checked");
        Clear { own, feeder: self.feeder_esn0_db.map(Decibel::value) }
    }

    /// Returns the MODCOD in clear sky; `None` if the signal is too weak for every MODCOD.
    pub fn in_clear_sky(&self, own: Option<Decibel>) -> Option<&'static Modcod> {
        let signal = Signal::new(self.clear(own), None, &[], "");
        Rule { hysteresis: 0.0, ..self.rule() }.choose(
            &self.list(),
            None,
            signal.at(bentpipe_core::Time::ZERO),
        )
    }

    /// Creates the loop of a receiver with its own Es/N0, if any. Its column in the fade is the
    /// first of `names` that exists.
    pub fn adaptation(
        &self,
        own: Option<Decibel>,
        names: &[&str],
        gateway: &str,
        probe: Option<Probe>,
    ) -> Adaptation {
        let signal = Signal::new(self.clear(own), self.fade.as_ref(), names, gateway);
        Adaptation::new(self.list(), self.rule(), signal, probe)
    }

    /// Returns the behaviour of a receiver's loop in a run, given the rate of each MODCOD. The
    /// first three arguments are those of [`adaptation`](Self::adaptation).
    pub fn course(
        &self,
        own: Option<Decibel>,
        names: &[&str],
        gateway: &str,
        run: Span,
        rate: impl Fn(&Modcod) -> f64,
    ) -> Played {
        let parts = self.adaptation(own, names, gateway, None).course(run);
        let outage: f64 = parts.iter().filter(|part| part.modcod.is_none()).map(|part| part.seconds).sum();
        let rates = parts.iter().map(|part| (part.modcod.map_or(0.0, &rate), part.seconds));
        let rate = Course::of(rates).unwrap_or(Course::constant(0.0));
        let (name, mut notes) = (names.first().copied().unwrap_or_default(), Vec::new());
        if rate.varies() {
            notes.push(format!("its fade varies the rate by ACM, of which this is the mean; packets are lost until the sender knows of it ({name} acm)"));
        }
        if outage > 0.0 {
            notes.push(format!("{name} is in an outage for {outage:.1} s of the run (acm)"));
        }
        Played { rate, acm: described(&parts), notes }
    }

    /// Returns the link budget in printable form, if any.
    pub fn sheet(&self) -> Option<Sheet> {
        self.budget.as_ref().map(|budget| budget.sheet(&self.list(), self.rule()))
    }

    /// Adds a remark if the margin of the link budget is negative.
    pub fn remark(&self, remarks: &mut Problems) {
        if let Some(warning) = self.sheet().and_then(|sheet| sheet.warning()) {
            remarks.add("budget", warning);
        }
    }

    /// Adds the problem of a burst length on a link that has no bursts.
    pub fn check_without_bursts(&self, problems: &mut Problems) {
        if let Some(burst) = self.burst {
            let message =
                format!("{burst} symbols, but this link has no bursts; allowed: in the acm of a return link");
            problems.add("burst", message);
        }
    }

    /// Adds the problems of this configuration; `columns` are the names of a fade's columns.
    pub fn check(&self, columns: Columns<'_>, problems: &mut Problems) {
        if self.esn0_db.is_none() && self.budget.is_none() {
            problems
                .add("", "needs the Es/N0 in clear sky; allowed: esn0_db, or a budget from which it follows");
        }
        if let (Some(esn0), Some(_)) = (self.esn0_db, &self.budget) {
            let message =
                format!("{} dB is given and the budget gives it, too; allowed: one of the two", esn0.value());
            problems.add("esn0_db", message);
        }
        if let Some(budget) = &self.budget {
            problems.within("budget", |problems| budget.check(problems));
        }
        if let Some(fade) = &self.fade {
            let separate = self.feeder_esn0_db.is_some();
            problems.within("fade", |problems| fade.check(columns, separate, problems));
        }
    }
}
