"""The options of connector `file`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    FOLLOW,
    FORMAT,
    RECORD_OPTIONS,
    SHARDS_MAX,
    TIME_OPTIONS,
    Connector,
    Effect,
    InputEnd,
    Layout,
    Option,
    OptionKind,
)
from fsql.connectors.live.options import CLOCK_OPTIONS, LOG_OPTION, MAX_AHEAD, NO_LIMIT

UTF8: Final = "utf-8"
ENCODINGS: Final = (UTF8, "utf-16", "utf-16le", "utf-16be", "latin-1", "cp1252")
"""The values of the option `encoding`."""

CONNECTOR: Final = Connector(
    "file",
    "files: one, those of a directory, or those that a pattern matches; each is a split",
    reads=True,
    writes=True,
    end=InputEnd(ends=True, key=FOLLOW),
    has_metadata=True,
    infers_columns=True,
    reads_at_rest=True,
    live_with=FOLLOW,
    options=(
        Option("path", OptionKind.TEXT, "file, directory, or pattern of files", required=True),
        FORMAT,
        Option(
            "compression",
            OptionKind.CHOICE,
            "`auto`: by the first bytes of a file that is read, by the name of one that is written"
            " (`.gz`, `.zst`); bz2, lz4 and xz are only read",
            ("auto", "none", "gzip", "zstd", "bz2", "lz4", "xz"),
            default="auto",
        ),
        Option(
            "encoding",
            OptionKind.CHOICE,
            "encoding of the lines of a file that is read; `utf-16` is little-endian where it has no byte"
            " order mark",
            ENCODINGS,
            default=UTF8,
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
        Option(
            FOLLOW,
            OptionKind.DURATION,
            "follow the files: look for new lines and new files at this interval; see below",
            elsewhere=("monitor-interval", "mode", "follow"),
            effect=Effect.PRESENCE,
        ),
        Option(
            "on_truncate",
            OptionKind.CHOICE,
            "if a followed file is truncated, or what was read of it has changed: stop the job, or read the"
            " file again from its beginning",
            ("stop", "reread"),
            default="stop",
        ),
        *(each for each in CLOCK_OPTIONS if each.key != MAX_AHEAD),
        Option(
            MAX_AHEAD,
            OptionKind.DURATION,
            "a row whose event time is ahead of the clock by more is malformed;"
            " in files at rest, one that is ahead of the rows before and after it, if the option is given;"
            " for tables with a WATERMARK",
            (NO_LIMIT,),
            default="1 d",
        ),
        LOG_OPTION,
    ),
    layouts=(Layout.LINES, Layout.FILE),
    notes="""\
A relative path starts from the script's directory.  Of a directory only its own regular files are read,
and none that is hidden.  A path with `*`, `?` or `[…]` is a pattern, unless a file has that name; `**` stands
for any directories.  Splits are in the order of the files' names.

A table that is read need not declare its columns: they are [inferred](language.md#inferred-columns) from
the files.  Columns of `PARTITIONED BY` have their values in the
[names of folders](language.md#partition-columns).

With `'source.monitor-interval' = '1 s'` the files are followed, and the input has no end.  Each file is read
as it grows, and so is each new file; a line is complete when its line end has been written.  In every round
files are read one after the other, known ones first, then new ones by name.  This order is recorded, so a job
that continues reads the same rows: all files of the table are one split, whose rows are numbered as they are
read.  A job that keeps state writes what it reads to its state directory first, so files may be removed once
they are read.  Files are known by their identity, not by their names.  One that is renamed or removed, for
example by `logrotate`, is read to its end, and a new file of its name from the beginning; if that begins with
everything that was read of a file that was removed, as when a program rewrites it, reading continues after
that.  A file that becomes shorter, or whose bytes that were read have changed, stops the job with
[E536](errors.md), unless `on_truncate` says that it is read from its beginning.  Compressed files are
skipped.  With event time, lines that are read after lines of another file with later times are late, for
example when a job begins with several files of the same hours: read such files without following.

A compressed file is decompressed from its beginning when a job continues in the middle of it, and must not
change meanwhile.  One that is written has a gzip member or zstd frame for each bundle of rows; its rows
are those of an uncompressed file, its bytes may differ from run to run.

A job that keeps state records in its state directory which length of the file belongs to which position:
rows that were written and not yet recorded are written again, as the same bytes at the same offset.

With `'shards' = '4'` the table `counts.jsonl` is written as `counts-0-of-4.jsonl` to `counts-3-of-4.jsonl`.
The shard of a row is determined by the hash of its key: the PRIMARY KEY or the key of the query; by the hash
of the whole row if there is no key.  Rows that an append-only query derives from one input row (`UNNEST`, a
join) are in one shard.  Each shard has its rows in the total order, and each row has the field `position`,
the first after `op`: time and origin of the input row that caused it, as `"5:72057594037927939"`.  `fsql
merge` merges the shards into one file in the total order, without positions: the bytes of the table without
the option.  The bytes of each shard are the same in every run.  The format must be `json`.
With three workers or more the workers write the shards, so throughput grows with both; a worker cannot leave
the run then.
""",
)
