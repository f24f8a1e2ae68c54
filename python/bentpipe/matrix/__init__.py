"""Matrices: transfers between implementations of QUIC, and with congestion controls of TCP, over
paths with satellites, in virtual time.

Each folder of ``stacks`` describes and contains the programs of one implementation, and each file
of ``paths`` is a path. A cell is a run: a client, a server, a path and a load.
"""
