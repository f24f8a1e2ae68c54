"""Transfer time of TCP over a return link with demand assignment (DAMA).

Equations 1 to 11 of Luglio, Roseti and Zampognaro, "Performance evaluation of TCP-based
applications over DVB-RCS DAMA schemes" (2009). The RTT is the sum of a fixed part and the delay of
the DAMA scheme. The transfer consists of a handshake, slow start (which doubles the window in each
RTT) and congestion avoidance (which adds one segment in each RTT). Loss, the link rate, the
receiver's window and delayed acknowledgements are not modelled.

The equations leave some cases open. They are handled as follows:

* **d_ss** (used in equation 6, but not defined) is the number of segments sent during the T_ss of
  equation 4. The windows before the one of ssthresh segments are cwnd_0, 2 cwnd_0, ..., ssthresh/2;
  they sum to ssthresh - cwnd_0. The window of ssthresh segments is the first of congestion
  avoidance, as in equation 7.
* **A transfer that ends in slow start.** With the d_T/2 of equation 4, equation 9 counts the round
  trips *before* the last window but not the round trip of the last window: two segments from a
  window of one would take only the time of the handshake, and one segment even less. Here a
  transfer of d_T <= ssthresh - cwnd_0 takes log2(d_T/cwnd_0 + 1) round trips, the exact inverse of
  the sum d_T = cwnd_0 (2^N - 1). The two branches meet at d_T = ssthresh - cwnd_0, and above d_T =
  2 ssthresh the result is equation 9 as printed. ``printed_s`` is the result of equation 9 as
  printed.
* **ssthresh below the initial window**: there is no slow start (RFC 5681, section 3.1: it runs
  while cwnd < ssthresh), and congestion avoidance starts from cwnd_0.
* **A transfer within the first window** takes one whole round trip: its last acknowledgement is one
  RTT away.
* **Round trips are real numbers** in equations 4 and 7. ``counted_s`` is the count in whole round
  trips. It is larger by less than one if ssthresh is cwnd_0 times a power of two, and otherwise by
  less than two, because the last step of slow start to ssthresh is then shorter than a doubling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from .checks import require_at_least, require_not_negative, require_one_of, require_positive
from .growth import count_round_trips, require_start

Scheme = Literal["none", "cra", "rbdc", "rbdc-constant", "rbdc-bursty", "vbdc"]

#: "none" is a link without demand assignment. "rbdc" covers the range from constant to bursty, for
#: traffic of an unknown kind.
SCHEMES: Final[tuple[Scheme, ...]] = ("none", "cra", "rbdc", "rbdc-constant", "rbdc-bursty", "vbdc")


@dataclass(frozen=True)
class DelayRange:
    """Minimum, mean and maximum delay in seconds, for waits for the superframe of 0 <= Delta_SF <=
    D_SF."""

    minimum_s: float
    mean_s: float
    maximum_s: float

    def as_dict(self) -> dict[str, float]:
        """Returns the three delays, ready for JSON."""
        return {"minimum_s": self.minimum_s, "mean_s": self.mean_s, "maximum_s": self.maximum_s}


def access_delay(scheme: Scheme, superframe_s: float, response_superframes: int) -> DelayRange:
    """Returns RTT_DAMA, equation 11: the contribution of a DAMA scheme to the round-trip time.

    Delta_SF is the wait for the next superframe, which every packet has in a network with ``access
    = "superframe"``. With ``access = "immediate"``, it is the upper bound of the wait for a slot.

    The contribution is Delta_SF for CRA and for RBDC at a constant rate. It is L D_SF + Delta_SF
    for VBDC and for RBDC with bursty traffic, where D_SF is ``superframe_s`` and L,
    ``response_superframes``, counts superframes from a request to its response. The mean assumes a
    uniform Delta_SF. For "rbdc", the range is from the minimum of constant traffic to the maximum
    of bursty traffic, and the mean is its middle. This is our assumption for a flow that
    alternately grows and stays constant. The study's greedy upload over RBDC is nearer to constant:
    it reaches the full rate after about 50 s, and equation 5 gives 44 s with "rbdc-constant" and
    405 s with "rbdc-bursty". Raises ``ValueError``.

    >>> access_delay("vbdc", superframe_s=0.125, response_superframes=8)
    DelayRange(minimum_s=1.0, mean_s=1.0625, maximum_s=1.125)
    """
    require_one_of("scheme", scheme, SCHEMES)
    require_not_negative("superframe_s", superframe_s)
    require_not_negative("response_superframes", response_superframes)
    if scheme == "none":
        return DelayRange(0.0, 0.0, 0.0)
    waits = {"cra": (0, 0), "rbdc-constant": (0, 0), "rbdc": (0, 1), "rbdc-bursty": (1, 1), "vbdc": (1, 1)}
    fewest, most = (wait * response_superframes for wait in waits[scheme])
    return DelayRange(
        fewest * superframe_s, (fewest + most + 1) / 2 * superframe_s, (most + 1) * superframe_s
    )


def round_trip(rtt0_s: float, scheme: Scheme, superframe_s: float, response_superframes: int) -> DelayRange:
    """Returns RTT = RTT_0 + RTT_DAMA, equation 10. ``rtt0_s`` is the time of propagation and
    processing in both directions. Raises ``ValueError``.

    >>> round_trip(0.5, "cra", superframe_s=0.094, response_superframes=11)
    DelayRange(minimum_s=0.5, mean_s=0.547, maximum_s=0.594)
    """
    require_positive("rtt0_s", rtt0_s)
    added = access_delay(scheme, superframe_s, response_superframes)
    return DelayRange(rtt0_s + added.minimum_s, rtt0_s + added.mean_s, rtt0_s + added.maximum_s)


def handshake_time_s(rtt_s: float) -> float:
    """Returns T_HS = RTT, equation 1: SYN and SYN-ACK; the last ACK of the handshake travels with
    the first data.

    >>> handshake_time_s(0.5)
    0.5
    """
    require_positive("rtt_s", rtt_s)
    return rtt_s


def slow_start_window_segments(initial_window: float, round_trips: float) -> float:
    """Returns the window in segments after ``round_trips`` of slow start, equations 2 and 3: cwnd_0
    2^n.

    >>> slow_start_window_segments(2, 3)
    16.0
    """
    require_at_least("initial_window", initial_window, 1)
    require_not_negative("round_trips", round_trips)
    return initial_window * math.exp2(round_trips)


def congestion_avoidance_window_segments(ssthresh: float, round_trips: float) -> float:
    """Returns the window in segments after ``round_trips`` of congestion avoidance, equation 5: one
    more segment in each RTT.

    >>> congestion_avoidance_window_segments(20, 65)
    85
    """
    require_at_least("ssthresh", ssthresh, 1)
    require_not_negative("round_trips", round_trips)
    return ssthresh + round_trips


def slow_start_time_s(
    rtt_s: float, transfer_segments: int, initial_window: float, ssthresh: float = math.inf
) -> float:
    """Returns T_ss = RTT [log2(min(d_T/2, ssthresh)) - log2(cwnd_0)], equation 4 as printed, but
    never below 0.

    The equation is negative if the window never doubles: for ssthresh below the initial window, or
    a transfer of less than two initial windows. All sizes are in segments and at least 1; ssthresh
    may be infinite. Raises ``ValueError``.

    >>> slow_start_time_s(0.5, transfer_segments=1000, initial_window=1, ssthresh=16)
    2.0
    """
    require_positive("rtt_s", rtt_s)
    require_at_least("transfer_segments", transfer_segments, 1)
    require_start(initial_window, ssthresh)
    return rtt_s * max(0.0, math.log2(min(transfer_segments / 2, ssthresh)) - math.log2(initial_window))


def slow_start_segments(transfer_segments: int, initial_window: float, ssthresh: float = math.inf) -> float:
    """Returns d_ss, the segments sent while the window is below ssthresh (our definition, see the
    description of this module).

    >>> slow_start_segments(1000, initial_window=1, ssthresh=16)  # 1 + 2 + 4 + 8
    15.0
    """
    require_at_least("transfer_segments", transfer_segments, 1)
    require_start(initial_window, ssthresh)
    return float(min(transfer_segments, max(0.0, ssthresh - initial_window)))


def slow_start_round_trips(
    transfer_segments: int, initial_window: float, ssthresh: float = math.inf
) -> float:
    """Returns the round trips of slow start, T_ss / RTT, for transfers of any length: log2(d_ss /
    cwnd_0 + 1).

    For d_T above 2 ssthresh, this equals equation 4. Raises ``ValueError``.

    >>> slow_start_round_trips(1000, initial_window=1, ssthresh=16)
    4.0
    """
    return math.log2(slow_start_segments(transfer_segments, initial_window, ssthresh) / initial_window + 1)


def congestion_avoidance_segments(
    transfer_segments: int, initial_window: float, ssthresh: float = math.inf
) -> float:
    """Returns d_ca = d_T - d_ss, equation 6: the remaining segments for congestion avoidance.

    >>> congestion_avoidance_segments(1000, initial_window=1, ssthresh=16)
    985.0
    """
    return transfer_segments - slow_start_segments(transfer_segments, initial_window, ssthresh)


def congestion_avoidance_round_trips(segments: float, first_window: float) -> float:
    """Returns N_ca, the non-negative root of equation 7, d_ca = N_ca ssthresh + N_ca (N_ca - 1)/2.

    ``first_window`` is ssthresh, or the initial window if larger. For a first window of at least 1,
    the right-hand side grows with N_ca, so there is exactly one such root. The formula avoids
    cancellation when ``segments`` is small. Raises ``ValueError``.

    >>> congestion_avoidance_round_trips(20 + 21 + 22, first_window=20)
    3.0
    """
    require_not_negative("segments", segments)
    require_at_least("first_window", first_window, 1)
    linear = 2 * first_window - 1
    return 4 * segments / (linear + math.sqrt(linear**2 + 8 * segments))


@dataclass(frozen=True)
class TransferTime:
    """Equation 9 and its parts. Round trips are real numbers. Times are for the mean RTT unless
    stated otherwise."""

    transfer_segments: int
    round_trip: DelayRange
    slow_start_segments: float
    slow_start_round_trips: float
    congestion_avoidance_segments: float
    congestion_avoidance_round_trips: float
    counted_round_trips: int
    printed_round_trips: float

    @property
    def round_trips(self) -> float:
        """T_tot / RTT: handshake, slow start, congestion avoidance."""
        return 1 + max(1.0, self.slow_start_round_trips + self.congestion_avoidance_round_trips)

    @property
    def total_s(self) -> float:
        """T_tot, equation 9, with the open cases handled as described in this module."""
        return self.round_trip.mean_s * self.round_trips

    @property
    def shortest_s(self) -> float:
        """T_tot if each access waits the minimum time for its superframe."""
        return self.round_trip.minimum_s * self.round_trips

    @property
    def longest_s(self) -> float:
        """T_tot if each access waits the maximum time for its superframe."""
        return self.round_trip.maximum_s * self.round_trips

    @property
    def counted_s(self) -> float:
        """T_tot counted in whole round trips, including the handshake."""
        return self.round_trip.mean_s * (1 + self.counted_round_trips)

    @property
    def printed_s(self) -> float:
        """Equation 9 as printed (with T_ss not below 0). For a transfer that ends in slow start,
        the last round trip is missing."""
        return self.round_trip.mean_s * self.printed_round_trips

    def as_dict(self) -> dict[str, float | int | dict[str, float]]:
        """All fields and times, ready for JSON."""
        return {
            "transfer_segments": self.transfer_segments,
            "round_trip": self.round_trip.as_dict(),
            "slow_start_segments": self.slow_start_segments,
            "slow_start_round_trips": self.slow_start_round_trips,
            "congestion_avoidance_segments": self.congestion_avoidance_segments,
            "congestion_avoidance_round_trips": self.congestion_avoidance_round_trips,
            "round_trips": self.round_trips,
            "total_s": self.total_s,
            "shortest_s": self.shortest_s,
            "longest_s": self.longest_s,
            "counted_s": self.counted_s,
            "printed_s": self.printed_s,
        }


def transfer_time(
    size_bytes: int,
    *,
    scheme: Scheme,
    segment_bytes: int = 1460,
    rtt0_s: float = 0.5,
    superframe_s: float = 0.094,
    response_superframes: int = 11,
    initial_window: float = 1,
    ssthresh: float = math.inf,
) -> TransferTime:
    """Returns the time to transfer ``size_bytes`` including the handshake, equations 1 to 11. The
    defaults are those of the study.

    ``segment_bytes`` is the payload of a segment, so d_T is ``size_bytes`` divided by it, rounded
    up; ``initial_window`` and ``ssthresh`` are in segments. T_ca (equation 8) is N_ca round trips.
    Raises ``ValueError``.

    >>> upload = transfer_time(1_000_000, scheme="cra", ssthresh=20)
    >>> upload.transfer_segments, round(upload.congestion_avoidance_round_trips, 2), round(upload.total_s, 2)
    (685, 21.88, 14.88)
    """
    require_at_least("size_bytes", size_bytes, 1)
    require_positive("segment_bytes", segment_bytes)
    require_start(initial_window, ssthresh)
    rtt = round_trip(rtt0_s, scheme, superframe_s, response_superframes)
    d_t = math.ceil(size_bytes / segment_bytes)
    d_ca = congestion_avoidance_segments(d_t, initial_window, ssthresh)
    # With an infinite ssthresh there is no congestion avoidance, so its first window does not
    # matter.
    first_window = max(ssthresh, initial_window) if ssthresh < math.inf else initial_window
    n_ca = congestion_avoidance_round_trips(d_ca, first_window)
    printed_n_ca = n_ca if d_t / 2 > ssthresh else 0.0
    return TransferTime(
        transfer_segments=d_t,
        round_trip=rtt,
        slow_start_segments=slow_start_segments(d_t, initial_window, ssthresh),
        slow_start_round_trips=slow_start_round_trips(d_t, initial_window, ssthresh),
        congestion_avoidance_segments=d_ca,
        congestion_avoidance_round_trips=n_ca,
        counted_round_trips=count_round_trips(d_t, initial_window, ssthresh),
        printed_round_trips=1 + slow_start_time_s(1.0, d_t, initial_window, ssthresh) + printed_n_ca,
    )
