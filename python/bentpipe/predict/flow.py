"""Prediction of a complete flow, for comparison with the simulated and the measured flow.

The round-trip time comes from equations 10 and 11 of the DAMA study, and the growth of the window
from its equations 1 to 9, evaluated round trip by round trip. The ceiling of the goodput is the
lowest of three limits: the link rate without headers, the window divided by the RTT, and the
response function at the given loss probability. The prediction names the limit that applies.

Limits: the flow is alone on the link; the growth is Reno's for every response function; there is no
queueing delay. Every round trip includes the DAMA delay, although data on the forward link meets
this delay only when its acknowledgements no longer fit into the CRA slots. Under random loss, the
growth is that before the first loss, so the start is too optimistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Literal

from .checks import refuse, require_at_least, require_not_negative, require_one_of, require_positive
from .cubic import cubic_segments_s
from .dama import DelayRange, Scheme, TransferTime, round_trip, transfer_time
from .growth import GrowthCurve, bounded_transfer_time_s, delivered_bytes, growth_curve, round_trips_to_window
from .response import mathis_segments_s, padhye_approximate_segments_s, padhye_full_segments_s
from .rto import steady_rto_s
from .tfrc import tfrc_rate_byte_s
from .window import goodput_ceiling_bit_s, window_limited_rate_bit_s

Response = Literal["padhye", "mathis", "cubic"]
Limit = Literal["rate", "window", "loss"]

#: The response functions available as the ceiling under loss; "padhye" is the full model.
RESPONSES: Final[tuple[Response, ...]] = ("padhye", "mathis", "cubic")


@dataclass(frozen=True)
class LossBounds:
    """Response functions at the flow's loss probability and mean RTT, in bit/s of payload, without
    the limit of the link."""

    loss_probability: float
    timeout_s: float
    padhye_full_bit_s: float
    padhye_approximate_bit_s: float
    mathis_bit_s: float
    cubic_bit_s: float
    tfrc_bit_s: float

    def as_dict(self) -> dict[str, float]:
        """All fields, ready for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Prediction:
    """The prediction for one flow. Rates are payload in bit/s; ``low`` and ``high`` are for the
    maximum and the minimum RTT; all other values are for the mean RTT.

    ``goodput_bit_s`` is the mean over ``active_s``: the duration, or the time to the end of the
    transfer if shorter. ``time_to_fill_s`` is the time from the SYN until the window first fills
    the pipe, and ``None`` if the window or loss keeps the flow below the rate of the link.
    ``transfer`` is equation 9, without a link rate; ``bounded_transfer_s`` is the time for the same
    growth under the ceiling. Both are ``None`` without a size, ``loss_bounds`` without loss.
    """

    round_trip: DelayRange
    duration_s: float
    active_s: float
    goodput_bit_s: float
    goodput_low_bit_s: float
    goodput_high_bit_s: float
    steady_goodput_bit_s: float
    limited_by: Limit
    time_to_fill_s: float | None
    _curve: Callable[[], GrowthCurve] = field(repr=False, compare=False)
    transfer: TransferTime | None
    bounded_transfer_s: float | None
    loss_bounds: LossBounds | None

    @cached_property
    def curve(self) -> GrowthCurve:
        """Window, goodput and bytes delivered against time."""
        return self._curve()

    def as_dict(self) -> dict[str, Any]:
        """Everything as numbers, strings, lists and dictionaries, ready for JSON (no NaN, no
        infinity)."""
        return {
            "round_trip": self.round_trip.as_dict(),
            "duration_s": self.duration_s,
            "active_s": self.active_s,
            "goodput_bit_s": self.goodput_bit_s,
            "goodput_low_bit_s": self.goodput_low_bit_s,
            "goodput_high_bit_s": self.goodput_high_bit_s,
            "steady_goodput_bit_s": self.steady_goodput_bit_s,
            "limited_by": self.limited_by,
            "time_to_fill_s": self.time_to_fill_s,
            "curve": self.curve.as_dict(),
            "transfer": None if self.transfer is None else self.transfer.as_dict(),
            "bounded_transfer_s": self.bounded_transfer_s,
            "loss_bounds": None if self.loss_bounds is None else self.loss_bounds.as_dict(),
        }


def predict_flow(
    rate_bit_s: float,
    rtt0_s: float,
    scheme: Scheme = "none",
    superframe_s: float = 0.0,
    response_superframes: int = 0,
    segment_bytes: int = 1460,
    header_bytes: int = 40,
    initial_window: float = 10,
    ssthresh: float = math.inf,
    size_bytes: int | None = None,
    duration_s: float = 60.0,
    loss_probability: float = 0.0,
    *,
    rtt0_range_s: tuple[float, float] | None = None,
    window_bytes: float | None = None,
    segments_per_ack: float = 1,
    rto_minimum_s: float = 1.0,
    rto_variation_floor_s: float = 0.0,
    response: Response = "padhye",
    points: int = 401,
) -> Prediction:
    """Predicts one flow over a link of ``rate_bit_s`` (headers included) and a base round-trip time
    ``rtt0_s``.

    ``rtt0_range_s`` is the range of a base round-trip time that changes, as over a constellation,
    and ``rtt0_s`` is then its mean. The time-out under loss is that of the mean, because the
    changes are slow. ``scheme``, ``superframe_s`` and ``response_superframes`` give the DAMA delay
    (:func:`access_delay`); ``initial_window`` and ``ssthresh`` are in segments, ``ssthresh`` may be
    infinite; ``size_bytes`` is ``None`` for an endless flow; ``window_bytes`` is the receiver's
    window, ``None`` if it never limits; ``segments_per_ack`` is b of the response functions: the
    segments for which the window grows once; ``rto_minimum_s`` and ``rto_variation_floor_s`` are
    the floors of the time-out (:func:`steady_rto_s`); ``response`` chooses the response function
    that limits the flow under loss. The default of the initial window is RFC 6928's. The curve has
    ``points`` points over the active time. Raises ``ValueError`` with the argument, its value and
    the allowed range.

    >>> upload = predict_flow(2048e3, 0.5, "cra", 0.094, 11, initial_window=1, ssthresh=20, duration_s=400)
    >>> upload.limited_by, round(upload.time_to_fill_s), round(upload.goodput_bit_s / 1e3)
    ('rate', 44, 1898)
    """
    require_positive("duration_s", duration_s)
    require_one_of("response", response, RESPONSES)
    require_at_least("segments_per_ack", segments_per_ack, 1)
    if not (0 <= loss_probability < 1):
        raise refuse("loss_probability", loss_probability, "0 or more and below 1")
    require_positive("rto_minimum_s", rto_minimum_s)
    require_not_negative("rto_variation_floor_s", rto_variation_floor_s)
    access = round_trip(rtt0_s, scheme, superframe_s, response_superframes)
    rtt = access
    if rtt0_range_s is not None:
        least_s, greatest_s = rtt0_range_s
        if not 0 < least_s <= rtt0_s <= greatest_s:
            raise refuse("rtt0_range_s", rtt0_range_s, f"a range above 0 that contains rtt0_s, {rtt0_s!r}")
        rtt = DelayRange(
            access.minimum_s - rtt0_s + least_s, access.mean_s, access.maximum_s - rtt0_s + greatest_s
        )
    segment_bits = 8 * segment_bytes
    timeout_s = steady_rto_s(
        access.minimum_s, access.mean_s, access.maximum_s, rto_minimum_s, rto_variation_floor_s
    )

    def ceilings_bit_s(rtt_s: float) -> dict[Limit, float]:
        ceilings: dict[Limit, float] = {
            "rate": goodput_ceiling_bit_s(rate_bit_s, segment_bytes, header_bytes)
        }
        if window_bytes is not None:
            ceilings["window"] = window_limited_rate_bit_s(window_bytes, rtt_s)
        if loss_probability > 0:
            bounds = _loss_bounds(
                loss_probability, rtt_s, timeout_s, segment_bytes, window_bytes, segments_per_ack
            )
            by_response = {
                "padhye": bounds.padhye_full_bit_s,
                "mathis": bounds.mathis_bit_s,
                "cubic": bounds.cubic_bit_s,
            }
            ceilings["loss"] = by_response[response]
        return ceilings

    def mean_goodput(rtt_s: float) -> tuple[float, float, float | None]:
        """Returns the mean goodput, active time and transfer time for one RTT."""
        ceiling = min(ceilings_bit_s(rtt_s).values())
        done_s = None
        if size_bytes is not None:
            done_s = bounded_transfer_time_s(
                size_bytes,
                rtt_s=rtt_s,
                segment_bytes=segment_bytes,
                ceiling_bit_s=ceiling,
                initial_window=initial_window,
                ssthresh=ssthresh,
            )
            if done_s <= duration_s:
                return 8 * size_bytes / done_s, done_s, done_s
        delivered = delivered_bytes(
            duration_s,
            rtt_s=rtt_s,
            segment_bytes=segment_bytes,
            ceiling_bit_s=ceiling,
            initial_window=initial_window,
            ssthresh=ssthresh,
        )
        return 8 * delivered / duration_s, duration_s, done_s

    ceilings = ceilings_bit_s(rtt.mean_s)
    limited_by = min(ceilings, key=lambda limit: ceilings[limit])
    steady_bit_s = ceilings[limited_by]
    goodput, active_s, bounded_transfer_s = mean_goodput(rtt.mean_s)
    fill_s = None
    if limited_by == "rate":
        pipe_segments = steady_bit_s * rtt.mean_s / segment_bits
        fill_s = rtt.mean_s * (1 + round_trips_to_window(pipe_segments, initial_window, ssthresh))
    require_at_least("points", points, 2)
    curve = partial(
        growth_curve,
        active_s,
        rtt_s=rtt.mean_s,
        segment_bytes=segment_bytes,
        ceiling_bit_s=steady_bit_s,
        initial_window=initial_window,
        ssthresh=ssthresh,
        points=points,
    )
    transfer = None
    if size_bytes is not None:
        transfer = transfer_time(
            size_bytes,
            scheme=scheme,
            segment_bytes=segment_bytes,
            rtt0_s=rtt0_s,
            superframe_s=superframe_s,
            response_superframes=response_superframes,
            initial_window=initial_window,
            ssthresh=ssthresh,
        )
    loss_bounds = None
    if loss_probability > 0:
        loss_bounds = _loss_bounds(
            loss_probability, rtt.mean_s, timeout_s, segment_bytes, window_bytes, segments_per_ack
        )
    return Prediction(
        round_trip=rtt,
        duration_s=duration_s,
        active_s=active_s,
        goodput_bit_s=goodput,
        goodput_low_bit_s=mean_goodput(rtt.maximum_s)[0],
        goodput_high_bit_s=mean_goodput(rtt.minimum_s)[0],
        steady_goodput_bit_s=steady_bit_s,
        limited_by=limited_by,
        time_to_fill_s=fill_s,
        _curve=curve,
        transfer=transfer,
        bounded_transfer_s=bounded_transfer_s,
        loss_bounds=loss_bounds,
    )


def _loss_bounds(
    loss_probability: float,
    rtt_s: float,
    timeout_s: float,
    segment_bytes: int,
    window_bytes: float | None,
    segments_per_ack: float,
) -> LossBounds:
    """Returns the response functions; ``timeout_s`` is T_0."""
    window_segments = math.inf if window_bytes is None else max(1.0, window_bytes / segment_bytes)
    padhye = {"segments_per_ack": segments_per_ack, "window_maximum_segments": window_segments}
    bits = 8 * segment_bytes
    return LossBounds(
        loss_probability=loss_probability,
        timeout_s=timeout_s,
        padhye_full_bit_s=bits * padhye_full_segments_s(loss_probability, rtt_s, timeout_s, **padhye),
        padhye_approximate_bit_s=bits
        * padhye_approximate_segments_s(loss_probability, rtt_s, timeout_s, **padhye),
        mathis_bit_s=bits * mathis_segments_s(loss_probability, rtt_s, segments_per_ack=segments_per_ack),
        cubic_bit_s=bits * cubic_segments_s(loss_probability, rtt_s),
        tfrc_bit_s=8 * tfrc_rate_byte_s(loss_probability, rtt_s, segment_bytes),
    )
