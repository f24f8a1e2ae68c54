"""Live networks on this machine: programs in hosts behind an emulated link, and the registry of these networks.

``target`` describes a network, ``network`` keeps it up in this process, ``daemon`` in a separate one;
``state`` registers networks, and ``teardown`` removes them, also those whose process was killed.
"""
