"""Loads the pytest plug-ins of this repository."""

from __future__ import annotations

import os

# Must be set before NumPy is imported. The command `fit`, which gains most, sets the same variable.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["distribution", "disturbance", "manual.plugin"]
