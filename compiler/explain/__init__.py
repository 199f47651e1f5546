"""Every stage for display: stable text, JSON, and pictures.

| stage        | functions                                                               |
|--------------|-------------------------------------------------------------------------|
| expressions  | `expression_text`                                                       |
| logical plan | `logical_text`, `logical_json`; `plan_text` of one operator and below   |
|              | `logical_svg`, `logical_html`                                           |
| rules        | `trace_text`: what each of them did                                     |
| graph        | `graph_text`, `graph_json`, `graph_mermaid`, `graph_svg`                |
| tick plan    | `tick_text`, `tick_json`                                                |

The texts only depend on what they show, contain no empty lines, and end with a newline.
"""

from fsql.compiler.explain.dataflow import graph_json, graph_text
from fsql.compiler.explain.drawing import graph_svg, logical_html, logical_svg
from fsql.compiler.explain.expressions import expression_text
from fsql.compiler.explain.mermaid import graph_mermaid
from fsql.compiler.explain.plan import logical_json, logical_text, plan_text
from fsql.compiler.explain.tick import tick_json, tick_text
from fsql.compiler.explain.trace import trace_text

__all__ = [
    "expression_text",
    "graph_json",
    "graph_mermaid",
    "graph_svg",
    "graph_text",
    "logical_html",
    "logical_json",
    "logical_svg",
    "logical_text",
    "plan_text",
    "tick_json",
    "tick_text",
    "trace_text",
]
