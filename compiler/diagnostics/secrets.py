"""Texts without secrets: no token or password is printed, logged, or in the list of processes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED: Final = re.compile(
    r"""((?:^(?:-D)?|[;?&\s])[\w.-]*(?:token|password|passwd|secret|api_?key)=)[^;&\s"']+""",
    re.IGNORECASE,
)
_PASSWORD: Final = re.compile(r"""(://[^\s/:@"']*:)[^\s/@"']+(?=@)""")
_HIDDEN: Final = r"\1***"


def without_secrets(text: str) -> str:
    """Return a text in which the tokens and passwords of URLs are replaced by asterisks."""
    if "://" not in text:
        return text
    return _PASSWORD.sub(_HIDDEN, _NAMED.sub(_HIDDEN, text))


def same_length_without_secrets(text: str) -> str:
    """Return a text in which each character of such a token or password is an asterisk."""
    if "://" not in text:
        return text
    for pattern in (_NAMED, _PASSWORD):
        text = pattern.sub(lambda found: found[1] + "*" * (len(found[0]) - len(found[1])), text)
    return text


def shown_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command without secrets in URLs and in parameters that are named so."""
    return [_PASSWORD.sub(_HIDDEN, _NAMED.sub(_HIDDEN, each)) for each in arguments]
