"""Figures of runs. Every function returns a matplotlib figure of the recorded quantities.
Predictions are dashed.

::

    import bentpipe as bp
    from bentpipe import plots

    run = bp.open_run("runs/dvb-rcs-upload")
    plots.save(plots.overview(run), "overview.png")
    plots.rtt({"reno": run, "vegas": bp.open_run("runs/vegas")})

Figures are created without pyplot. Notebooks show them, and :func:`save` writes them as PNG, SVG or
PDF.
"""

from __future__ import annotations

from .access import timelines, waits
from .bars import MAX_ROWS, comparison
from .campaigns import campaign_cdf, campaign_lines, campaign_map, campaign_multiples
from .constellation import constellation_globe, constellation_map
from .contacts import contact_plan
from .course import constellation_course
from .distributions import cdf
from .lines import MAX_LINES
from .measured import delays
from .sensors import query_plan
from .series import dama, efficiency, flow, overview, queue, rtt, sent, side_by_side, throughput, window
from .style import COLOURS, look, save, show_in_notebooks, styled, to_svg
from .wifi import rates

__all__ = [
    "COLOURS",
    "MAX_LINES",
    "MAX_ROWS",
    "campaign_cdf",
    "campaign_lines",
    "campaign_map",
    "campaign_multiples",
    "cdf",
    "comparison",
    "constellation_course",
    "constellation_globe",
    "constellation_map",
    "contact_plan",
    "dama",
    "delays",
    "efficiency",
    "flow",
    "look",
    "overview",
    "query_plan",
    "queue",
    "rates",
    "rtt",
    "save",
    "sent",
    "side_by_side",
    "styled",
    "throughput",
    "timelines",
    "to_svg",
    "waits",
    "window",
]

show_in_notebooks()
