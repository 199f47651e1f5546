"""The kernels of aggregates: grouped, windowed, and running."""
