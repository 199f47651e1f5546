"""Every stage as a person sees it: stable text, and the same as JSON.

| stage        | functions                                                       |
|--------------|-----------------------------------------------------------------|
| expressions  | `expression_text`                                               |
| logical plan | `logical_text`, `plan_text`                                     |

The texts depend on nothing but what they show, contain no empty line, and end with a newline.
"""

from fsql.compiler.explain.expressions import expression_text
from fsql.compiler.explain.plan import logical_text, plan_text

__all__ = ["expression_text", "logical_text", "plan_text"]
