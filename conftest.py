"""The plug-ins of this repository's tests."""

from __future__ import annotations

import os

# As in the command `fit`, which is where it matters most; before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["distribution", "disturbance", "manual.plugin"]
