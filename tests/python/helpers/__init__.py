"""Shared by tests of several subjects."""

from pathlib import Path

#: The top folder of the repository.
ROOT = Path(__file__).resolve().parents[3]
