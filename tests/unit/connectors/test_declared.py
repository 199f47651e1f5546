"""The declarations of connectors and formats: complete, without contradictions, and backed by modules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import fsql.connectors
import fsql.formats
from fsql.compiler.connectors import FORMAT, Connector, Format, Layout
from fsql.connectors.declared import DECLARED


def _names(connector: Connector | Format) -> str:
    return connector.name


@pytest.mark.parametrize("connector", DECLARED.connectors, ids=_names)
def test_what_a_connector_declares_has_its_modules(connector: Connector) -> None:
    wanted = {"source": connector.reads, "sink": connector.writes}
    folder = Path(fsql.connectors.__path__[0]) / connector.name
    assert {name: (folder / f"{name}.py").is_file() for name in wanted} == wanted
    for name in (each for each, there in wanted.items() if there):
        module = import_module(f"fsql.connectors.{connector.name}.{name}")
        assert callable(getattr(module, f"open_{name}"))


MODULES = {
    Layout.LINES: {"decoder": "make_decoder", "encoder": "make_encoder"},
    Layout.FILE: {"split": "make_split", "parts": "make_parts"},
}


@pytest.mark.parametrize("format_", DECLARED.formats, ids=_names)
def test_what_a_format_declares_has_its_modules(format_: Format) -> None:
    for name, function in MODULES[format_.layout].items():
        module = import_module(f"fsql.formats.{format_.name.replace('-', '_')}.{name}")
        assert callable(getattr(module, function))


@pytest.mark.parametrize("package", [fsql.connectors, fsql.formats], ids=lambda each: each.__name__)
def test_every_folder_with_a_declaration_is_declared(package: object) -> None:
    folder = Path(package.__path__[0])  # type: ignore[attr-defined]
    found = {
        path.parent.name
        for path in folder.glob("*/options.py")
        if hasattr(import_module(f"{package.__name__}.{path.parent.name}.options"), "CONNECTOR")  # type: ignore[attr-defined]
        or (
            hasattr(import_module(f"{package.__name__}.{path.parent.name}.options"), "FORMAT")  # type: ignore[attr-defined]
            and package is fsql.formats
        )
    }
    declared = DECLARED.connectors if package is fsql.connectors else DECLARED.formats
    assert found == {each.name.replace("-", "_") for each in declared}


@pytest.mark.parametrize("connector", DECLARED.connectors, ids=_names)
def test_options_are_sound(connector: Connector) -> None:
    assert (FORMAT.key in connector.keys) == bool(connector.layouts)
    for format_ in (*(each.name for each in DECLARED.formats_of(connector)), ""):
        merged = DECLARED.with_format(connector, format_)
        assert len(set(merged.keys)) == len(merged.keys)
        for option in merged.options:
            assert option.default is None or option.takes(option.default), option.key
            assert not (option.required and option.default is not None), option.key
            assert option.about, option.key
