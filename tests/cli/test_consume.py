"""`fsql consume`, and runs that send to it."""

from __future__ import annotations

import json
import signal
import socket
from typing import TYPE_CHECKING

import pytest

from fsql.connectors.addresses import loopback
from fsql.tests.cli.commands import NUMBERS, fsql, on_workers, process
from fsql.tests.unit.connectors.test_sources import refusal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.cluster
def test_a_run_sends_its_rows_to_the_consumer(tmp_path: Path) -> None:
    out, times = tmp_path / "out.jsonl", tmp_path / "times.jsonl"
    (tmp_path / "numbers.jsonl").write_text("".join(f'{{"n":{n}}}\n' for n in range(1000)))
    arguments = ("consume", "--listen", "127.0.0.1:0", "--to", out, "--times", times, "--json")
    with process(*arguments) as consumer:
        assert consumer.stderr is not None
        port = json.loads(consumer.stderr.readline())["port"]
        script = tmp_path / "job.sql"
        script.write_text(
            NUMBERS
            + "CREATE TABLE o (n BIGINT)"
            + f" WITH ('connector' = 'tcp', 'address' = '127.0.0.1:{port}');\n"
            + "INSERT INTO o SELECT n FROM numbers WHERE n < 500;\n"
        )
        said = fsql("run", "--quiet", script)
        assert (said.code, said.err) == (0, "")
        consumer.send_signal(signal.SIGINT)
        summary = json.loads(consumer.stderr.read())
        assert consumer.wait() == 130
    assert out.read_text() == "".join(f'{{"n":{n}}}\n' for n in range(500))
    assert summary == {"event": "summary", "rows": 500, "bytes": out.stat().st_size}
    noted = [json.loads(line) for line in times.read_text().splitlines()]
    assert sum(bundle["rows"] for bundle in noted) == 500
    assert [bundle["at"] for bundle in noted] == sorted(bundle["at"] for bundle in noted)


@pytest.mark.cluster
@pytest.mark.parametrize("flags", [(), on_workers("--workers", "2")])
def test_a_consumer_ends_with_the_run(flags: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    (tmp_path / "numbers.jsonl").write_text("".join(f'{{"n":{n}}}\n' for n in range(100)))
    arguments = ("consume", "--listen", "127.0.0.1:0", "--to", out, "--until-end", "--json")
    with process(*arguments) as consumer:
        assert consumer.stderr is not None
        port = json.loads(consumer.stderr.readline())["port"]
        script = tmp_path / "job.sql"
        script.write_text(
            NUMBERS
            + "CREATE TABLE o (n BIGINT)"
            + f" WITH ('connector' = 'tcp', 'address' = '127.0.0.1:{port}');\n"
            + "INSERT INTO o SELECT n FROM numbers;\n"
        )
        said = fsql("run", "--quiet", *flags, script)
        assert (said.code, said.err) == (0, "")
        summary = json.loads(consumer.stderr.read())
        assert consumer.wait() == 0
    assert summary == {"event": "summary", "rows": 100, "bytes": out.stat().st_size}
    assert out.read_text() == (tmp_path / "numbers.jsonl").read_text()


def test_a_run_without_a_consumer_says_what_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsql.connectors.tcp.sink.STATELESS_TIMEOUT_SECONDS", 0.1)
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n')
    script = tmp_path / "job.sql"
    script.write_text(
        NUMBERS
        + "CREATE TABLE o (n BIGINT) WITH ('connector' = 'tcp', 'address' = '127.0.0.1:1');\n"
        + "INSERT INTO o SELECT n FROM numbers;\n"
    )
    said = fsql("run", "--quiet", script)
    assert said.code == 1
    assert 'error[FSQL-E532]: table "o" cannot be written: the consumer at 127.0.0.1:1' in said.err
    assert "start the consumer first: fsql consume" in said.err


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1", "it is not of the form HOST:PORT"),
        ("127.0.0.1:x", "it is not of the form HOST:PORT"),
        ("tcp://127.0.0.1:7000", "it is not of the form HOST:PORT"),
        ("127.0.0.1:70000", "it is not of the form HOST:PORT"),
        ("0.0.0.0:7000", "rows are not encrypted, so only addresses of this machine are allowed"),
        (
            "example.org:7000",
            "rows are not encrypted, so only addresses of this machine are allowed",
        ),
        ("10.0.0.1:7000", "rows are not encrypted, so only addresses of this machine are allowed"),
    ],
)
def test_only_addresses_of_this_machine_are_taken(address: str, reason: str) -> None:
    code, message, _, _ = refusal(lambda: loopback(address))
    assert (code, message) == ("E534", f'address "{address}" is refused: {reason}')


def test_addresses_of_this_machine() -> None:
    assert loopback("127.0.0.1:0") == ("127.0.0.1", 0)
    assert loopback("localhost:7000") == ("127.0.0.1", 7000)
    assert loopback("[::1]:7000") == ("::1", 7000)


def test_consume_refuses_what_it_cannot_listen_at(tmp_path: Path) -> None:
    said = fsql("consume", "--listen", "0.0.0.0:7000", "--to", tmp_path / "out")
    assert said.code == 1
    assert "E534" in said.err


def test_a_consumer_that_cannot_begin(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = fsql("consume", "--listen", address, "--to", tmp_path / "out.jsonl")
    assert said.code == 1
    assert said.err == (
        f'error[FSQL-E532]: address "{address}" cannot be listened on: address already in use\n'
        "  = help: use another port, or stop the program that uses this one\n"
    )
    missing = tmp_path / "missing"
    said = fsql("consume", "--listen", "127.0.0.1:0", "--to", missing / "out.jsonl")
    assert said.code == 1
    assert said.err == (
        f'error[FSQL-E532]: path "{missing / "out.jsonl"}" cannot be written:'
        " its directory does not exist\n"
        f'  = help: create the directory "{missing}"\n'
    )
