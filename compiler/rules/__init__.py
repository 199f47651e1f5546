"""The rewrite rules, and the passes that consist of them.

| module                   | what it is about                                                  |
|--------------------------|-------------------------------------------------------------------|
| `fold_constants`         | constants, and NULL as an argument                                |
| `simplify_logic`         | AND, OR, NOT                                                      |
| `simplify_conditionals`  | CASE, COALESCE, IS NULL                                           |
| `merge_filters`          | adjacent filters, filters that drop nothing                       |
| `merge_projects`         | adjacent projections, projections that change nothing             |
| `pushdown_filter`        | filters below one operator a file                                 |
| `prune_columns`          | columns that are not read                                         |
| `limit_collected`        | values of arrays that are not read                                |
| `failures`               | an analysis: which operators can fail a row                       |
| `conjuncts`              | an analysis: which conjuncts may leave a predicate                |
| `columns`                | what expressions refer to                                         |
| `equality`               | an analysis: for which types equal values are the same            |
| `driver`                 | applies rules until none applies, and traces them                 |

`prune_columns.demand` is the analysis of the columns of an operator that are read.
"""

from typing import Final

from fsql.compiler.expression import Call, Case, Expression
from fsql.compiler.logical import Filter, Job, Project
from fsql.compiler.rules.driver import Pass, Rule
from fsql.compiler.rules.fold_constants import fold_constants, fold_null_arguments
from fsql.compiler.rules.limit_collected import limit_collected
from fsql.compiler.rules.merge_filters import drop_true_filter, merge_filters
from fsql.compiler.rules.merge_projects import drop_identity_project, merge_projects
from fsql.compiler.rules.prune_columns import prune_columns
from fsql.compiler.rules.pushdown_filter.aggregate import pushdown_filter_aggregate
from fsql.compiler.rules.pushdown_filter.arrays import pushdown_filter_array
from fsql.compiler.rules.pushdown_filter.join import pushdown_filter_join
from fsql.compiler.rules.pushdown_filter.over import pushdown_filter_over
from fsql.compiler.rules.pushdown_filter.project import pushdown_filter_project
from fsql.compiler.rules.pushdown_filter.rank import bound_rank, pushdown_filter_rank
from fsql.compiler.rules.pushdown_filter.union import pushdown_filter_union
from fsql.compiler.rules.pushdown_filter.windows import pushdown_filter_windows
from fsql.compiler.rules.simplify_conditionals import (
    simplify_case,
    simplify_coalesce,
    simplify_null_test,
)
from fsql.compiler.rules.simplify_logic import simplify_connective, simplify_not

SIMPLIFY: Final = (
    Rule("fold-constants", Expression, fold_constants),
    Rule("fold-null-arguments", Call, fold_null_arguments),
    Rule("simplify-connective", Call, simplify_connective),
    Rule("simplify-not", Call, simplify_not),
    Rule("simplify-case", Case, simplify_case),
    Rule("simplify-coalesce", Call, simplify_coalesce),
    Rule("simplify-null-test", Call, simplify_null_test),
)
MERGE: Final = (
    Rule("drop-true-filter", Filter, drop_true_filter),
    Rule("drop-identity-project", Project, drop_identity_project),
    Rule("merge-filters", Filter, merge_filters, opens_inputs=True),
    Rule("merge-projects", Project, merge_projects, opens_inputs=True),
)
PUSHDOWN: Final = (
    Rule("pushdown-filter-project", Filter, pushdown_filter_project, opens_inputs=True),
    Rule("pushdown-filter-union", Filter, pushdown_filter_union, opens_inputs=True),
    Rule("pushdown-filter-array", Filter, pushdown_filter_array, opens_inputs=True),
    Rule("pushdown-filter-windows", Filter, pushdown_filter_windows, opens_inputs=True),
    Rule("pushdown-filter-join", Filter, pushdown_filter_join, opens_inputs=True),
    Rule("pushdown-filter-aggregate", Filter, pushdown_filter_aggregate, opens_inputs=True),
    Rule("pushdown-filter-over", Filter, pushdown_filter_over, opens_inputs=True),
    Rule("pushdown-filter-rank", Filter, pushdown_filter_rank, opens_inputs=True),
    Rule("bound-rank", Filter, bound_rank, opens_inputs=True),
)
PRUNE: Final = (Rule("prune-columns", Job, prune_columns),)
LIMIT: Final = (Rule("limit-collected", Project, limit_collected),)

PASSES: Final = (
    Pass("simplify", (*SIMPLIFY, *MERGE)),
    # A predicate that moves may meet constants, and be placed above another filter.
    Pass("pushdown", (*SIMPLIFY, *MERGE, *PUSHDOWN)),
    # Pruning comes last, because moving a predicate changes which columns are read where.  Pushdown
    # is not repeated, because it would lift the projections that select columns above the filters.
    Pass("prune", PRUNE),
    Pass("tidy", (*MERGE, *LIMIT)),
)
"""The passes between the binder and lowering, in this order."""
