"""Show how a seed went and how it failed: `python -m fsql.tests.simulation.replay 17 [SECONDS]`."""

from __future__ import annotations

import sys

from fsql.runtime.simulation.diagram import text_of
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.simulation.workloads import generated


def main(seed: int, seconds: int = 60) -> None:
    """Run a seed and print its last events."""
    workload, expected = generated(seed)
    result = run(seed, workload, expected, Plan(seconds=seconds))
    sys.stdout.write(f"{result.settings}\n\n{text_of(result.last[-100:])}\n\n")
    sys.stdout.write(f"{result.failure or 'nothing is wrong'}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
