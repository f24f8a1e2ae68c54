"""The *predict* instrument: equations, with which simulations and measurements are compared.

:func:`predict_flow` predicts a complete flow. The other functions are its parts, each with its
equation. The equations are pure Python, and numpy for curves, independent of the scenario format
and of the engine; :mod:`bentpipe.predict.prediction` applies them to scenarios. The package is also
a function: ``bentpipe.predict("file.toml")`` is :func:`bentpipe.predict_scenario`.
"""

import sys
from types import ModuleType
from typing import Any

from .cubic import cubic_k_s, cubic_mean_window_segments, cubic_segments_s, cubic_window_segments
from .dama import (
    SCHEMES,
    DelayRange,
    Scheme,
    TransferTime,
    access_delay,
    congestion_avoidance_round_trips,
    congestion_avoidance_segments,
    congestion_avoidance_window_segments,
    handshake_time_s,
    round_trip,
    slow_start_round_trips,
    slow_start_segments,
    slow_start_time_s,
    slow_start_window_segments,
    transfer_time,
)
from .flow import RESPONSES, Limit, LossBounds, Prediction, Response, predict_flow
from .growth import (
    GrowthCurve,
    bounded_transfer_time_s,
    count_round_trips,
    delivered_bytes,
    growth_curve,
    round_trips_to_window,
    round_windows_segments,
)
from .multicast import expected_nacks, transmissions_per_segment
from .netpipe import block_time_s, buffer_cells, fitted_throughput_bit_s, request_response_s
from .response import (
    mathis_segments_s,
    padhye_approximate_segments_s,
    padhye_full_segments_s,
    padhye_triple_duplicate_segments_s,
)
from .rto import RtoEstimator, backed_off_rto_s, rto_sequence_s, steady_rto_s
from .sharing import efficiency, fair_share_bit_s, jain_index, round_trip_shares_bit_s, utilisation
from .tfrc import mean_loss_interval_segments, tfrc_rate_byte_s
from .window import (
    bandwidth_delay_product_bytes,
    goodput_ceiling_bit_s,
    serialisation_time_s,
    steady_goodput_bit_s,
    window_limited_rate_bit_s,
)


class _Predict(ModuleType):
    """The package as a callable module, like the functions :func:`bentpipe.simulate` and
    :func:`bentpipe.emulate`."""

    def __call__(self, scenario: Any, overrides: Any = ()) -> Any:
        # Import scenarios on demand, since the equations are also used without them.
        from .prediction import predict_scenario

        return predict_scenario(scenario, overrides)


sys.modules[__name__].__class__ = _Predict

__all__ = [
    "RESPONSES",
    "SCHEMES",
    "DelayRange",
    "GrowthCurve",
    "Limit",
    "LossBounds",
    "Prediction",
    "Response",
    "RtoEstimator",
    "Scheme",
    "TransferTime",
    "access_delay",
    "backed_off_rto_s",
    "bandwidth_delay_product_bytes",
    "block_time_s",
    "bounded_transfer_time_s",
    "buffer_cells",
    "congestion_avoidance_round_trips",
    "congestion_avoidance_segments",
    "congestion_avoidance_window_segments",
    "count_round_trips",
    "cubic_k_s",
    "cubic_mean_window_segments",
    "cubic_segments_s",
    "cubic_window_segments",
    "delivered_bytes",
    "efficiency",
    "expected_nacks",
    "fair_share_bit_s",
    "fitted_throughput_bit_s",
    "goodput_ceiling_bit_s",
    "growth_curve",
    "handshake_time_s",
    "jain_index",
    "mathis_segments_s",
    "mean_loss_interval_segments",
    "padhye_approximate_segments_s",
    "padhye_full_segments_s",
    "padhye_triple_duplicate_segments_s",
    "predict_flow",
    "request_response_s",
    "round_trip",
    "round_trip_shares_bit_s",
    "round_trips_to_window",
    "round_windows_segments",
    "rto_sequence_s",
    "serialisation_time_s",
    "slow_start_round_trips",
    "slow_start_segments",
    "slow_start_time_s",
    "slow_start_window_segments",
    "steady_goodput_bit_s",
    "steady_rto_s",
    "tfrc_rate_byte_s",
    "transfer_time",
    "transmissions_per_segment",
    "utilisation",
    "window_limited_rate_bit_s",
]
