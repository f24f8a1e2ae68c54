"""The instrument `measure`: measurement of the path between two hosts.

One host runs a reflector (``bentpipe reflect``). The other host sends probes to it
(``bentpipe measure``). Probes and replies are STAMP packets (RFC 8762), so reflectors of other
implementations also work. The result is a run folder, as from the other instruments.
"""

from .plan import PLANS, Plan, read_plan
from .probing import Measured, probe
from .reflector import reflect

__all__ = ["PLANS", "Measured", "Plan", "probe", "read_plan", "reflect"]
