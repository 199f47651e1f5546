"""The result tables, computed from weighted rows: shared by all collectors, which differ in how they sum.

The values to sum are written as arithmetic on columns: NumPy arrays in the built-in collector, expressions in
that of Spark.  Both compute in float64, one operation after the other, so their results are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from fsql.compiler.statistics import AGES_PER_OCTAVE
from fsql.optimizer.collectors.results import Sums, cost_of
from fsql.optimizer.condition_pairs import condition_pairs
from fsql.optimizer.statistics import (
    ConditionPair,
    Cost,
    Disorder,
    FoldLoad,
    FrontLoad,
    HeavyKey,
    Latency,
    LinkLoad,
    Load,
    OperatorLoad,
    Statistics,
    WorkerLoad,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SPAN_TABLES: Final = ("operators", "folds", "fronts")
"""The tables that show which workers were present, and when."""


class Weighted(Protocol):
    """The columns of a table, and the `Weight` of the span of each row, for present workers."""

    seconds: Any
    smooth: Any
    is_newest: Any

    def column(self, name: str) -> Any:  # noqa: ANN401 - a column, in the form of the collector
        """Return the numbers of a column."""


class Group(NamedTuple):
    """Sums that a collector computes: of some values of a table, for each key.

    The values of a key are added in ascending order, so that a sum does not depend on the order of rows.
    The result has a row for each key, in the order of the keys, with the keys and the sums by name.
    """

    table: str
    keys: tuple[str, ...]
    values: Callable[[Weighted], dict[str, Any]]


Rows: TypeAlias = "Sequence[Mapping[str, Any]]"
"""The rows with the sums of a group."""


def statistics_of(sums: Mapping[str, Rows], problems: Sequence[str]) -> Statistics:
    """Return all result tables, from the sums of each of the `GROUPS`."""
    loads = _loads(sums["loads"])
    return Statistics(
        loads,
        _heavy(sums["heavy"], loads),
        _costs(sums["costs"]),
        _folds(sums["folds"]),
        _fronts(sums["fronts"]),
        _workers(sums["workers"]),
        _operators(sums["operators"]),
        _disorder(sums["disorder"]),
        _pairs(sums["costs"]),
        _latency(sums["latency"]),
        _links(sums["links"]),
        tuple(problems),
    )


def _load_values(bins: Weighted) -> dict[str, Any]:
    rows = bins.column("rows")
    return {
        "smooth": rows * bins.smooth,
        "newest": rows * bins.is_newest / bins.seconds,
        "bytes": bins.column("bytes") * bins.smooth,
        "negative": bins.column("negative_rows") * bins.smooth,
    }


def _loads(sums: Rows) -> tuple[Load, ...]:
    return tuple(
        Load(
            each["operator"],
            each["side"],
            each["bin"],
            each["smooth"],
            each["newest"] - each["smooth"],
            each["bytes"],
            each["negative"] / each["smooth"] if each["smooth"] > 0 else None,
        )
        for each in sums
    )


def _heavy_values(heavy: Weighted) -> dict[str, Any]:
    return {name: heavy.column(name) * heavy.smooth for name in ("rows", "error")}


def _heavy(sums: Rows, loads: tuple[Load, ...]) -> tuple[HeavyKey, ...]:
    total: dict[tuple[str, int], float] = {}
    for load in loads:
        side = load.operator, load.side
        total[side] = total.get(side, 0.0) + load.rows_per_second
    return tuple(
        HeavyKey(
            *(each["operator"], each["side"], each["hash"], each["key"]),
            *(each["rows"] / whole, each["error"] / whole),
        )
        for each in sums
        if (whole := total.get((each["operator"], each["side"]), 0.0)) > 0
    )


def _cost_values(operators: Weighted) -> dict[str, Any]:
    rows, calls = operators.column("rows_in"), operators.column("calls")
    out, busy = operators.column("rows_out"), operators.column("busy_ns") / 1e9
    smooth = operators.smooth
    return {
        "rr": rows * rows, "rc": rows * calls, "cc": calls * calls, "rt": rows * busy, "ct": calls * busy,
        "rows": rows * smooth, "calls": calls * smooth, "out": out * smooth, "busy": busy * smooth,
    }  # fmt: skip


def _costs(sums: Rows) -> tuple[Cost, ...]:
    return tuple(
        Cost(
            *(each["operator"], each["rows"], each["calls"], each["busy"]),
            *cost_of(Sums(*(each[name] for name in Sums._fields))),
            each["out"] / each["rows"] if each["rows"] > 0 else None,
        )
        for each in sums
    )


def _fold_values(folds: Weighted) -> dict[str, Any]:
    values = {
        name: folds.column(name) * folds.smooth
        for name in ("applied", "redone", "held", "rewinds", "would_redo")
    }
    return values | {
        "hold": folds.column("hold_us") / 1e6 * folds.smooth,
        "changed": folds.column("changed_keys") * folds.is_newest,
        "state": folds.column("state_rows") * folds.is_newest,
        "bytes": folds.column("state_bytes") * folds.is_newest,
        "newest": folds.is_newest,
    }


def _folds(sums: Rows) -> tuple[FoldLoad, ...]:
    return tuple(
        FoldLoad(
            *(each["operator"], each["policy"]),
            each["redone"] / each["applied"] if each["applied"] > 0 else None,
            each["held"] / each["applied"] if each["applied"] > 0 else None,
            round(each["state"]),
            round(each["bytes"]),
            each["rewinds"],
            each["hold"] / each["held"] if each["held"] > 0 else None,
            round(each["changed"]),
            each["would_redo"] / each["applied"] if each["applied"] > 0 else None,
        )
        for each in sums
        if each["newest"] > 0
    )


def _disorder_values(folds: Weighted) -> dict[str, Any]:
    names = (
        *("applied", "redone", "held", "would_redo"),
        *("batches", "disordered", "advances"),
    )
    values = {name: folds.column(name) / folds.seconds for name in names}
    return values | {"waiting": folds.column("hold_us") / 1e6 / folds.seconds}


def _disorder(sums: Rows) -> tuple[Disorder, ...]:
    return tuple(Disorder(*(each[name] for name in Disorder._fields)) for each in sums)


def _front_values(fronts: Weighted) -> dict[str, Any]:
    values = {name: fronts.column(name) * fronts.smooth for name in ("rows", "bytes")}
    return values | {
        "lag": fronts.column("lag_us") * fronts.is_newest / 1e6,
        "blocked": fronts.column("blocked_us") / 1e6 * fronts.smooth,
    }


def _fronts(sums: Rows) -> tuple[FrontLoad, ...]:
    return tuple(
        FrontLoad(
            *(each["table"], each["split"], each["rows"], each["bytes"], each["lag"]),
            each["rows"] / mean if (mean := _mean(sums, each["table"])) > 0 else None,
            each["blocked"],
        )
        for each in sums
    )


def _mean(sums: Rows, table: str) -> float:
    rates: list[float] = [each["rows"] for each in sums if each["table"] == table]
    return sum(rates) / len(rates)


def _pairs(sums: Rows) -> tuple[ConditionPair, ...]:
    return condition_pairs({each["operator"]: (each["rows"], each["out"]) for each in sums})


def _latency_values(latency: Weighted) -> dict[str, Any]:
    return {"chunks": latency.column("chunks") * latency.smooth}


def _latency(sums: Rows) -> tuple[Latency, ...]:
    by_table: dict[str, list[tuple[int, float]]] = {}
    for each in sums:
        by_table.setdefault(each["table"], []).append((each["bucket"], each["chunks"]))
    return tuple(
        Latency(
            *(table, sum(chunks for _, chunks in ages)),
            *(_quantile(ages, part) for part in (0.5, 0.99)),
        )
        for table, ages in sorted(by_table.items())
    )


def _quantile(ages: Sequence[tuple[int, float]], part: float) -> float:
    """Return the upper end, in seconds, of the bucket that contains a quantile of the chunks."""
    wanted, so_far, last = part * sum(chunks for _, chunks in ages), 0.0, 0
    for last, chunks in ages:  # noqa: B007 - it is read after the loop
        so_far += chunks
        if so_far >= wanted:
            break
    return float(2 ** ((last + 1) / AGES_PER_OCTAVE) / 1e6)


def _link_values(links: Weighted) -> dict[str, Any]:
    values = {name: links.column(name) * links.smooth for name in ("frames", "bytes", "resent")}
    return values | {"busy": links.column("busy_ns") / 1e9 * links.smooth}


def _links(sums: Rows) -> tuple[LinkLoad, ...]:
    return tuple(
        LinkLoad(
            *(each["worker"], each["peer"], each["frames"], each["bytes"]),
            each["resent"] / each["frames"] if each["frames"] > 0 else None,
            each["busy"],
        )
        for each in sums
    )


def _worker_values(operators: Weighted) -> dict[str, Any]:
    return {
        name: operators.column(f"{name}_ns") / 1e9 / operators.seconds
        for name in ("busy", "elapsed")
    }


def _workers(sums: Rows) -> tuple[WorkerLoad, ...]:
    return tuple(
        WorkerLoad(each["interval"], each["worker"], each["busy"], each["elapsed"]) for each in sums
    )


def _operator_values(operators: Weighted) -> dict[str, Any]:
    return {"busy": operators.column("busy_ns") / 1e9 / operators.seconds}


def _operators(sums: Rows) -> tuple[OperatorLoad, ...]:
    return tuple(
        OperatorLoad(each["interval"], each["worker"], each["operator"], each["busy"])
        for each in sums
    )


GROUPS: Final = {
    "loads": Group("bins", ("operator", "side", "bin"), _load_values),
    "heavy": Group("heavy", ("operator", "side", "hash", "key"), _heavy_values),
    "costs": Group("operators", ("operator",), _cost_values),
    "folds": Group("folds", ("operator", "policy"), _fold_values),
    "fronts": Group("fronts", ("table", "split"), _front_values),
    "latency": Group("latency", ("table", "bucket"), _latency_values),
    "links": Group("links", ("worker", "peer"), _link_values),
    "workers": Group("operators", ("interval", "worker"), _worker_values),
    "operators": Group("operators", ("interval", "worker", "operator"), _operator_values),
    "disorder": Group("folds", ("interval", "operator", "policy"), _disorder_values),
}
"""The groups from which the result tables are computed, by name."""
