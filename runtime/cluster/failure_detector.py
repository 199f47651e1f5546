"""How long a node may be silent before it is given up: longer, where giving it up has led nowhere.

Contract.  A node that is at one long step is as silent as one that is gone, and would be as silent in the
next epoch, and the one after it.  So each epoch that is lost to silence, where no output has got anything
since the last one that was, doubles what the next one bears, from `failure_after` to `failure_after_most`.
It is never made less: a job with steps that long has more of them.

Not promised: that a step ends.  Processes that have ended are told of by who started them, at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.batch import START

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.job_spec import Settings


class Patience:
    """The patience of one coordinator, and of the workers that it leads."""

    def __init__(self, settings: Settings) -> None:
        self.seconds = settings.failure_after
        self._most = settings.failure_after_most
        self._done = START

    def lost_to_silence(self, done: Root) -> None:
        """Learn that an epoch was lost to silence, after which all outputs have what is below `done`."""
        if done <= self._done:
            self.seconds = max(self.seconds, min(2 * self.seconds, self._most))
        self._done = max(done, self._done)
