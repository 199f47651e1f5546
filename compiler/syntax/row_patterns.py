"""MATCH_RECOGNIZE in FROM: patterns over the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal as OneOf

from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import Syntax

if TYPE_CHECKING:
    from fsql.compiler.syntax import Expression, Relation
    from fsql.compiler.syntax.names import Identifier
    from fsql.compiler.syntax.queries import OrderItem
    from fsql.compiler.syntax.relations import TableAlias


@dataclass(frozen=True, slots=True)
class PatternName(Syntax):
    """A pattern variable: `A`."""

    name: Identifier


@dataclass(frozen=True, slots=True)
class PatternChain(Syntax):
    """Consecutive parts, `A B`, or alternatives if `either`, `A | B`."""

    parts: tuple[Pattern, ...]
    either: bool


@dataclass(frozen=True, slots=True)
class PatternQuantified(Syntax):
    """`A*`, `A+?`, `A{2,4}`: the part `least` to `most` times; None for any number."""

    part: Pattern
    least: int
    most: int | None
    greedy: bool


@dataclass(frozen=True, slots=True)
class PatternRefused(Syntax):
    """`{- A -}` or `PERMUTE(A, B)`; `what` names the form."""

    what: OneOf["exclusion", "PERMUTE"]


Pattern = PatternName | PatternChain | PatternQuantified | PatternRefused


SkipKind = OneOf["PAST LAST ROW", "NEXT ROW", "FIRST", "LAST"]


@dataclass(frozen=True, slots=True)
class SkipTarget(Syntax):
    """`AFTER MATCH SKIP PAST LAST ROW`, `TO NEXT ROW`, or `TO FIRST | LAST variable`."""

    kind: SkipKind
    variable: Identifier | None


@dataclass(frozen=True, slots=True)
class Measure(Syntax):
    """`expression AS name`."""

    expression: Expression
    name: Identifier


@dataclass(frozen=True, slots=True)
class Subset(Syntax):
    """`SUBSET name = (A, B)`."""

    name: Identifier
    variables: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class Definition(Syntax):
    """`variable AS condition`."""

    variable: Identifier
    condition: Expression


@dataclass(frozen=True, slots=True)
class MatchRecognize(Syntax):
    """`input MATCH_RECOGNIZE (…) AS alias`; `all_rows` for ALL ROWS PER MATCH."""

    input: Relation
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    measures: tuple[Measure, ...]
    all_rows: bool
    skip_to: SkipTarget | None
    pattern: Pattern
    within: Expression | None
    subsets: tuple[Subset, ...]
    definitions: tuple[Definition, ...]
    alias: TableAlias | None = None
