"""Reasons for the decisions of a plan or a tick: data, from which sentences are printed.

What a reason says about is its subject, so a decision is found by comparing subjects, and whether it changes
something is a flag: names of tables and operators, which are part of the text, never decide anything.
"""

from __future__ import annotations

from fsql.compiler.records import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is as it is, or `changes`; without a subject, the text is a whole sentence.

    >>> str(Reason("linger of words", "20 ms, was none; calls take 52% of worker 0", changes=True))
    'linger of words: 20 ms, was none; calls take 52% of worker 0'
    """

    subject: str
    text: str
    changes: bool = False

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{self.subject}: {self.text}" if self.subject else self.text
