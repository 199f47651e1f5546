"""Files of properties: what a connector hands to the client of the other side, such as passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings


def properties_of(
    settings: Settings, context: ConnectorContext, may_be_set: Callable[[str], bool]
) -> Mapping[str, str]:
    """Return the lines `NAME=VALUE` of the file that the option `properties` names, none without one.

    `may_be_set` says of which names; others could load code, or change what the connector relies on.

    Raises:
        FsqlError: E531 or E533, if the file cannot be read; E534, if a line is not valid.
    """
    named = settings.optional("properties")
    if named is None:
        return {}
    path = context.resolve(named)
    helps = (f"see the option in the documentation: fsql connectors {settings.connector.name}",)

    def invalid(line: int, reason: str) -> FsqlError:
        return FsqlError([Diagnostic("E534", f'"{path}", line {line}: {reason}', helps=helps)])

    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise paths.open_error("E531", path, error) from None
    except UnicodeDecodeError:
        raise invalid(1, "the file is not UTF-8") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals:
            raise invalid(number, "a line is NAME=VALUE")
        if not may_be_set(name):
            raise invalid(number, f"property '{name}' cannot be set here")
        if name in found:
            raise invalid(number, f"property '{name}' is set more than once")
        found[name] = value
    return found
