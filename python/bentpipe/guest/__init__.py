"""The kernel of the third clock: User-Mode Linux in virtual time, built once from the
distribution's source package.

``store`` lists the kernels, ``build`` builds a kernel, ``recipe`` configures it, ``machine``
prepares the start of a guest, and ``first_process`` is the first process inside the guest.
"""

from .machine import guest_for
from .store import Kernel, current, kernels, remove

__all__ = ["Kernel", "current", "guest_for", "kernels", "remove"]
