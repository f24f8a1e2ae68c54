"""The fidelity of runs in responses."""

from __future__ import annotations

from pydantic import BaseModel

from bentpipe.testbed.verdicts import Grade


class Fidelity(BaseModel):
    """The accuracy with which a run of real kernels followed its scenario, and the reason."""

    verdict: Grade
    text: str
