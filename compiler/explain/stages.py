"""The functions of this package that show whole stages."""

from fsql.compiler.explain.bound import bound_text, passes_text, select_text
from fsql.compiler.explain.dataflow import graph_json, graph_text
from fsql.compiler.explain.drawing import graph_svg, logical_html, logical_svg
from fsql.compiler.explain.expressions import expression_text
from fsql.compiler.explain.mermaid import graph_mermaid
from fsql.compiler.explain.plan import logical_json, logical_text, plan_text
from fsql.compiler.explain.tick import tick_json, tick_text
from fsql.compiler.explain.trace import trace_text

__all__ = [
    "bound_text",
    "expression_text",
    "graph_json",
    "graph_mermaid",
    "graph_svg",
    "graph_text",
    "logical_html",
    "logical_json",
    "logical_svg",
    "logical_text",
    "passes_text",
    "plan_text",
    "select_text",
    "tick_json",
    "tick_text",
    "trace_text",
]
