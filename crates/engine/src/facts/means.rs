//! Mean rates of flows whose users ask for pages, files or mails and pause between them.
//!
//! With a number of transactions n, their volume V, the time T that is left of the run from the
//! flow's start, and the time between the beginnings of two of them, which is at least the pause p
//! and k round trips: no more than V min(n / T, 1 / (p + k RTT)) in the long run. The time in which
//! data is transmitted is left out, so that it is an upper bound, and the mean itself where that
//! time is short.

use super::{Flow, Hop};
use bentpipe_transport::app::Transactions;

/// Mean rates of the flow's payload and of what comes back for it, in bit/s; none if nothing limits
/// them.
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
