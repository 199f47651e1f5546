"""All stages of a script, from text to tick plan, in order.

    text ─▶ syntax ─▶ bound SELECTs ─▶ logical plan ─▶ graph ─▶ tick plan

| stage     | made by                                             | shown by                       |
|-----------|-----------------------------------------------------|--------------------------------|
| `syntax`  | `compiler.parser.parse_script`                      | `fsql explain --stage syntax`  |
| `bound`   | `compiler.binder`, for each SELECT                  | `fsql explain --stage bound`   |
| `logical` | `compiler.planner`, then `compiler.rules`           | `fsql explain --stage logical` |
| `graph`   | `compiler.lowering.lower`                           | `fsql explain --stage graph`   |
| `tick`    | `optimizer.choose.choose`, when sources are open    | `fsql explain --stage tick`    |

Products are verified with `FSQL_VERIFY=1` in the environment, as in all tests; `fsql --debug` sets it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from fsql.compiler.verify.graph import verify_graph
from fsql.compiler.verify.logical import verify_logical
from fsql.compiler.verify.tick_plan import verify_tick_plan

if TYPE_CHECKING:
    from collections.abc import Callable

Product = TypeVar("Product")


class Stage(NamedTuple):
    """A stage: its name, and its verifier, which raises AssertionError if the product is not legal.

    Syntax has no verifier: everything that the grammar accepts is legal.  What is bound is verified as the
    logical plan that is made of it.
    """

    name: str
    verify: Callable[[Any], None] | None


STAGES: Final = (
    Stage("syntax", None),
    Stage("bound", None),
    Stage("logical", verify_logical),
    Stage("graph", verify_graph),
    Stage("tick", verify_tick_plan),
)


def verify_product(name: str, product: Product) -> Product:
    """Return the product of a stage; verify it if FSQL_VERIFY is set."""
    if os.environ.get("FSQL_VERIFY") == "1":
        verify = next(stage.verify for stage in STAGES if stage.name == name)
        if verify is not None:
            verify(product)
    return product
