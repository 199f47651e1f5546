"""Finds the compiled modules of fsql without the searches of Python's finders.

A command imports some 500 modules of this package.  For each, Python looks in the listing of a folder, for
all suffixes that a module may have, and takes more time to find the byte code than to execute it.  The finder
of this module opens the file in `__pycache__` at once.  It takes what Python would take: byte code of this
interpreter, made from the source of the same time and size.  Whatever else there is, it leaves to Python,
which compiles the source.

Decision 71 has the figures.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from marshal import loads
from os import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

_PREFIX: Final = f"{__name__.partition('.')[0]}."
_SUFFIX: Final = f".{sys.implementation.cache_tag}.pyc"
_HEADER_BYTES: Final = 16
_BY_TIME: Final = MAGIC_NUMBER + bytes(4)
"""How byte code begins that is valid for a time and a size of its source, and not for a hash."""


class _CompiledLoader(SourceFileLoader):
    """Executes code that has been read, and is for all other purposes the loader of the source."""

    code: CodeType | None = None

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module; what was read with the search is kept for the first call only."""
        code, self.code = self.code, None
        return super().get_code(fullname) if code is None else code


class CompiledModules:
    """Finds modules of this package whose byte code is up to date, and leaves all others to Python."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or not name.startswith(_PREFIX) or len(path) != 1:
            return None
        folder, last = path[0], name.rpartition(".")[2]
        source, cached = f"{folder}/{last}.py", f"{folder}/__pycache__/{last}{_SUFFIX}"
        package = None
        try:
            try:
                status = stat(source)  # noqa: PTH116 - a path would take longer
            except FileNotFoundError:
                package = f"{folder}/{last}"
                source, cached = (
                    f"{package}/__init__.py",
                    f"{package}/__pycache__/__init__{_SUFFIX}",
                )
                status = stat(source)  # noqa: PTH116
            with open(cached, "rb", 0) as file:  # noqa: PTH123 - the commonest call of a start
                content = file.read()
        except OSError:
            return None
        made_from = int(status.st_mtime).to_bytes(8, "little")[:4]
        made_from += (status.st_size & 0xFFFFFFFF).to_bytes(4, "little")
        if content[:_HEADER_BYTES] != _BY_TIME + made_from:
            return None
        loader = _CompiledLoader(name, source)
        loader.code = loads(memoryview(content)[_HEADER_BYTES:])  # noqa: S302 - as Python does
        spec = ModuleSpec(name, loader, origin=source, is_package=package is not None)
        spec.has_location = True
        spec.cached = cached
        if package is not None:
            spec.submodule_search_locations = [package]
        return spec


def find_compiled_modules() -> None:
    """Find modules of this package by their byte code from now on, if it is where Python writes it.

    The finders that others have put before Python's own remain before this one.
    """
    finders = sys.meta_path
    usual = sys.pycache_prefix is None and not sys.flags.optimize
    if usual and PathFinder in finders and CompiledModules not in finders:
        finders.insert(finders.index(PathFinder), CompiledModules)
