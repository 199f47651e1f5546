"""Deterministic simulation: a whole cluster in virtual time, with faults, from one seed.

The nodes are the real ones.  What a driver does for them (sockets, disks, clocks, processes, consumers,
coordination) is imitated here, and everything that could come out one way or another is drawn from a tape
(`tape`).  So a seed is a run: the same seed gives the same trace, to the byte, on any machine.

    tape, shrink        the choices of a run, and how to make a failing run smaller
    world, trace        virtual time; what happened
    hosts               processes that can be killed, stopped and started again
    network, disk, ...  what lies between and below them, with its faults
    faults, swarm       which faults strike when; how a seed chooses the settings of a run
    judge               what has to hold, at every bundle and in the end
    coverage, diagram   whether anything was tested at all; a run to be read
"""
