"""The options of connector `file`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    FORMAT,
    RECORD_OPTIONS,
    SHARDS_MAX,
    TIME_OPTIONS,
    Connector,
    Layout,
    Option,
    OptionKind,
)

CONNECTOR: Final = Connector(
    "file",
    "files: one, those of a directory, or those that a pattern matches; each is a split",
    reads=True,
    writes=True,
    has_metadata=True,
    infers_columns=True,
    options=(
        Option("path", OptionKind.TEXT, "file, directory, or pattern of files", required=True),
        FORMAT,
        Option(
            "compression",
            OptionKind.CHOICE,
            "`auto` goes by the name: `.gz` is gzip, `.zst` is zstd",
            ("auto", "none", "gzip", "zstd"),
            default="auto",
        ),
        Option(
            "shards",
            OptionKind.POSITIVE,
            "how many files a table is written to, each with a part of the rows; see below",
            greatest=SHARDS_MAX,
        ),
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *CHANGE_OPTIONS,
    ),
    layouts=(Layout.LINES, Layout.FILE),
    notes="""\
A relative path starts from the script's directory.  Of a directory only its own regular files are read,
and none that is hidden.  A path with `*`, `?` or `[…]` is a pattern, unless a file has that name; `**` stands
for any directories.  Splits are in the order of the files' names.

A table that is read need not declare its columns: they are [inferred](language.md#inferred-columns) from
the files.

A compressed file is decompressed from its beginning when a job continues in the middle of it, and must not
change meanwhile.  One that is written has a gzip member or zstd frame for each bundle of rows; its rows
are those of an uncompressed file, its bytes may differ from run to run.

A run without a state directory empties the file that it writes.  A job that keeps state notes beside its
state how much of the file belongs to which position: rows that were written and not yet noted come again
as the same bytes in the same place.

With `'shards' = '4'` the table `counts.jsonl` is written as `counts-0-of-4.jsonl` to `counts-3-of-4.jsonl`.
A row goes to a shard by the hash of its key: the PRIMARY KEY or the key of the query; by the hash of the
whole row if there is no key.  If an append-only query makes several rows of one input row (`UNNEST`, a join),
these stay together.  Each shard has its rows in the total order, and each row has the field `position`, the
first after `op`: time and origin of the input row that caused it, as `"5:72057594037927939"`.  `fsql merge`
merges the shards into one file in the total order, without positions: the bytes of the table without the
option.  The bytes of each shard are the same in every run.  The format must be `json`.
""",
)
