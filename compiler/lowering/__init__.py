"""Logical plan to drifting-state graph, one operator a file.

`lower` (in `job`) walks the plan; there is one file for each operator; `draft` holds the graph under
construction, and `cycle` builds the drifting-state cycle that all stateful operators have.
"""

from fsql.compiler.lowering.job import lower

__all__ = ["lower"]
