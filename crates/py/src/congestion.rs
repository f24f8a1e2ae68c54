//! Congestion controls as Python classes, for prototypes, and permission to compile those of
//! scenarios.

use bentpipe_congestion::interface::{AckSample, Congestion, Event, RateSample, State};
use bentpipe_congestion::register;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;

/// Permits or forbids compiling C source of scenarios and running it in this process.
#[pyfunction]
pub fn allow_code(allowed: bool) {
    bentpipe_congestion::compile::allow(allowed);
}

/// Registers a class under a name: each connection with this congestion control gets an instance of
/// it.
#[pyfunction]
pub fn register_congestion(py: Python<'_>, name: String, class: Py<PyAny>) -> PyResult<()> {
    if bentpipe_congestion::variants().iter().any(|variant| variant.name == name) {
        return Err(PyValueError::new_err(format!(
            "\"{name}\" is a congestion control of bentpipe; choose another name"
        )));
    }
    let has = |method: &str| class.bind(py).hasattr(method);
    let operations = Operations {
        init: has("init")?,
        ssthresh: has("ssthresh")?,
        cong_avoid: has("cong_avoid")?,
        cong_control: has("cong_control")?,
        set_state: has("set_state")?,
        cwnd_event: has("cwnd_event")?,
        pkts_acked: has("pkts_acked")?,
        undo_cwnd: has("undo_cwnd")?,
    };
    if !operations.cong_avoid && !operations.cong_control {
        return Err(PyValueError::new_err(format!(
            "the class for \"{name}\" has neither cong_avoid nor cong_control"
        )));
    }
    let own = name.clone();
    let maker = move || -> Box<dyn Congestion> {
        let made = Python::attach(|py| {
            let instance = class.call0(py)?;
            let tcp = Py::new(py, Tcp::default())?;
            Ok(Control { name: own.clone(), operations, instance, tcp })
        });
        match made {
            Ok(control) => Box::new(control),
            Err(error) => {
                fail(error);
                bentpipe_congestion::create("reno", &Default::default()).expect("Reno is always there")
            }
        }
    };
    register(&name, Box::new(maker));
    Ok(())
}

thread_local! {
    /// The first exception of a class in the run of this thread, which ends the run.
    static FAILURE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

fn fail(error: PyErr) {
    FAILURE.with_borrow_mut(|failure| _ = failure.get_or_insert(error));
}

/// Returns true if a class has raised an exception in the run of this thread.
pub fn failed() -> bool {
    FAILURE.with_borrow(Option::is_some)
}

/// Removes and returns the exception.
pub fn take_failure() -> Option<PyErr> {
    FAILURE.take()
}

/// The methods that a class has.
#[derive(Clone, Copy)]
struct Operations {
    init: bool,
    ssthresh: bool,
    cong_avoid: bool,
    cong_control: bool,
    set_state: bool,
    cwnd_event: bool,
    pkts_acked: bool,
    undo_cwnd: bool,
}

/// The view of a class on its connection.
#[pyclass(module = "bentpipe")]
#[derive(Default)]
pub struct Tcp(State);

macro_rules! fields {
    ($(read $read:ident: $read_type:ty;)* $(write $write:ident $set:ident: $write_type:ty;)*) => {
        #[pymethods]
        impl Tcp {
            $(
                #[getter]
                fn $read(&self) -> $read_type {
                    self.0.$read
                }
            )*
            $(
                #[getter]
                fn $write(&self) -> $write_type {
                    self.0.$write
                }

                #[setter]
                fn $set(&mut self, value: $write_type) {
                    self.0.$write = value;
                }
            )*
        }
    };
}

fields! {
    read snd_cwnd_clamp: u32;
    read prior_cwnd: u32;
    read prior_ssthresh: u32;
    read snd_una: u32;
    read snd_nxt: u32;
    read mss_cache: u32;
    read packets_out: u32;
    read sacked_out: u32;
    read lost_out: u32;
    read retrans_out: u32;
    read max_packets_out: u32;
    read delivered: u32;
    read delivered_ce: u32;
    read lost: u32;
    read srtt_us: u32;
    read mdev_us: u32;
    read rtt_min_us: u32;
    read ca_state: u32;
    read is_cwnd_limited: u32;
    read rcv_tsval: u32;
    read rcv_tsecr: u32;
    read jiffy_us: u32;
    read tcp_mstamp: u64;
    read tcp_clock_cache: u64;
    read tcp_wstamp_ns: u64;
    read lsndtime: u64;
    read sk_max_pacing_rate: u64;
    read random: u32;
    read accurate_ecn: u32;
    write snd_cwnd set_snd_cwnd: u32;
    write snd_cwnd_cnt set_snd_cwnd_cnt: u32;
    write snd_ssthresh set_snd_ssthresh: u32;
    write app_limited set_app_limited: u32;
    write sk_pacing_rate set_sk_pacing_rate: u64;
    write sk_pacing_status set_sk_pacing_status: u32;
}

/// A delivery-rate sample, or the data of an acknowledgment: the fields of Linux's `rate_sample`
/// and `ack_sample`.
#[pyclass(module = "bentpipe", get_all, frozen)]
pub struct Sample {
    prior_mstamp: u64,
    prior_delivered: u32,
    delivered: i32,
    interval_us: i64,
    rtt_us: i64,
    losses: i32,
    acked_sacked: u32,
    prior_in_flight: u32,
    is_app_limited: bool,
    is_retrans: bool,
    is_ack_delayed: bool,
}

/// An instance on one connection.
struct Control {
    name: String,
    operations: Operations,
    instance: Py<PyAny>,
    tcp: Py<Tcp>,
}

impl Control {
    /// Calls a method with the connection and further arguments. Does nothing once a class has
    /// failed.
    fn call<A>(&self, method: &str, state: &mut State, more: A) -> Option<u32>
    where
        A: for<'py> FnOnce(Python<'py>) -> PyResult<Vec<Py<PyAny>>>,
    {
        if failed() {
            return None;
        }
        let called = Python::attach(|py| {
            self.tcp.borrow_mut(py).0.clone_from(state);
            let mut arguments = vec![self.tcp.clone_ref(py).into_any()];
            arguments.extend(more(py)?);
            let answer = self.instance.call_method1(py, method, PyTuple::new(py, arguments)?)?;
            let view = self.tcp.borrow(py);
            state.snd_cwnd = view.0.snd_cwnd.clamp(1, state.snd_cwnd_clamp.max(1));
            state.snd_cwnd_cnt = view.0.snd_cwnd_cnt;
            state.snd_ssthresh = view.0.snd_ssthresh;
            state.app_limited = view.0.app_limited;
            state.sk_pacing_rate = view.0.sk_pacing_rate;
            state.sk_pacing_status = view.0.sk_pacing_status;
            match answer.is_none(py) {
                true => Ok(None),
                false => answer.extract(py).map(Some),
            }
        });
        called.unwrap_or_else(|error: PyErr| {
            fail(error);
            None
        })
    }
}

impl Congestion for Control {
    fn name(&self) -> &str {
        &self.name
    }

    fn init(&mut self, state: &mut State) {
        if self.operations.init {
            self.call("init", state, |_| Ok(Vec::new()));
        }
    }

    fn ssthresh(&mut self, state: &mut State) -> u32 {
        let half = (state.snd_cwnd / 2).max(2);
        match self.operations.ssthresh {
            true => self.call("ssthresh", state, |_| Ok(Vec::new())).map_or(half, |found| found.max(2)),
            false => half,
        }
    }

    fn cong_avoid(&mut self, state: &mut State, ack: u32, acked: u32) {
        if self.operations.cong_avoid {
            self.call("cong_avoid", state, |py| {
                Ok(vec![
                    ack.into_pyobject(py)?.into_any().unbind(),
                    acked.into_pyobject(py)?.into_any().unbind(),
                ])
            });
        }
    }

    fn has_cong_control(&self) -> bool {
        self.operations.cong_control
    }

    fn cong_control(&mut self, state: &mut State, sample: &RateSample) {
        let sample = Sample {
            prior_mstamp: sample.prior_mstamp,
            prior_delivered: sample.prior_delivered,
            delivered: sample.delivered,
            interval_us: sample.interval_us,
            rtt_us: sample.rtt_us,
            losses: sample.losses,
            acked_sacked: sample.acked_sacked,
            prior_in_flight: sample.prior_in_flight,
            is_app_limited: sample.is_app_limited != 0,
            is_retrans: sample.is_retrans != 0,
            is_ack_delayed: sample.is_ack_delayed != 0,
        };
        self.call("cong_control", state, |py| Ok(vec![Py::new(py, sample)?.into_any()]));
    }

    fn set_state(&mut self, state: &mut State, new_state: u32) {
        if self.operations.set_state {
            self.call("set_state", state, |py| Ok(vec![new_state.into_pyobject(py)?.into_any().unbind()]));
        }
    }

    fn cwnd_event(&mut self, state: &mut State, event: Event) {
        if self.operations.cwnd_event {
            let event = event as u32;
            self.call("cwnd_event", state, |py| Ok(vec![event.into_pyobject(py)?.into_any().unbind()]));
        }
    }

    fn has_pkts_acked(&self) -> bool {
        self.operations.pkts_acked
    }

    fn pkts_acked(&mut self, state: &mut State, sample: &AckSample) {
        let numbers = (sample.pkts_acked, sample.rtt_us, sample.in_flight);
        self.call("pkts_acked", state, |py| {
            Ok(vec![
                numbers.0.into_pyobject(py)?.into_any().unbind(),
                numbers.1.into_pyobject(py)?.into_any().unbind(),
                numbers.2.into_pyobject(py)?.into_any().unbind(),
            ])
        });
    }

    fn undo_cwnd(&mut self, state: &mut State) -> u32 {
        let before = state.snd_cwnd.max(state.prior_cwnd);
        match self.operations.undo_cwnd {
            true => self.call("undo_cwnd", state, |_| Ok(Vec::new())).unwrap_or(before),
            false => before,
        }
    }
}
