"""The result tables, made from weighted rows: the same for all collectors, which differ in how they sum.

What is summed is written as arithmetic on columns: arrays of NumPy in the built-in collector, expressions in
that of Spark.  Both compute in float64, one operation after the other, so their results are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from fsql.optimizer.collectors.results import Sums, cost_of
from fsql.optimizer.statistics import (
    Cost,
    FoldLoad,
    FrontLoad,
    HeavyKey,
    Load,
    OperatorLoad,
    Statistics,
    WorkerLoad,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SPAN_TABLES: Final = ("operators", "folds", "fronts")
"""The tables that show which workers were there, and when."""
SPANS: Final = ("worker", "interval", "from", "to")
"""The columns that `results.spans_of` takes."""
NEWEST: Final = 2
"""Of how many intervals of each worker there are loads of operators."""


class Weighted(Protocol):
    """The rows of a table of workers that are there, each with the `Weight` of its span."""

    seconds: Any
    smooth: Any
    is_newest: Any

    def column(self, name: str) -> Any:  # noqa: ANN401 - a column, in the form of the collector
        """Return the numbers of a column."""

    def sums(self, keys: list[str], values: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the sums of some values for each key, in the order of the keys.

        The values of a key are added in ascending order, so that a sum does not depend on the order of rows.
        """


def statistics_of(tables: Mapping[str, Weighted], problems: Sequence[str]) -> Statistics:
    """Return all result tables."""
    loads = _loads(tables["bins"])
    return Statistics(
        loads,
        _heavy(tables["heavy"], loads),
        _costs(tables["operators"]),
        _folds(tables["folds"]),
        _fronts(tables["fronts"]),
        _workers(tables["operators"]),
        _operators(tables["operators"]),
        tuple(problems),
    )


def _loads(bins: Weighted) -> tuple[Load, ...]:
    rows = bins.column("rows")
    values = {"smooth": rows * bins.smooth, "newest": rows * bins.is_newest / bins.seconds}
    return tuple(
        Load(
            each["operator"],
            each["side"],
            each["bin"],
            each["smooth"],
            each["newest"] - each["smooth"],
        )
        for each in bins.sums(["operator", "side", "bin"], values)
    )


def _heavy(heavy: Weighted, loads: tuple[Load, ...]) -> tuple[HeavyKey, ...]:
    total: dict[tuple[str, int], float] = {}
    for load in loads:
        side = load.operator, load.side
        total[side] = total.get(side, 0.0) + load.rows_per_second
    values = {name: heavy.column(name) * heavy.smooth for name in ("rows", "error")}
    return tuple(
        HeavyKey(
            *(each["operator"], each["side"], each["hash"], each["key"]),
            *(each["rows"] / whole, each["error"] / whole),
        )
        for each in heavy.sums(["operator", "side", "hash", "key"], values)
        if (whole := total.get((each["operator"], each["side"]), 0.0)) > 0
    )


def _costs(operators: Weighted) -> tuple[Cost, ...]:
    rows, calls = operators.column("rows_in"), operators.column("calls")
    out, busy = operators.column("rows_out"), operators.column("busy_ns") / 1e9
    smooth = operators.smooth
    values = {
        "rr": rows * rows, "rc": rows * calls, "cc": calls * calls, "rt": rows * busy, "ct": calls * busy,
        "rows": rows * smooth, "calls": calls * smooth, "out": out * smooth, "busy": busy * smooth,
    }  # fmt: skip
    return tuple(
        Cost(
            *(each["operator"], each["rows"], each["calls"], each["busy"]),
            *cost_of(Sums(*(each[name] for name in Sums._fields))),
            each["out"] / each["rows"] if each["rows"] > 0 else None,
        )
        for each in operators.sums(["operator"], values)
    )


def _folds(folds: Weighted) -> tuple[FoldLoad, ...]:
    values = {name: folds.column(name) * folds.smooth for name in ("applied", "redone", "held")}
    values |= {"state": folds.column("state_rows") * folds.is_newest, "newest": folds.is_newest}
    return tuple(
        FoldLoad(
            *(each["operator"], each["policy"]),
            each["redone"] / each["applied"] if each["applied"] > 0 else 0.0,
            each["held"] / each["applied"] if each["applied"] > 0 else 0.0,
            round(each["state"]),
        )
        for each in folds.sums(["operator", "policy"], values)
        if each["newest"] > 0
    )


def _fronts(fronts: Weighted) -> tuple[FrontLoad, ...]:
    values = {name: fronts.column(name) * fronts.smooth for name in ("rows", "bytes")}
    values["lag"] = fronts.column("lag_us") * fronts.is_newest / 1e6
    found = fronts.sums(["table", "split"], values)
    return tuple(
        FrontLoad(
            *(each["table"], each["split"], each["rows"], each["bytes"], each["lag"]),
            each["rows"] / mean if (mean := _mean(found, each["table"])) > 0 else 1.0,
        )
        for each in found
    )


def _mean(found: Sequence[dict[str, Any]], table: str) -> float:
    rates: list[float] = [each["rows"] for each in found if each["table"] == table]
    return sum(rates) / len(rates)


def _workers(operators: Weighted) -> tuple[WorkerLoad, ...]:
    values = {
        name: operators.column(f"{name}_ns") / 1e9 / operators.seconds
        for name in ("busy", "elapsed")
    }
    return tuple(
        WorkerLoad(each["interval"], each["worker"], each["busy"], each["elapsed"])
        for each in operators.sums(["interval", "worker"], values)
    )


def _operators(operators: Weighted) -> tuple[OperatorLoad, ...]:
    busy = operators.column("busy_ns") / 1e9 / operators.seconds
    found = operators.sums(["interval", "worker", "operator"], {"busy": busy})
    intervals: dict[int, set[int]] = {}
    for each in found:
        intervals.setdefault(each["worker"], set()).add(each["interval"])
    newest = {worker: sorted(of)[-NEWEST:] for worker, of in intervals.items()}
    return tuple(
        OperatorLoad(each["interval"], each["worker"], each["operator"], each["busy"])
        for each in found
        if each["interval"] in newest[each["worker"]]
    )
