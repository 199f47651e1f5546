"""What carries out the effects of nodes: the same code in processes and in simulation, over their ports."""
