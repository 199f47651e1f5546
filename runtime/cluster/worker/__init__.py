"""A worker: over all epochs, in one of them, and once its state is loaded."""
