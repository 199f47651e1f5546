"""Modules are found by their byte code if, and only if, Python would take it."""

from __future__ import annotations

import inspect
import py_compile
import sys
from importlib.util import module_from_spec
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.compiled_modules import CompiledModules

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType

SOURCE = '"""A sample."""\nVALUE = 1\n\ndef value():\n    return VALUE\n'
MODES = py_compile.PycInvalidationMode


@pytest.fixture(autouse=True)
def _byte_code_is_beside_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)


def found(folder: Path) -> ModuleSpec | None:
    return CompiledModules.find_spec("fsql.sample", [str(folder)])


def loaded(spec: ModuleSpec | None) -> ModuleType:
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["sample.py", "sample/__init__.py"])
def test_a_compiled_module_is_what_python_would_import(name: str, tmp_path: Path) -> None:
    source = tmp_path / name
    source.parent.mkdir(exist_ok=True)
    source.write_text(SOURCE)
    assert found(tmp_path) is None
    cached = py_compile.compile(str(source), invalidation_mode=MODES.TIMESTAMP)
    module = loaded(found(tmp_path))
    assert (module.value(), module.__doc__) == (1, "A sample.")
    assert (module.__file__, module.__cached__) == (str(source), cached)
    package = str(source.parent) if "/" in name else None
    assert getattr(module, "__path__", [None])[0] == package
    assert inspect.getsource(module.value) == "def value():\n    return VALUE\n"
    assert loaded(found(tmp_path)).value() == 1


def test_a_source_that_has_changed_is_left_to_python(tmp_path: Path) -> None:
    source = tmp_path / "sample.py"
    source.write_text(SOURCE)
    py_compile.compile(str(source), invalidation_mode=MODES.TIMESTAMP)
    source.write_text(SOURCE + "\n")
    assert found(tmp_path) is None


def test_byte_code_of_other_kinds_is_left_to_python(tmp_path: Path) -> None:
    source = tmp_path / "sample.py"
    source.write_text(SOURCE)
    cached = py_compile.compile(str(source), invalidation_mode=MODES.CHECKED_HASH)
    assert cached is not None
    assert found(tmp_path) is None
    (tmp_path / "__pycache__" / cached.rpartition("/")[2]).write_bytes(b"")
    assert found(tmp_path) is None


def test_modules_of_others_are_left_to_python(tmp_path: Path) -> None:
    source = tmp_path / "sample.py"
    source.write_text(SOURCE)
    py_compile.compile(str(source), invalidation_mode=MODES.TIMESTAMP)
    assert CompiledModules.find_spec("other.sample", [str(tmp_path)]) is None
    assert CompiledModules.find_spec("fsql.sample", [str(tmp_path), str(tmp_path)]) is None
    assert CompiledModules.find_spec("fsql") is None
