"""The declarations of connectors and formats: complete, without contradictions, and backed by modules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import fsql.connectors
import fsql.formats
from fsql.compiler.connectors import FORMAT, Connector, Effect, Format, Layout
from fsql.connectors.declared import DECLARED
from fsql.job.compilation import compile_job
from fsql.job.description import plan_digest
from fsql.job.script_file import script_of_text


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


def test_options_that_can_change_while_a_job_keeps_its_state() -> None:
    """All other options change which rows there are, or which bytes are written."""
    generated = ("rate", "start_ms", "peak_rate", "peak_start_ms", "peak_ms")
    pace, times, presence, stops = Effect.PACE, Effect.TIMES, Effect.PRESENCE, Effect.STOPS
    lines = ("json", "text", "csv", "debezium-json")
    declared = {each.name: each.options for each in DECLARED.connectors}
    declared |= {each.name: each.options for each in DECLARED.formats}
    assert {
        (name, option.key): option.effect
        for name, options in declared.items()
        for option in options
        if option.effect is not Effect.ROWS
    } == {
        ("file", "source.monitor-interval"): presence,
        **{
            (name, "log_mib"): pace
            for name in ("file", "stdin", "socket", "http", "kafka", "postgres")
        },
        ("tcp", "key"): pace,
        **{("http", key): pace for key in ("token_file", "max_request_bytes")},
        **{("kafka", key): pace for key in ("servers", "properties")},
        **{("postgres", key): pace for key in ("url", "properties", "create")},
        **{(name, key): pace for name in ("words", "documents", "datagen") for key in generated},
        ("datagen", "rate"): times,
        ("nexmark", "rate"): pace,
        **{(name, "max_record_bytes"): stops for name in lines},
    }


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("'connector' = 'words', 'count' = '3'", "'connector' = 'words', 'count' = '4'", "other"),
        (
            "'connector' = 'words', 'rate' = '3', 'peak_rate' = '5'",
            "'connector' = 'words', 'start_ms' = '4'",
            "same",
        ),
        ("'connector' = 'datagen', 'rate' = '3'", "'connector' = 'datagen', 'rate' = '4'", "same"),
        (
            "'connector' = 'socket', 'address' = '127.0.0.1:1', 'log_mib' = '1'",
            "'connector' = 'socket', 'address' = '127.0.0.1:1'",
            "same",
        ),
        (
            "'connector' = 'file', 'path' = 'a', 'source.monitor-interval' = '1 s'",
            "'connector' = 'file', 'path' = 'a', 'source.monitor-interval' = '2 s'",
            "same",
        ),
        (
            "'connector' = 'file', 'path' = 'a', 'source.monitor-interval' = '1 s'",
            "'connector' = 'file', 'path' = 'a'",
            "other",
        ),
        (
            "'connector' = 'file', 'path' = 'a', 'max_record_bytes' = '5'",
            "'connector' = 'file', 'path' = 'a'",
            "same",
        ),
        (
            "'connector' = 'file', 'path' = 'a', 'on_error' = 'reject', 'max_record_bytes' = '5'",
            "'connector' = 'file', 'path' = 'a', 'on_error' = 'reject'",
            "other",
        ),
    ],
)
def test_plans_are_equal_if_only_such_options_differ(first: str, second: str, same: str) -> None:
    assert (digest_of("line STRING", first) == digest_of("line STRING", second)) is (same == "same")


@pytest.mark.parametrize(
    ("columns", "step", "same"),
    [
        ("line STRING, at TIMESTAMP(3)", "", "other"),
        ("line STRING, at TIMESTAMP(3)", ", 'fields.at.step' = '1 s'", "same"),
        ("line STRING, of ROW<at TIMESTAMP(3)>", "", "other"),
    ],
)
def test_the_rate_of_datagen_is_the_step_of_its_times(columns: str, step: str, same: str) -> None:
    one, two = (f"'connector' = 'datagen', 'rate' = '{rate}'{step}" for rate in (3, 4))
    assert (digest_of(columns, one) == digest_of(columns, two)) is (same == "same")


def digest_of(columns: str, options: str) -> str:
    """Return the digest of the plan of a job that reads a table."""
    text = (
        f"CREATE TABLE t ({columns}) WITH ({options});\n"
        "CREATE TABLE o (line STRING) WITH ('connector' = 'blackhole');\n"
        "INSERT INTO o SELECT line FROM t;\n"
    )
    return plan_digest(compile_job(script_of_text(text, {})))


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
