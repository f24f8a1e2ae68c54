"""Skips tests of the clock `kernel` on machines that cannot run guests."""

from __future__ import annotations

import pytest
from bentpipe.errors import InputError
from bentpipe.guest import current


def reason_to_skip() -> str | None:
    """Returns the reason why guests cannot run on this machine; None if they can."""
    try:
        current()
    except InputError as error:
        return str(error)
    return None


#: Mark of tests that start a guest.
guests = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))
