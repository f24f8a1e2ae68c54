"""Live networks on this machine: programs in hosts behind an emulated link, and the registry of these networks.

``target`` describes a network, ``living`` keeps it up in this process, ``keeper`` in a separate one;
``state`` registers networks, and ``ending`` removes them, also those whose process was killed.
"""
