"""The cluster: the dataflow on nodes, `step(event, now) -> effects`, over a network that fails."""
