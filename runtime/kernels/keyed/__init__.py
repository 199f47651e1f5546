"""What all kernels with keyed state share: slots, undo, increments."""
