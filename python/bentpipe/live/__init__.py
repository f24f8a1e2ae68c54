"""Live networks on this machine: programs in hosts connected by an emulated network, and the
registry of these networks.

- ``target`` describes a network.
- ``network`` keeps a network up in this process, and ``daemon`` in a separate process.
- ``state`` registers networks.
- ``teardown`` removes networks, also after their process was killed.
"""
