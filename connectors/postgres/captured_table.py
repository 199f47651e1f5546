"""A table whose changes are captured: what is declared of it, what the database has, and its events.

An event is a line in the form of Debezium: the kind of the change, the row before it and the row after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.postgres.client import Database, TableName, quoted
from fsql.connectors.postgres.pgoutput import Change, Relation, Unchanged
from fsql.connectors.postgres.server_table import (
    ServerTable,
    check_names,
    find_table,
    missing_table_error,
)
from fsql.connectors.postgres.values import NULL, json_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import psycopg

    from fsql.compiler.schema import Column
    from fsql.connectors.postgres.pgoutput import Row, Value
    from fsql.connectors.postgres.values import JsonOf

UNAVAILABLE: Final = "\0fsql: this value is not in the log of the database\0"
"""What stands for a value that a change left as it was: no text of PostgreSQL has the character U+0000."""
_UNAVAILABLE_JSON: Final = msgspec.json.encode(UNAVAILABLE)
_INTEGERS: Final = frozenset({"int2", "int4", "int8", "oid"})
_TYPES: Final = """
    SELECT t.oid::bigint, coalesce(b.typname, t.typname) FROM pg_type t
        LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
"""
Key = tuple[Any, ...]
"""The key of a row as it is ordered while the table is copied."""


class Declared(NamedTuple):
    """What a script declares: the table, its columns, and those of its key and of its event time."""

    name: TableName
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    times: tuple[str, ...]


class Fields(NamedTuple):
    """Columns in the rows of the server: where they are, and how their values are written."""

    places: list[int]
    begins: list[bytes]
    values: list[JsonOf]

    def encode(self, row: Sequence[Value], kept: frozenset[int] | None = None) -> bytes:
        """Return a row as an object, with the columns that are `kept` only."""
        parts = [
            begin + _json(row[place], value)
            for place, begin, value in zip(self.places, self.begins, self.values, strict=True)
            if kept is None or place in kept
        ]
        return b"{" + b",".join(parts) + b"}"


def _json(value: Value, of_text: JsonOf) -> bytes:
    if value is None:
        return NULL
    return _UNAVAILABLE_JSON if isinstance(value, Unchanged) else of_text(value)


class CapturedTable:
    """The table in one session with the server."""

    def __init__(
        self, connection: psycopg.Connection[Any], database: Database, declared: Declared, code: str
    ) -> None:
        """Look the table up, and check that its changes can be captured.

        Raises:
            FsqlError: with this code, if not.
            psycopg.Error: if the server refuses.
        """
        self._connection = connection
        self._declared = declared
        self._code = code
        found = find_table(connection, declared.name)
        if found is None:
            helps = ("correct the option 'table', or create the table; fsql reads it only",)
            raise missing_table_error(code, declared.name, database.place, *helps)
        self.server: ServerTable = found
        check_names(code, found, (each.name for each in declared.columns))
        self._check()
        self._types: dict[int, str] = {}
        types = [found.columns[each.name].type for each in declared.columns]
        places = {each.name: place for place, each in enumerate(declared.columns)}
        self._copied = _fields([*enumerate(zip(declared.columns, types, strict=True))])
        self._copied_key = [(places[name], types[places[name]]) for name in declared.key]
        self._relation: Fields | None = None
        self._relation_keys: frozenset[int] = frozenset()
        self._relation_names: list[str] = []
        self._relation_key: list[tuple[int, str]] = []

    def _check(self) -> None:
        table, declared = self.server, self._declared
        if table.kind not in {"r", "p"}:
            raise self._refusal("it is no table", "read it without the option 'slot'")
        for column in declared.columns:
            if table.columns[column.name].computed:
                reason = f"column '{column.name}' is computed, and changes do not have it"
                raise self._refusal(reason, "leave the column out, and compute it in the query")
        if declared.key and frozenset(declared.key) not in table.unique:
            listed = ", ".join(declared.key)
            reason = f"it has no unique index of the PRIMARY KEY ({listed}) of the script"
            raise self._refusal(reason, "declare the key that it has")
        if table.identity == "f":
            return
        full = f"ALTER TABLE {table.name.sql} REPLICA IDENTITY FULL"
        known = self._identity()
        if not declared.key and known:
            reason = "without a PRIMARY KEY in the script, changes need whole old rows"
            raise self._refusal(
                reason, f"declare PRIMARY KEY ({', '.join(sorted(known))}) NOT ENFORCED", full
            )
        for name in (*declared.key, *declared.times):
            if known and name not in known:
                reason = (
                    f"changes do not have the old value of column '{name}', which deletions need"
                )
                raise self._refusal(reason, full)

    def _identity(self) -> frozenset[str]:
        """Return the columns that identify an old row; none if rows cannot be changed."""
        if self.server.identity == "d":
            return frozenset(self.server.primary)
        names = self._connection.execute(
            "SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid"
            " AND a.attnum = ANY(i.indkey) WHERE i.indrelid = %s AND i.indisreplident",
            [self.server.oid],
        ).fetchall()
        return frozenset(name for (name,) in names)

    def _refusal(self, reason: str, *helps: str) -> FsqlError:
        message = f"the changes of table {self.server.name} cannot be read: {reason}"
        return FsqlError([Diagnostic(self._code, message, helps=helps)])

    # The rows that there are when the first copy is made.

    @property
    def copied_columns(self) -> list[str]:
        """Return the names of the columns, in the order of the rows that are copied."""
        return [each.name for each in self._declared.columns]

    def copy_statement(self, after: Sequence[str] | None) -> str:
        """Return the statement that copies the rows by ascending key, those `after` a key if it is given."""
        listed = ", ".join(map(quoted, self.copied_columns))
        order = [self._order(name) for name in self._declared.key]
        where = ""
        if after is not None:
            bounds = [
                value if self._is_integer(name) else f'{_literal(value)} COLLATE "C"'
                for name, value in zip(self._declared.key, after, strict=True)
            ]
            where = f" WHERE ({', '.join(order)}) > ({', '.join(bounds)})"
        by = f" ORDER BY {', '.join(order)}" if order else ""
        return f"COPY (SELECT {listed} FROM {self.server.name.sql}{where}{by}) TO STDOUT"  # noqa: S608

    def _order(self, name: str) -> str:
        """Return an expression over a column of the key whose order is that of `order_of`."""
        if self._is_integer(name):
            return quoted(name)
        if self.server.columns[name].type == "bool":
            return f'({quoted(name)}::int)::text COLLATE "C"'
        return f'({quoted(name)})::text COLLATE "C"'

    def _is_integer(self, name: str) -> bool:
        return self.server.columns[name].type in _INTEGERS

    def copied_event(self, row: Sequence[str | None]) -> tuple[bytes, tuple[str, ...]]:
        """Return the event of a row that is copied, and its key as a bound of `copy_statement`.

        The key is in the event, too, where decoders do not read it.
        """
        key = tuple(_ordered_text(row[place] or "", type_) for place, type_ in self._copied_key)
        begin = b'{"op":"r","key":' + msgspec.json.encode(key) + b',"before":null,"after":'
        return begin + self._copied.encode(row) + b"}\n", key

    def order_of(self, texts: Iterable[str]) -> Key:
        """Return a key, given as `key_texts`, so that it compares as the server orders it."""
        return tuple(
            int(text) if self._is_integer(name) else text.encode()
            for name, text in zip(self._declared.key, texts, strict=True)
        )

    # Changes.

    def on_relation(self, relation: Relation) -> None:
        """Take the columns that the changes after it have.

        Raises:
            FsqlError: E535, if a column is gone.
            psycopg.Error: if the server refuses.
        """
        if any(type_ not in self._types for _, type_ in relation.columns):
            self._types = dict(self._connection.execute(_TYPES).fetchall())
        places = {name: place for place, (name, _) in enumerate(relation.columns)}
        for column in self._declared.columns:
            if column.name not in places:
                raise self._gone_error(column.name)
        types = {name: self._types.get(type_, "text") for name, type_ in relation.columns}
        self._relation = _fields(
            [(places[each.name], (each, types[each.name])) for each in self._declared.columns]
        )
        self._relation_keys = relation.keys
        self._relation_names = [name for name, _ in relation.columns]
        self._relation_key = [(places[name], types[name]) for name in self._declared.key]

    def _gone_error(self, name: str) -> FsqlError:
        message = (
            f"column '{name}' of table {self.server.name} was dropped or renamed in the database"
        )
        helps = (
            (
                "declare the table without the column, and start a new job, with another slot and state"
                " directory"
            ),
        )
        note = "the changes after that do not have it; what was read before is complete"
        return FsqlError([Diagnostic("E535", message, notes=(note,), helps=helps)])

    def keys_of(self, change: Change) -> tuple[Key | None, Key | None]:
        """Return the keys of the old and of the new row of a change; without an old one they are equal."""
        old = None if change.old is None else self._key_of(change.old)
        new = None if change.new is None else self._key_of(change.new)
        return new if old is None else old, new

    def _key_of(self, row: Row) -> Key:
        texts = []
        for place, type_ in self._relation_key:
            value = row[place]
            assert isinstance(value, str), "a key is not NULL and always logged"
            texts.append(_ordered_text(value, type_))
        return self.order_of(texts)

    def event(self, change: Change, *, with_old: bool, with_new: bool) -> bytes:
        """Return the event of a change, of which the old or the new row may be left out."""
        assert self._relation is not None, "the server sends the columns before the rows"
        if not with_new:
            row = change.old if change.old is not None else change.new
            assert row is not None
            return b'{"op":"d","before":' + self._old(change, row) + b',"after":null}\n'
        assert change.new is not None
        new = self._relation.encode(change.new if with_old else self._whole(change))
        kind = change.kind if with_old else "c"
        old = NULL
        if with_old and change.old is not None:
            old = self._old(change, change.old)
        return b'{"op":"%s","before":%s,"after":%s}\n' % (kind.encode(), old, new)

    def _whole(self, change: Change) -> Row:
        """Return the new row of a change whose old row no event has, with all values.

        This is so for a row that went to a key that was copied before, while the copy was interrupted.
        Values that the log does not have are those that the row has now: changes that come until then follow.
        """
        assert change.new is not None
        row = list(change.new)
        if change.old is not None and not change.old_is_key:
            row = [
                old if isinstance(new, Unchanged) else new
                for new, old in zip(row, change.old, strict=True)
            ]
        if not any(isinstance(value, Unchanged) for value in row):
            return row
        keys = [row[place] for place, _ in self._relation_key]
        where = " AND ".join(f"{quoted(name)}::text = %s" for name in self._declared.key)
        listed = ", ".join(f"{quoted(name)}::text" for name in self._relation_names)
        found = self._connection.execute(
            f"SELECT {listed} FROM {self.server.name.sql} WHERE {where}",  # noqa: S608
            keys,
        ).fetchone()
        now = found or (None,) * len(row)
        return [
            there if isinstance(value, Unchanged) else value
            for value, there in zip(row, now, strict=True)
        ]

    def _old(self, change: Change, row: Row) -> bytes:
        assert self._relation is not None
        return self._relation.encode(row, self._relation_keys if change.old_is_key else None)


def _fields(columns: Iterable[tuple[int, tuple[Column, str]]]) -> Fields:
    taken = list(columns)
    return Fields(
        [place for place, _ in taken],
        [msgspec.json.encode(column.name) + b":" for _, (column, _) in taken],
        [json_of(type_, column.type) for _, (column, type_) in taken],
    )


def _ordered_text(text: str, type_: str) -> str:
    """Return what a value of a key is ordered by: what the cast to a text gives."""
    if type_ == "bool":
        return "1" if text == "t" else "0"
    return text.rstrip(" ") if type_ == "bpchar" else text


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
