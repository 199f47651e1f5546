"""Lowers a logical plan to a drifting-state graph, with one file for each operator.

`lower` (in `job`) walks the plan, and `lower_operators` also returns where the rows of each operator are;
`draft` has the graph under construction, and `cycle` builds the drifting-state cycle that all stateful
operators have.
"""

from fsql.compiler.lowering.job import Lowered, lower, lower_operators

__all__ = ["Lowered", "lower", "lower_operators"]
