"""FROM: relations, and how they are joined.

Relations between commas are joined by the equalities in WHERE; explicit joins by ON and by conditions of
WHERE.  Scans are numbered in the order of the text, which may differ from the order of the joins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.changelogs.changelog_arguments import makes_changelog
from fsql.compiler.binder.constants import one_row, one_row_of
from fsql.compiler.binder.expressions.row_time import select_calls_row_time
from fsql.compiler.binder.joins.asof_join import join_as_of
from fsql.compiler.binder.joins.conditions import (
    bind_conditions,
    bind_on,
    keep_where,
    where_between,
)
from fsql.compiler.binder.joins.join import (
    check_names,
    join,
    keeps_rows,
    shift_columns,
    side_by_side,
    unbounded_join,
)
from fsql.compiler.binder.joins.kept_rows import has_one_row, warn_of_kept_rows
from fsql.compiler.binder.joins.outer_join import outer_join
from fsql.compiler.binder.joins.padded_elements import join_elements
from fsql.compiler.binder.joins.snapshot_join import join_snapshot, snapshot_call, snapshot_rows
from fsql.compiler.binder.joins.temporal_join import join_versions, versioned_table
from fsql.compiler.binder.joins.using import equalities, merge, merged_columns
from fsql.compiler.binder.joins.within import sides_in_time
from fsql.compiler.binder.limits import check_relations
from fsql.compiler.binder.relation import FromResult, Relation, apply_alias, relation_of
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.row_patterns.match_recognize import match_recognize
from fsql.compiler.binder.subqueries.lateral import (
    as_elements,
    bind_lateral,
    gives_elements,
    unnest,
)
from fsql.compiler.binder.subqueries.lateral_clause import (
    condition_of,
    keeps_outer,
    null_unless,
    reads_tables,
)
from fsql.compiler.binder.subqueries.lateral_join import LateralBinder
from fsql.compiler.binder.subqueries.lateral_scope import first_dependent, is_lateral
from fsql.compiler.binder.table_functions import bind_table_function
from fsql.compiler.binder.tables import table_of, with_row_time
from fsql.compiler.logical import Filter, JoinKind, Project, Scan, Unnest, append_only
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.joins.using import Pair
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.binder.references import Condition
    from fsql.compiler.binder.subqueries.lateral_join import LateralRows, RowsBinder, SubqueryBinder
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


_PADDING: Final = frozenset({"RIGHT", "FULL"})
"""The joins that pad rows of the preceding relations."""


@dataclass(frozen=True, slots=True)
class FromBinder:
    """Binds the FROM of one SELECT; `where` are the conditions that its WHERE connects by AND.

    `bind_query`, `bind_subquery` and `bind_lateral` bind subqueries: they are passed in to avoid a circular
    import.
    """

    context: Context
    where: tuple[Condition, ...]
    bind_query: QueryBinder
    bind_subquery: SubqueryBinder
    bind_lateral: RowsBinder
    changes: bool = False
    """Whether EMIT CHANGES is given."""
    dependent: bool = False
    """Whether FROM depends on values of the outer query, with which all relations are joined."""

    def bind(self, select: syntax.Select, first: Relation | None = None) -> FromResult:
        """Return the join of the relations between commas; without FROM, one row.

        `first` are the rows on which the relations depend: see `dependent_from`.

        Raises:
            Refusal: E2xx to E4xx.
        """
        relations = select.relations
        if not relations:
            return FromResult(one_row_of(select, self.context))
        check_relations([each.span for each in relations])
        if first is not None:
            return self._join_all(FromResult(first), relations)
        if len(relations) == 1 and isinstance(relations[0], syntax.TableReference):
            wanted = select_calls_row_time(select)
            relation = table_of(relations[0], self.context, row_time=wanted)
            if wanted and relation.row_time is None and _is_projection(relation.plan):
                relation = with_row_time(relation)
            return FromResult(relation)
        if len(relations) == 1 and select_calls_row_time(select):
            found = self.relation(relations[0])
            if makes_changelog(relations[0]) or _is_projection(found.relation.plan):
                return replace(found, relation=with_row_time(found.relation))
            return found
        return self._join_all(self.relation(relations[0]), relations[1:])

    def _join_all(self, source: FromResult, relations: Sequence[syntax.Relation]) -> FromResult:
        waiting: list[tuple[FromResult, Span]] = []
        functions = self.context.functions
        for written in relations:
            before = (source.relation, *(each.relation for each, _ in waiting))
            dependent = first_dependent(written, before, functions)
            if is_lateral(written, functions):
                source = self.join_lateral(self._connect(source, waiting), written)
            elif snapshot_call(written) is not None:
                crossed = syntax.JoinClause(written.span, "CROSS", written, None, (), natural=False)
                source = self.join_clause(self._connect(source, waiting), crossed)
            elif dependent is not None and isinstance(written, syntax.Joined):
                source = self._join_dependent(source, waiting, written, dependent)
            else:
                waiting.append((self.relation(written), written.span))
        return self._connect(source, waiting)

    def _join_dependent(
        self,
        source: FromResult,
        waiting: list[tuple[FromResult, Span]],
        written: syntax.Joined,
        dependent: int,
    ) -> FromResult:
        """Return `source` joined with relations of which that number depends on relations before them."""
        if dependent:
            first = replace(written, joins=written.joins[: dependent - 1])
            alone = first if first.joins else written.first
            waiting.append((self.relation(alone), written.span))
            source = self._connect(source, waiting)
        else:
            source = self.join_lateral(self._connect(source, waiting), written.first)
        for clause in written.joins[max(dependent - 1, 0) :]:
            source = self.join_step(source, clause)
        return source

    def _connect(self, source: FromResult, waiting: list[tuple[FromResult, Span]]) -> FromResult:
        """Return `source` joined with all waiting relations; empties `waiting`."""
        while waiting:
            for index, (right, span) in enumerate(waiting):
                joined = self._join(source, right, [], span)
                if joined is not None:
                    source = joined
                    del waiting[index]
                    break
            else:
                source = self._connect_without_key(source, waiting)
        return source

    def _connect_without_key(
        self, source: FromResult, waiting: list[tuple[FromResult, Span]]
    ) -> FromResult:
        """Return `source` joined with a waiting relation to which no equality leads; removes it.

        It is one that WHERE compares with `source`, or of which one has a single row, if there is any.
        """
        sides = [(source.relation, right.relation) for right, _ in waiting]
        limited = (
            index
            for index, each in enumerate(sides)
            if has_one_row(*each) or where_between(self.where, *each, self.context)
        )
        right, span = waiting.pop(next(limited, 0))
        joined = self._join(source, right, [], span, keyed=False)
        assert joined is not None, "without an equality, the key is a constant"
        return joined

    def relation(self, written: syntax.Relation) -> FromResult:
        """Bind one relation.

        Raises:
            Refusal: E2xx to E4xx.
        """
        match written:
            case syntax.TableReference():
                return FromResult(table_of(written, self.context))
            case syntax.Derived():
                if written.lateral:
                    raise refusal("E317", "LATERAL must follow another relation", written.span)
                plan = self.bind_query(written.query, self.context)
                return FromResult(apply_alias(relation_of(plan, None), written.alias))
            case syntax.TableFunction():
                return FromResult(
                    bind_table_function(
                        written, self.context, self.bind_query, changes=self.changes
                    )
                )
            case syntax.Joined():
                return self._bind_joined(written)
            case syntax.MatchRecognize(input=rows):
                found = match_recognize(written, self.relation(rows).relation, self.context)
                return FromResult(found)
            case syntax.Unnest():
                row = one_row(self.context, written.span)
                return FromResult(unnest(row, written, self.context))

    def _bind_joined(self, written: syntax.Joined) -> FromResult:
        last = max((i for i, each in enumerate(written.joins) if each.kind in _PADDING), default=-1)
        source = self._within(padded=last >= 0).relation(written.first)
        for number, clause in enumerate(written.joins):
            source = self._within(padded=number < last).join_step(source, clause)
        return source

    def join_step(self, left: FromResult, clause: syntax.JoinClause) -> FromResult:
        """Return `left` joined with the relation of a clause, which may be lateral."""
        if not is_lateral(clause.right, self.context.functions):
            return self.join_clause(left, clause)
        outer = keeps_outer(clause, self.context.functions)
        return self.join_lateral(left, clause.right, condition_of(clause), outer=outer)

    def _within(self, *, padded: bool) -> FromBinder:
        """Return the binder of rows that an outer join may pad, to which WHERE is applied above it."""
        return replace(self, where=()) if padded else self

    def join_clause(self, left: FromResult, clause: syntax.JoinClause) -> FromResult:
        """Return `left` joined with the relation of a clause.

        Raises:
            Refusal: E2xx to E4xx.
        """
        inner = clause.kind in {"CROSS", "INNER"}
        versioned = versioned_table(clause)
        call = snapshot_call(clause.right)
        if call is not None:
            right = FromResult(snapshot_rows(call, self.context, self.bind_query))
        elif versioned is None:
            right = self._within(padded=not inner).relation(clause.right)
        else:
            right = FromResult(table_of(versioned, self.context))
        check_names(left.relation, right.relation, clause.right.span)
        left, right = sides_in_time(clause, left, right)
        pairs: list[Pair] = []
        on: list[Expression] = []
        if clause.kind in {"ASOF", "ASOF LEFT"}:
            on = bind_on(left.relation, right.relation, clause, self.context)
            found = join_as_of(clause, left.relation, right.relation, on, self.context)
            return FromResult(found, left.taken)
        if clause.using or clause.natural:
            pairs = merged_columns(left.relation, right.relation, clause)
            on = equalities(pairs, left.relation.width, clause)
        on += bind_on(left.relation, right.relation, clause, self.context)
        joined: FromResult | None
        kind = JoinKind.INNER if inner else JoinKind(clause.kind)
        if call is not None:
            sides = left.relation, right.relation
            found, taken = join_snapshot(clause, *sides, on, self.where, self.context)
            joined = FromResult(found, left.taken | taken)
        elif versioned is not None:
            versions = join_versions(clause, left.relation, right.relation, on, self.context)
            joined = FromResult(versions, left.taken)
        elif clause.kind == "INNER" and clause.condition is None and not pairs:
            joined = self._connect(left, [(right, clause.span)])
        elif inner:
            joined = self._join(left, right, on, clause.span, keyed=False)
        else:
            # Queries of streams may end with EMIT CHANGES, and none of their rows is retracted.
            changes = self.changes and clause.within is None
            joined = self._outer_join(kind, left, right, on, clause.span, changes=changes)
        assert joined is not None, "without an equality, the key is a constant"
        if not pairs:
            return joined
        return FromResult(merge(joined.relation, pairs, left.relation.width, kind), joined.taken)

    def _outer_join(
        self,
        kind: JoinKind,
        left: FromResult,
        right: FromResult,
        on: list[Expression],
        span: Span,
        *,
        changes: bool,
    ) -> FromResult:
        """Return the outer, semi or anti join of two relations; with `changes` it is updating."""
        joined = outer_join(
            *(kind, left.relation, right.relation, on, self.context.source_spans),
            span=span,
            changes=changes,
            lifetimes=self.context.time_to_live.of_sides,
        )
        sides = left.relation.plan, right.relation.plan
        if not append_only(joined.plan) and keeps_rows(joined.plan, *sides):
            self.context.report.warn(unbounded_join(span, (), None))
        return FromResult(joined, left.taken)

    def join_lateral(
        self,
        source: FromResult,
        written: syntax.Relation,
        condition: syntax.Expression | None = None,
        *,
        outer: bool = False,
    ) -> FromResult:
        """Return the lateral join of a relation by the condition of ON; with `outer` a LEFT JOIN.

        Raises:
            Refusal: E2xx to E4xx.
        """
        written, functions = as_elements(written), self.context.functions
        if gives_elements(written, functions):
            made = join_elements(source.relation, written, condition, self.context, left=outer)
            return FromResult(made, source.taken)
        assert isinstance(written, syntax.Derived)
        if outer or reads_tables(written, functions):
            return self._join_lateral_rows(source, written, condition, outer=outer)
        computed = bind_lateral(source.relation, written, self.context)
        return FromResult(keep_where(computed, condition, self.context), source.taken)

    def _join_lateral_rows(
        self,
        source: FromResult,
        written: syntax.Derived,
        condition: syntax.Expression | None,
        *,
        outer: bool,
    ) -> FromResult:
        """Return the join with a subquery over tables."""
        found = self.lateral_rows(source.relation, written, outer=outer)
        if isinstance(found, Relation):
            if outer and condition is not None:
                on = bind_conditions(condition, found.fields, self.context)
                return FromResult(null_unless(found, source.relation.width, on), source.taken)
            return FromResult(keep_where(found, condition, self.context), source.taken)
        check_names(source.relation, found.relation, written.span)
        on = [*found.on]
        if found.finish is None and condition is not None:
            fields = side_by_side(source.relation, found.relation)
            on += bind_conditions(condition, fields, self.context)
        rows = FromResult(found.relation)
        if outer:
            return self._outer_join(
                JoinKind.LEFT, source, rows, on, written.span, changes=self.changes
            )
        joined = self._join(source, rows, on, written.span, keyed=False)
        assert joined is not None, "without an equality, the key is a constant"
        if found.finish is None:
            return joined
        finished = found.finish(joined.relation)
        return FromResult(keep_where(finished, condition, self.context), joined.taken)

    def lateral_rows(
        self, source: Relation, written: syntax.Derived, *, outer: bool = True
    ) -> LateralRows | Relation:
        """Return the rows of a lateral subquery, or its join with the rows before it; `outer` as above.

        Raises:
            Refusal, Abandoned: E2xx to E4xx.
        """
        binders = self.bind_lateral, self.bind_subquery, self.bind_query
        return LateralBinder(source, *binders, self.context, outer, self._join_part).bind(written)

    def _join_part(self, context: Context, outer: Relation, part: syntax.Derived) -> Relation:
        binder = replace(self, context=context, where=())
        return binder.join_lateral(FromResult(outer), part).relation

    def _join(
        self,
        left: FromResult,
        right: FromResult,
        on: list[Expression],
        span: Span,
        *,
        keyed: bool = True,
    ) -> FromResult | None:
        """Return the join of two relations; if `keyed`, None if there is no equality between them."""
        check_names(left.relation, right.relation, span)
        where = where_between(self.where, left.relation, right.relation, self.context)
        joined = join(
            *(left.relation, right.relation, on, where, span, self.context.source_spans),
            keyed=keyed,
            lifetimes=self.context.time_to_live.of_sides,
            skews=self.context.skews,
            broadcasts=self.context.broadcasts,
        )
        if joined is None:
            return None
        warn_of_kept_rows(joined, left.relation, right.relation, where, span, self.context)
        width = left.relation.width
        taken = {
            shift_columns(condition, width, self.context.source_spans) for condition in right.taken
        }
        return FromResult(joined.relation, left.taken | taken | joined.taken)


def _is_projection(plan: Plan) -> bool:
    """Return whether each row comes from one row of one table, at whose position it is."""
    while isinstance(plan, Filter | Project | Unnest):
        plan = plan.input
    return isinstance(plan, Scan)
