"""Live networks on this machine: programs in hosts connected by an emulated network, and the
registry of these networks.

``target`` describes a network, ``network`` keeps it up in this process, ``daemon`` in a separate
one; ``state`` registers networks, and ``teardown`` removes networks, including those whose process
was killed.
"""
