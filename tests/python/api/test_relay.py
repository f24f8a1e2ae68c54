"""The relay releases data at the rate and with the delay of the path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bentpipe.relay import Way
from bentpipe.tools.course import Direction


def way(rates: list[float], delays: list[float], start: float = 50.0) -> Way:
    """Returns a direction whose rates are in steps of 100 ms, and whose delays are in steps of 10
    ms. It lasts a second."""
    values: dict[str, Any] = {"rates": np.array(rates), "delays": np.array(delays)}
    direction = Direction(
        "a", "b", **values, deliveries=None, loss=0, queue_kind="drop-tail", queue_packets=9
    )
    return Way(direction, 1.0, start)


def test_data_take_their_time_at_the_rate_and_then_the_delay() -> None:
    constant = way([8e6], [0.1])
    assert constant.release(50.0, 1000) == pytest.approx(50.101)
    # The second data wait for the first ones; later data do not.
    assert constant.release(50.0, 1000) == pytest.approx(50.102)
    assert constant.release(51.0, 2000) == pytest.approx(51.102)


def test_data_that_span_a_change_take_the_rates_of_both_steps() -> None:
    """80 kbit are sent in the first 100 ms at 0.8 Mbit/s. The other 80 kbit take 10 ms at 8
    Mbit/s."""
    assert way([0.8e6, 8e6], [0.0]).release(50.0, 20_000) == pytest.approx(50.11)


def test_data_wait_for_the_end_of_an_outage() -> None:
    assert way([0.0, 0.0, 8e6], [0.0]).release(50.0, 1000) == pytest.approx(50.201)


def test_data_stay_in_order_when_the_delay_falls() -> None:
    falling = way([8e6], [0.2] * 10 + [0.01] * 90)
    first, second = falling.release(50.0, 1000), falling.release(50.15, 1000)
    assert first == pytest.approx(50.201) and second == first


def test_the_path_restarts_at_its_end() -> None:
    assert way([8e6] * 5 + [0.8e6] * 5, [0.0]).release(51.7, 1000) == pytest.approx(51.71)
