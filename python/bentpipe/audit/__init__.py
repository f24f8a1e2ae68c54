"""The audit of an emulated network: comparison of its promises with measurements.

The probes and loads of :mod:`bentpipe.measure` cross the network (:mod:`.observing`). Their records
give numbers with intervals (:mod:`.evidence`), which are compared with the promises
(:mod:`.verdicts`). Known faults of emulators explain broken promises (:mod:`.causes`).
"""

from .promises import Promises, read_promises
from .verdicts import Audit, Row, judge

__all__ = ["Audit", "Promises", "Row", "judge", "read_promises"]
