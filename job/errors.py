"""The exceptions of the library: one class for each kind of error.

| exception        | codes        | cause                                                  |
|------------------|--------------|--------------------------------------------------------|
| `QueryError`     | E1xx to E4xx | the text of the query                                  |
| `DataError`      | E50x to E52x | a row: an expression failed on it, or it is malformed  |
| `ConnectorError` | E53x, E54x   | a source, a sink, or a table handed in                 |
| `SessionError`   | E545         | a call that the state of a session does not allow      |
| `ClusterError`   | E6xx         | processes, state, coordination                         |

All are `FsqlError`: they have `diagnostics`, `code`, and a text with an excerpt of the query.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_text

if TYPE_CHECKING:
    from collections.abc import Iterator


class LibraryError(FsqlError):
    """The base class of the library's exceptions, whose texts have an excerpt of the query."""

    @property
    def code(self) -> str:
        """Return the code of the first diagnostic, such as `E203`."""
        return self.diagnostics[0].code

    def __str__(self) -> str:
        """Return the message, with the lines of the query and the help."""
        return render_text(self.diagnostics, self.source).rstrip("\n")


class QueryError(LibraryError):
    """The text of the query is wrong."""


class DataError(LibraryError):
    """The query failed on a row, or a row is malformed."""


class ConnectorError(LibraryError):
    """A source or a sink cannot be used."""


class SessionError(LibraryError):
    """A session, or one of its tables or queries, does not allow the call in its state."""


class ClusterError(LibraryError):
    """Processes, state or coordination failed."""


_KINDS: Final = (
    ("E545", SessionError),
    ("E53", ConnectorError),
    ("E54", ConnectorError),
    ("E5", DataError),
    ("E6", ClusterError),
)


@contextmanager
def raise_typed_errors() -> Iterator[None]:
    """Raise each `FsqlError` as the class of its kind.

    Raises:
        LibraryError: instead of the FsqlError.
    """
    try:
        yield
    except LibraryError:
        raise
    except FsqlError as error:
        raise _library_error(error) from None


def _library_error(error: FsqlError) -> LibraryError:
    code = error.diagnostics[0].code
    kind = next((kind for prefix, kind in _KINDS if code.startswith(prefix)), QueryError)
    return kind(error.diagnostics, error.source)
