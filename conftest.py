"""The plug-ins of this repository's tests."""

from __future__ import annotations

import os

# Must be set before NumPy is imported. The command `fit`, where it matters most, does the same.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["distribution", "disturbance", "manual.plugin"]
