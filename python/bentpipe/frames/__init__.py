"""Traces of frame outcomes: reading, writing, statistics, and error processes fitted to them."""

from __future__ import annotations

from .fitting import Fit, fit_all
from .outcomes import Outcomes
from .reading import draw, is_frame_trace, read, write

__all__ = ["Fit", "Outcomes", "draw", "fit_all", "is_frame_trace", "read", "write"]
