"""Lowers a logical plan to a drifting-state graph, with one file for each operator.

`lower` (in `job`) walks the plan; `draft` has the graph under construction, and `cycle` builds the
drifting-state cycle that all stateful operators have.
"""

from fsql.compiler.lowering.job import lower

__all__ = ["lower"]
