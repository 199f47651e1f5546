"""Hosts carry out the effects of nodes over ports: the same code in processes and in simulation."""
