"""Replaces the expected results in a file of cases by the actual ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.job.cases.case_file import CaseFile
    from fsql.job.cases.case_run import CaseResult


def record_results(file: CaseFile, results: Sequence[CaseResult]) -> str:
    """Return the text of a file with the actual results of its cases; cases that pass are unchanged.

    A case that expects nothing gets a block for each table that its script writes.
    """
    changes: list[tuple[int, int, str]] = []
    for result in results:
        actual = result.actual or {}
        for block in (each.block for each in result.differences):
            key = (block.role, block.name, block.language)
            if key in actual:
                changes.append((block.span.start, block.span.end, actual[key]))
        if not result.case.expected and actual:
            added = "".join(
                f"\n```{language} {role} {name}\n{text}```\n"
                for (role, name, language), text in actual.items()
            )
            before = file.source.text[: result.case.end].rstrip()
            gap = "\n" if result.case.end < len(file.source.text) else ""
            changes.append((len(before), result.case.end, f"\n{added}{gap}"))
    text = file.source.text
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text
