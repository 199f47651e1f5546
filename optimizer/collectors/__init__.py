"""Collectors: the files that workers write, aggregated to the tables of `fsql.optimizer.statistics`.

`built_in` uses Arrow only; `spark` computes the same in PySpark.  Both read the files that `files` accepts,
and weight intervals and compute the results with the arithmetic of `results` and `tables`.
"""
