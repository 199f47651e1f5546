"""The layout of scripts: `format_script` only changes spaces, line ends and the case of keywords."""

from __future__ import annotations

from fsql.compiler.formatter.layout import format_script

__all__ = ["format_script"]
