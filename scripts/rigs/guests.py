"""Shared by tests of the clock `kernel`."""

from __future__ import annotations

import pytest
from bentpipe.errors import InputError
from bentpipe.guest import current


def reason_to_skip() -> str | None:
    """Returns why guests cannot run here; None if they can."""
    try:
        current()
    except InputError as error:
        return str(error)
    return None


#: Mark of tests that start a guest.
guests = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))
