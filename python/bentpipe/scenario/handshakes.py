"""The time limit of TCP's handshake, and paths that are too long for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bentpipe.quantities import base_value, span_text


def given_up(transport: Mapping[str, Any], rtt_s: float) -> str:
    """Returns the reason why TCP cannot connect over a round trip of ``rtt_s``; empty if it can.
    The time-out of a SYN is ``rto_initial`` for ``syn_linear_timeouts`` transmissions, and then
    doubles each time, up to ``rto_max``.

    >>> linux = {"rto_initial": "1 s", "rto_max": "120 s", "syn_linear_timeouts": 4, "syn_retries": 6}
    >>> given_up(linux, 131), given_up(linux, 132)
    ('', 'no connection: the sender gives up its SYN after 131 s, but a round trip takes 132 s; increase ...')
    """
    first, most = base_value(transport["rto_initial"]), base_value(transport["rto_max"])
    patience_s = first * transport["syn_linear_timeouts"]
    patience_s += sum(min(first * 2.0**number, most) for number in range(transport["syn_retries"] + 1))
    if rtt_s <= patience_s:
        return ""
    return (
        f"no connection: the sender gives up its SYN after {span_text(patience_s)}, but a round trip takes "
        f"{span_text(rtt_s)}; increase rto_initial or syn_retries"
    )
