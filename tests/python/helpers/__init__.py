"""Helpers for tests of several subjects."""

from pathlib import Path

#: The root folder of the repository.
ROOT = Path(__file__).resolve().parents[3]
