"""Logical plan to drifting-state graph, one operator a file.

`lower` (in `job`) walks the plan; each operator's file says which vertices it becomes; `draft` holds
them while they grow, and `cycle` draws the drifting-state cycle that all stateful operators share.
"""

from fsql.compiler.lowering.job import lower

__all__ = ["lower"]
