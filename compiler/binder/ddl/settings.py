"""SET: the settings of this language; those of others come with what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.ddl.time_to_live import read_duration
from fsql.compiler.binder.expressions.time_zone import check_zone_setting, is_zone_setting
from fsql.compiler.binder.report import Refusal, refusal

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.report import Report


IDLE: Final = "table.exec.source.idle-timeout"


def idle_of_script(script: syntax.Script) -> str | None:
    """Return the option `idle` that the script sets for all live tables with a WATERMARK; None for none.

    `check_setting` reports the errors in it.
    """
    for statement in script.statements:
        if isinstance(statement, syntax.SetOption) and _is_idle(statement):
            try:
                return _idle_value(statement)
            except Refusal:
                return None
    return None


def _idle_value(written: syntax.SetOption) -> str | None:
    """Return the value of the option `idle` that a SET gives; None for 0.

    Raises:
        Refusal: E224, if it is not a duration.
    """
    lifetime = read_duration(written.value.value, written.value.span, f"setting '{IDLE}'")
    return None if lifetime is None else f"{lifetime.idle_us // 1000} ms"


def _is_idle(written: syntax.SetOption) -> bool:
    return written.key.value.strip().lower() == IDLE


def check_setting(written: syntax.SetOption, zone: str, idle: str | None, report: Report) -> None:
    """Check a setting, and report what is said of it.

    `zone` and `idle` are the script's.

    Raises:
        Refusal: E224, if the setting is unknown or would change results.
    """
    if is_zone_setting(written):
        check_zone_setting(written, zone)
    elif _is_idle(written):
        if _idle_value(written) != idle:
            raise refusal(
                "E224",
                f"setting '{IDLE}' has two values",
                written.value.span,
                help="write the option 'idle' in WITH of each live table",
            )
    else:
        report.say(written.remarks or syntax.Remarks())
