"""Deterministic simulation: a whole cluster in virtual time, with faults, from one seed.

Nodes and hosts are those of production.  Everything behind the ports (sockets, disks, clocks, processes,
sinks, coordination) is simulated, and each choice is drawn from a tape (`tape`).  So a seed determines a run:
the same seed gives the same trace, to the byte, on any computer.

    tape, shrink        the choices of a run, and how to reduce a failing run
    world, trace        virtual time; the events of a run
    process, ...        processes that can be killed, stopped and restarted
    network, disk, ...  simulated ports, with their faults
    faults, swarm       which faults are injected when; how a seed chooses the settings of a run
    output_checker      the conditions for every bundle and for the end
    coverage, diagram   what a set of runs has exercised; a run as text or diagram
"""
