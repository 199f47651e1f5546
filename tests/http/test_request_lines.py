"""Bodies of requests as lines."""

from __future__ import annotations

import gzip

import pytest

from fsql.connectors.http.request_lines import BodyError, BodyTooLongError, decompressed, lines_of


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"", b""),
        (b'{"a":1}', b'{"a":1}\n'),
        (b'{"a":1}\n{"a":2}', b'{"a":1}\n{"a":2}\n'),
        (b'{"a":1}\r\n{"a":2}\r\n', b'{"a":1}\r\n{"a":2}\r\n'),
        (b' [{"a": 1},\n {"a":\r\n [2, "x\\ny"]}]\n', b'{"a": 1}\n{"a":   [2, "x\\ny"]}\n'),
        (b"[]", b""),
        (b'[1, null, "x"]', b'1\nnull\n"x"\n'),
        (b'{\n  "a": 1,\n  "b": {}\n}\n', b'{   "a": 1,   "b": {} } '.rstrip() + b" \n"),
        (b'{"a":\n{broken\n', b'{"a":\n{broken\n'),
        (b"not JSON\nat all", b"not JSON\nat all\n"),
    ],
)
def test_json_is_lines_or_an_array_or_one_object(body: bytes, lines: bytes) -> None:
    assert lines_of(body, is_json=True) == lines


def test_other_formats_are_lines() -> None:
    assert lines_of(b"[1,\n2]", is_json=False) == b"[1,\n2]\n"


@pytest.mark.parametrize("body", [b"[1,", b"[1 2]", b"[" * 100_000])
def test_a_broken_array_is_refused(body: bytes) -> None:
    with pytest.raises(BodyError, match="the array is not valid JSON"):
        lines_of(body, is_json=True)


def test_compressed_bodies_have_an_end_and_a_length() -> None:
    packed = gzip.compress(b"x" * 1000)
    assert decompressed(packed, 1000) == b"x" * 1000
    assert decompressed(packed + gzip.compress(b"y"), 1001) == b"x" * 1000 + b"y"
    for bytes_max in (10, 999):
        with pytest.raises(BodyTooLongError):
            decompressed(packed, bytes_max)
    for damaged in (b"x", packed[:-1], packed[:5], packed + b"rest"):
        with pytest.raises(BodyError, match="the body cannot be decompressed"):
            decompressed(damaged, 1000)
