"""The cluster: nodes run the dataflow over an unreliable network, as `step(event, now) -> effects`."""
