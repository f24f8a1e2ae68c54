"""The kernel of the third clock: User-Mode Linux in virtual time, built once from the distribution's source package.

``store`` knows which kernels there are, ``build`` makes one, ``recipe`` says how it is configured, ``machine`` what is
needed to start one, and ``first_process`` is what runs inside before anything else.
"""

from .machine import guest_for
from .store import Kernel, current, kernels, remove

__all__ = ["Kernel", "current", "guest_for", "kernels", "remove"]
