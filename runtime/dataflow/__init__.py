"""The dataflow: fronts, stages, folds, acker and barrier, in one process or in many; no I/O."""
