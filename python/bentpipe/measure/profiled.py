"""The quantities of a profile (:mod:`bentpipe.profiles`), measured in simulations."""

from __future__ import annotations

import numpy as np

from bentpipe.profiles import SERVER, STATISTICS, USER, Profile
from bentpipe.quantities import base_value

from .score import observe, rates_in_steps


def quantiles(profile: Profile) -> dict[str, list[float]]:
    """Simulates both directions of a profile for its duration. Returns the statistics of each
    quantity in its unit."""
    scenario = profile.load()
    duration_s = base_value(scenario.data["duration"])
    down = observe(scenario, (SERVER, USER), duration_s)
    up = observe(scenario, (USER, SERVER), duration_s)
    # The response to a probe that arrives at the server leaves at once.
    back = np.interp(up.delay_times + up.delays, down.delay_times, down.delays)
    found = {
        "rate_down": rates_in_steps(down),
        "rate_up": rates_in_steps(up),
        "delay_down": down.delays,
        "delay_up": up.delays,
        "rtt": up.delays + back,
    }
    return {
        name: [float(f"{np.quantile(values, q):.4g}") for q in STATISTICS.values()]
        for name, values in found.items()
    }
