"""If a spurious fast recovery is undone, the curve continues."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import NotApplicable
from bentpipe.conform.lab import Lab, change

from . import windows

SECTION = "4.9.2"
SAYS = """
If losses turn out to be spurious, an implementation MAY restore the values before the reduction: cwnd, cwnd_prior,
ssthresh, W_max, K, t_epoch and W_est. The window then continues on its curve.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields window, threshold and curve after packets were reordered."""
    at = 5.0
    none, some = ({"kind": "late", "probability": part, "extra": "60 ms"} for part in (0.0, 0.02))
    changes = [change(at, jitter=some), change(at + 0.1, jitter=none)]
    error = {"kind": "list", "packets": [600]}
    link = {"reorder": True, "jitter": none, "error": error}
    seen = lab.run(windows.FAST, 10, link=link, changes=changes)
    if not (seen.between("ca_state", at, at + 1) == 3).any():
        raise NotApplicable("the transport detected the reordering and entered no fast recovery")
    after = at + 0.6
    window = seen.at("cwnd", after) / seen.at("cwnd", at)
    if window < 0.9:
        raise NotApplicable("the control does not undo spurious reductions, which the RFC permits")
    yield Check("window 0.6 s later, relative to before", window, 0.99, 1.2)
    ssthresh = seen.at("ssthresh", after) / seen.at("ssthresh", at)
    yield Check("ssthresh, relative to before", ssthresh, 0.99, 1.01)
    epoch = windows.epochs(seen)[0]
    times = seen.time[(seen.time > after) & (seen.time < epoch.begin + epoch.k() + 2)]
    off = np.abs(np.array([seen.at("cwnd", time) for time in times[::20]]) - epoch.curve(times[::20])).max()
    yield Check("largest deviation from the curve after it", 100 * float(off) / epoch.before, 0, 3, "%")
