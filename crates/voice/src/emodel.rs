//! The E-model (ITU-T G.107, 06/2015): the transmission rating R of a narrow-band telephone call,
//! and the corresponding mean opinion score (MOS). Symbols and equation numbers are those of the
//! recommendation.
//!
//! Everything here is a pure function of [`Parameters`]. The wide-band and full-band E-models
//! (G.107.1 and G.107.2) use other scales and are not implemented.

use bentpipe_core::math;

/// One parameter of the E-model (G.107, table 2).
pub struct Symbol {
    /// The symbol of the parameter in the recommendation.
    pub name: &'static str,
    /// The unit of the parameter; `1` if it has none.
    pub unit: &'static str,
    /// The default value of the recommendation.
    pub default: f64,
    /// The range that the recommendation permits. The equations are defined in the wider range
    /// [`Symbol::defined`].
    pub permitted: (f64, f64),
    /// The range in which the equations are defined.
    pub defined: (f64, f64),
    /// The meaning of the parameter, in words.
    pub about: &'static str,
    /// Returns the parameter's field in [`Parameters`].
    place: fn(&mut Parameters) -> &mut f64,
}

macro_rules! parameters {
    ($($field:ident $name:literal $unit:literal $default:literal ($low:expr, $high:expr) within ($least:expr, $most:expr) $about:literal)+) => {
        /// The parameters of a call, from mouth to ear. [`SYMBOLS`] describes each.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct Parameters {
            $(#[doc = concat!($name, ", in ", $unit, ": ", $about)] pub $field: f64,)+
        }

        impl Default for Parameters {
            fn default() -> Parameters {
                Parameters { $($field: $default),+ }
            }
        }

        /// All parameters, in the order of table 2 of the recommendation.
        pub const SYMBOLS: &[Symbol] = &[$(Symbol {
            name: $name,
            unit: $unit,
            default: $default,
            permitted: ($low, $high),
            defined: ($least, $most),
            about: $about,
            place: |parameters| &mut parameters.$field,
        }),+];
    };
}

/// Limit of a range that is unlimited in one direction.
const ANY: f64 = f64::INFINITY;

parameters! {
    slr "SLR" "dB" 8.0 (0.0, 18.0) within (-ANY, ANY) "send loudness rating"
    rlr "RLR" "dB" 2.0 (-5.0, 14.0) within (-ANY, ANY) "receive loudness rating"
    stmr "STMR" "dB" 15.0 (10.0, 20.0) within (-ANY, ANY) "sidetone masking rating"
    d_r "Dr" "1" 3.0 (-3.0, 3.0) within (-ANY, ANY) "D-value of the telephone at the receive side"
    d_s "Ds" "1" 3.0 (-3.0, 3.0) within (-ANY, ANY) "D-value of the telephone at the send side"
    telr "TELR" "dB" 65.0 (5.0, 65.0) within (-ANY, ANY) "talker echo loudness rating"
    wepl "WEPL" "dB" 110.0 (5.0, 110.0) within (-7.0, ANY) "weighted echo path loss"
    t "T" "ms" 0.0 (0.0, 500.0) within (0.0, ANY) "mean one-way delay of the echo path"
    tr "Tr" "ms" 0.0 (0.0, 1000.0) within (0.0, ANY) "round-trip delay in a 4-wire loop"
    ta "Ta" "ms" 0.0 (0.0, 500.0) within (0.0, ANY) "absolute one-way delay in echo-free connections"
    qdu "qdu" "1" 1.0 (1.0, 14.0) within (1e-9, ANY) "number of quantisation distortion units"
    ie "Ie" "1" 0.0 (0.0, 40.0) within (0.0, 95.0) "equipment impairment factor of the codec (G.113)"
    bpl "Bpl" "%" 4.3 (4.3, 40.0) within (1e-9, ANY) "packet-loss robustness factor of the codec (G.113)"
    ppl "Ppl" "%" 0.0 (0.0, 20.0) within (0.0, 100.0) "random packet-loss probability behind the de-jitter buffer"
    burst_r "BurstR" "1" 1.0 (1.0, 8.0) within (1e-9, ANY) "burst ratio: the mean burst of losses over that of random losses"
    nc "Nc" "dBm0p" -70.0 (-80.0, -40.0) within (-ANY, ANY) "electric circuit noise referred to the 0 dBr point"
    nfor "Nfor" "dBmp" -64.0 (-64.0, -64.0) within (-ANY, ANY) "noise floor at the receive side"
    ps "Ps" "dB(A)" 35.0 (35.0, 85.0) within (-ANY, ANY) "room noise at the send side"
    pr "Pr" "dB(A)" 35.0 (35.0, 85.0) within (-ANY, ANY) "room noise at the receive side"
    a "A" "1" 0.0 (0.0, 20.0) within (0.0, ANY) "advantage factor"
    s_t "sT" "1" 1.0 (0.4, 1.0) within (1e-9, ANY) "delay sensitivity of the conversation"
    m_t "mT" "ms" 100.0 (20.0, 150.0) within (1e-9, ANY) "shortest one-way delay that a talker perceives"
}

/// A call's rating, and its components (equation 7-1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rating {
    /// The basic signal-to-noise ratio Ro (section 7.2).
    pub ro: f64,
    /// The impairments Is that occur at the same time as the voice signal (section 7.3).
    pub is: f64,
    /// The impairment by the talker's echo, Idte (section 7.4).
    pub idte: f64,
    /// The impairment by the listener's echo, Idle (section 7.4).
    pub idle: f64,
    /// Impairment by long absolute delay.
    pub idd: f64,
    /// The impairments by delay together, Id = Idte + Idle + Idd (section 7.4).
    pub id: f64,
    /// The effective equipment impairment: the impairment by the codec under packet loss.
    pub ie_eff: f64,
    /// Transmission rating R, with the advantage factor.
    pub r: f64,
    /// Mean opinion score of a conversation, up to 4.5.
    pub mos: f64,
}

impl Rating {
    /// Returns the parts with the symbols of the recommendation (Ieeff is its Ie-eff), in the order
    /// of its equations.
    pub fn parts(&self) -> [(&'static str, f64); 9] {
        [
            ("Ro", self.ro),
            ("Is", self.is),
            ("Idte", self.idte),
            ("Idle", self.idle),
            ("Idd", self.idd),
            ("Id", self.id),
            ("Ieeff", self.ie_eff),
            ("R", self.r),
            ("MOS", self.mos),
        ]
    }
}

/// The reason why a parameter cannot be set.
#[derive(Clone, PartialEq, Debug)]
pub enum InvalidParameter {
    /// The recommendation does not have this symbol.
    Unknown,
    /// The equations are not defined for this value. The fields are the limits of the range in
    /// which they are defined.
    Undefined(f64, f64),
}

impl Parameters {
    /// Creates a call with one-way delay `delay` in milliseconds: T = Ta and Tr = 2 T (G.107,
    /// clause 7.4).
    pub fn with_delay(delay: f64) -> Parameters {
        Parameters { t: delay, ta: delay, tr: 2.0 * delay, ..Parameters::default() }
    }

    /// Sets the parameter with this symbol.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), InvalidParameter> {
        let symbol = SYMBOLS.iter().find(|symbol| symbol.name == name).ok_or(InvalidParameter::Unknown)?;
        let (least, most) = symbol.defined;
        if !value.is_finite() || !(least..=most).contains(&value) {
            return Err(InvalidParameter::Undefined(least, most));
        }
        *(symbol.place)(self) = value;
        Ok(())
    }

    /// Returns the parameters outside the range that the recommendation permits, with their values.
    pub fn beyond(mut self) -> Vec<(&'static Symbol, f64)> {
        let values = SYMBOLS.iter().map(|symbol| (symbol, *(symbol.place)(&mut self)));
        values.filter(|(symbol, value)| !(symbol.permitted.0..=symbol.permitted.1).contains(value)).collect()
    }

    /// Returns the rating of the call.
    pub fn rate(&self) -> Rating {
        let no = self.noise();
        let ro = 15.0 - 1.5 * (self.slr + no);
        let is = self.simultaneous(no, ro);
        let idte = self.talker_echo(no);
        let idle = self.listener_echo(ro);
        let idd = self.absolute_delay();
        let id = idte + idle + idd;
        let ie_eff = effective(self.ie, self.bpl, self.ppl, self.burst_r);
        let r = ro - is - id - ie_eff + self.a;
        Rating { ro, is, idte, idle, idd, id, ie_eff, r, mos: mos(r) }
    }

    /// Returns No, the sum of all noise powers at the 0 dBr point in dBm0p (equations 7-3 to 7-7).
    fn noise(&self) -> f64 {
        let olr = self.slr + self.rlr;
        let nos = self.ps - self.slr - self.d_s - 100.0 + 0.004 * (self.ps - olr - self.d_s - 14.0).powi(2);
        let lstr = self.stmr + self.d_r;
        let pre = self.pr + 10.0 * math::log10(1.0 + power((10.0 - lstr) / 10.0));
        let nor = self.rlr - 121.0 + pre + 0.008 * (pre - 35.0).powi(2);
        let nfo = self.nfor + self.rlr;
        10.0 * math::log10([self.nc, nos, nor, nfo].map(|level| power(level / 10.0)).iter().sum::<f64>())
    }

    /// Returns STMRo, the sidetone combined with the talker's echo (equation 7-12).
    fn sidetone(&self) -> f64 {
        -10.0 * math::log10(power(-self.stmr / 10.0) + math::exp(-self.t / 4.0) * power(-self.telr / 10.0))
    }

    /// Returns Ist, the impairment by an unsuitable sidetone (equation 7-11).
    fn sidetone_impairment(&self) -> f64 {
        let stmro = self.sidetone();
        12.0 * root((stmro - 13.0) / 6.0, 8)
            - 28.0 * root((stmro + 1.0) / 19.4, 35)
            - 13.0 * root((stmro - 3.0) / 33.0, 13)
            + 29.0
    }

    /// Returns Is, the impairments by an excessively loud connection, an unsuitable sidetone and
    /// quantisation (equations 7-8 to 7-17).
    fn simultaneous(&self, no: f64, ro: f64) -> f64 {
        let xolr = (self.slr + self.rlr) + 0.2 * (64.0 + no - self.rlr);
        let iolr = 20.0 * (root(xolr / 8.0, 8) - xolr / 8.0);
        let q = 37.0 - 15.0 * math::log10(self.qdu);
        let g = 1.07 + 0.258 * q + 0.0602 * q * q;
        let y = (ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
        let z = 46.0 / 30.0 - g / 40.0;
        let iq = 15.0 * math::log10(1.0 + power(y) + power(z));
        iolr + self.sidetone_impairment() + iq
    }

    /// Returns Idte, the impairment by the talker's echo (equations 7-19 to 7-25).
    fn talker_echo(&self, no: f64) -> f64 {
        let roe = -1.5 * (no - self.rlr);
        let delayed = 40.0 * math::log10((1.0 + self.t / 10.0) / (1.0 + self.t / 150.0));
        let mut terv = self.telr - delayed + 6.0 * math::exp(-0.3 * self.t * self.t);
        let sidetone = self.sidetone_impairment();
        if self.stmr < 9.0 {
            terv += sidetone / 2.0;
        }
        let re = 80.0 + 2.5 * (terv - 14.0);
        let half = (roe - re) / 2.0;
        let idte = (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - math::exp(-self.t));
        match self.stmr > 20.0 {
            true => math::hypot(idte, sidetone),
            // The addition turns -0 into 0, for calls without delay.
            false => idte + 0.0,
        }
    }

    /// Returns Idle, the impairment by the listener's echo (equations 7-26 and 7-27).
    fn listener_echo(&self, ro: f64) -> f64 {
        let rle = 10.5 * (self.wepl + 7.0) * math::powf(self.tr + 1.0, -0.25);
        let half = (ro - rle) / 2.0;
        half + (half * half + 169.0).sqrt()
    }

    /// Returns Idd, the impairment by the absolute delay (equations 7-28 and 7-29).
    fn absolute_delay(&self) -> f64 {
        if self.ta <= self.m_t {
            return 0.0;
        }
        let x = math::log2(self.ta / self.m_t);
        let exponent = 6.0 * self.s_t;
        let root = |x: f64| math::powf(1.0 + math::powf(x, exponent), 1.0 / exponent);
        25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
    }
}

/// Returns Ie-eff, the impairment of a codec under packet loss (equation 7-30).
pub fn effective(ie: f64, bpl: f64, ppl: f64, burst_r: f64) -> f64 {
    if ppl == 0.0 {
        return ie;
    }
    ie + (95.0 - ie) * ppl / (ppl / burst_r + bpl)
}

/// Returns the mean opinion score of a rating (G.107, annex B, equation B-4). As in the equation,
/// the score is slightly below 1, the worst opinion, for R between 0 and 6.5.
pub fn mos(r: f64) -> f64 {
    match r {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        r => 1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6,
    }
}

/// The lowest rating of each category of quality (G.109), best first.
pub const CATEGORIES: [(f64, &str); 6] = [
    (90.0, "very satisfied"),
    (80.0, "satisfied"),
    (70.0, "some users dissatisfied"),
    (60.0, "many users dissatisfied"),
    (50.0, "nearly all users dissatisfied"),
    (f64::NEG_INFINITY, "not recommended"),
];

/// Returns the users' opinion of connections with this rating (G.109).
pub fn category(r: f64) -> &'static str {
    CATEGORIES.iter().find(|(from, _)| r >= *from).map_or("not recommended", |(_, name)| name)
}

/// Returns the burst ratio of losses from a Markov chain with two states: the mean burst length 1 /
/// q divided by the mean burst length of random losses with the same loss ratio (G.107, clause
/// 7.5). `p` is the probability of a loss after a received packet, and `q` the probability of a
/// reception after a loss.
pub fn burst_ratio(p: f64, q: f64) -> f64 {
    1.0 / (p + q)
}

fn power(x: f64) -> f64 {
    math::powf(10f64, x)
}

/// Returns `(1 + x^n)^(1/n)`, which is also real where an odd power of a negative `x` is less than
/// -1.
fn root(x: f64, n: i32) -> f64 {
    let inside = 1.0 + x.powi(n);
    inside.signum() * math::powf(inside.abs(), 1.0 / f64::from(n))
}
