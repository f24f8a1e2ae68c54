//! Mean rates of flows whose users request pages, files or mails and pause between them.
//!
//! Let a flow have n transactions of volume V, and let T be the time from the flow's start to the
//! end of the run. The time between the starts of two transactions is at least the pause p plus k
//! round trips. In the long run, the rate is therefore at most V min(n / T, 1 / (p + k RTT)). This
//! upper bound does not include transmission times. It is close to the mean rate if they are short.

use super::{Flow, Hop};
use bentpipe_transport::app::Transactions;

/// Returns the mean rates of the flow's payload and of its answers, in bit/s; `None` if they are
/// unlimited.
pub(super) fn of(transactions: &Transactions, flow: &Flow, duration_s: f64) -> Option<(f64, f64)> {
    let hops = || flow.there.iter().chain(&flow.back).flatten();
    let round_trip: f64 = hops().map(|hop: &Hop| hop.medium.delay_s.mean).sum();
    let between = transactions.pause.as_secs_f64() + transactions.round_trips * round_trip;
    let left = (duration_s - flow.start_s).max(0.0);
    let most = transactions.count.map_or(f64::INFINITY, |count| count as f64 / left);
    let per_second = if left > 0.0 { most.min(1.0 / between) } else { 0.0 };
    let rate = |bytes: f64| 8.0 * bytes * per_second;
    per_second.is_finite().then(|| (rate(transactions.there), rate(transactions.back)))
}
