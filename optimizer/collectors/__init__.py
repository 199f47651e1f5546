"""Collectors: the files that workers write, aggregated to the tables of `fsql.optimizer.statistics`.

`built_in` uses Arrow alone; `spark` computes the same in PySpark.  Both read what `files` has found readable,
weigh intervals as `weights` says, and finish with the arithmetic of `results`.
"""
