"""Show a case, and how the ways of running it differ: `python -m fsql.tests.property.replay script 17`.

With `--small`, rows are taken out of the input as long as the case still fails, and what remains is shown.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fsql.compiler.explain.plan import logical_text
from fsql.tests.property.cases import case_of
from fsql.tests.property.check import check
from fsql.tests.property.ways import by_oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.tests.property.cases import Case


def failure(case: Case) -> str:
    """Return how the case fails, or nothing."""
    try:
        check(case)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is to be shown
        return f"{type(error).__name__}: {error}"
    return ""


def smaller(case: Case, fails: Callable[[Case], object]) -> Case:
    """Return the case with as few rows as still fail, taken out one after the other."""
    shrunk = True
    while shrunk:
        shrunk = False
        for ordinal, splits in case.inputs.items():
            for number, split in enumerate(splits):
                for row in range(len(split)):
                    fewer = [list(other) for other in splits]
                    del fewer[number][row]
                    candidate = case.with_inputs({**case.inputs, ordinal: fewer})
                    if fails(candidate):
                        case, shrunk = candidate, True
                        break
                if shrunk:
                    break
            if shrunk:
                break
    return case


def main(kind: str, seed: str, *options: str) -> None:
    """Print a case, its plan, what the oracle releases, and how another way differs."""
    case = case_of(kind, int(seed))
    if "--small" in options and failure(case):
        case = smaller(case, failure)
    write = sys.stdout.write
    write(f"{case}\n\n{logical_text(case.job, details=True)}\n\n")
    expected = by_oracle(case.job, case.inputs)
    for insert, lines in zip(case.job.inserts, expected.released, strict=True):
        write(f"{insert.sink.name}:\n")
        write("".join(f"  {root} {text}\n" for root, text in lines))
    write(f"late: {expected.late}\nrejects: {expected.dead_letters}\nerror: {expected.error}\n\n")
    write(failure(case) or "all ways release the same")
    write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
