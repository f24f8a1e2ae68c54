"""The fourth instrument: measuring the path between two hosts.

One host runs a reflector (``bentpipe reflect``), the other sends probes to it
(``bentpipe measure``). Probes and their replies are STAMP packets (RFC 8762), so other
implementations of a reflector also work. The result is a run folder like those of the other
instruments.
"""

from .plan import PLANS, Plan, read_plan
from .probing import Measured, probe
from .reflector import reflect

__all__ = ["PLANS", "Measured", "Plan", "probe", "read_plan", "reflect"]
