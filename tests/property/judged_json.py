"""The functions of JSON in DuckDB's SQL, over documents and texts that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING
from fsql.tests.property.judged_functions import Column, ComparedFunction, constants
from fsql.tests.property.judged_others import ARRAYS, INTEGERS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Mapping


DOCUMENTS: Final = Column(
    STRING,
    (
        *(None, "", "{", "1", "null", '"a"', "true", "[]", "{}", "tru", " 12 "),
        *('{"a":1,"b":[1,"x",null,{"c":true}],"é":"日本"}', '{"a":{"a":{"a":null}}}', "[[1],[2]]"),
        *(
            '{"a":"q\\"u\\\\o\\n\\u00e9"}',
            '{"a b":-0.5,"$":12345678901234567}',
            '["a",1,true,null]',
        ),
    ),
)
OBJECTS: Final = Column(STRING, tuple(v for v in DOCUMENTS.values if not str(v).startswith("[")))
PATHS: Final = ("$", "$.a", "$.b[0]", "$.b[3].c", '$."a b"', "$[1]", "$.é", "$.a.a.a", "$.zz")


WILD_PATHS: Final = ("$[*]", "$.*", "$.b[*]", "$.b[*].c", "$[*][*]", "$.*.*", "$.a.*.a", "$.zz[*]")


def _of_wild_paths(sql: str) -> list[ComparedFunction]:
    """Return a case for each path with wildcards; `{all}` are the values there."""
    found = f"CAST(json_extract({_JSON}, '{{path}}') AS VARCHAR[])"
    made = f"TRY({sql})".replace("{all}", found)
    return [
        ComparedFunction(made.replace("{path}", path), (DOCUMENTS, *constants(path)))
        for path in WILD_PATHS
    ]


def _of_paths(sql: str) -> list[ComparedFunction]:
    """Return a case for each path, which is the second argument and stands for `{path}`."""
    return [
        ComparedFunction(
            f"TRY({sql})".replace("{path}", f"'{path}'"), (DOCUMENTS, *constants(path))
        )
        for path in PATHS
    ]


_JSON: Final = "(CASE WHEN json_valid({0}) THEN {0} END)"
_WRAPPED: Final = "'[' || array_to_string({all}, ',') || ']'"
_ITEMS: Final = f"CASE WHEN json_type({_JSON}) = 'ARRAY' THEN CAST(json_extract({_JSON}, '$[*]') AS VARCHAR[]) END"


def _one(sql: str, *columns: Column, within: float = 0.0) -> list[ComparedFunction]:
    return [ComparedFunction(sql, columns, within)]


JSON: Final[Mapping[str, list[ComparedFunction]]] = {
    "json_valid": _one("json_valid({0})", DOCUMENTS),
    "json_value": _of_paths(
        f"CASE WHEN json_type({_JSON}, {{path}}) NOT IN ('OBJECT', 'ARRAY') THEN json_extract_string({_JSON}, {{path}}) END"
    ),
    "json_extract": _of_paths(f"CAST(json_extract({_JSON}, {{path}}) AS VARCHAR)"),
    "json_extract_string": _of_paths(f"json_extract_string({_JSON}, {{path}})"),
    "json_exists": _of_paths(
        "CASE WHEN {0} IS NULL THEN NULL WHEN json_valid({0}) THEN json_exists({0}, {path}) ELSE FALSE END"
    ),
    "json_query": _of_paths(
        f"CASE WHEN json_type({_JSON}, {{path}}) IN ('OBJECT', 'ARRAY') THEN CAST(json_extract({_JSON}, {{path}}) AS VARCHAR) END"
    ),
    "json_array_length": _of_paths(
        f"CASE WHEN json_type({_JSON}, {{path}}) = 'ARRAY' THEN json_array_length({_JSON}, {{path}}) END"
    ),
    "json_keys": _of_paths(
        f"CASE WHEN json_type({_JSON}, {{path}}) = 'OBJECT' THEN json_keys({_JSON}, {{path}}) END"
    ),
    "json_typeof": _of_paths(
        f"CASE json_type({_JSON}, {{path}}) WHEN 'VARCHAR' THEN 'string' WHEN 'UBIGINT' THEN 'number' WHEN 'BIGINT' THEN 'number'"
        f" WHEN 'DOUBLE' THEN 'number' ELSE lower(json_type({_JSON}, {{path}})) END"
    ),
    "json_items": [*_one(_ITEMS, DOCUMENTS), *_of_wild_paths("{all}")],
    "json_path_query_array": _of_wild_paths(_WRAPPED),
    "json_path_query_first": _of_wild_paths("{all}[1]"),
    "json_query_wrapped": _of_wild_paths(f"CASE WHEN len({{all}}) > 0 THEN {_WRAPPED} END"),
    "json_query_wrapped_if_needed": _of_wild_paths(
        "CASE WHEN len({all}) = 1 AND json_type({all}[1]) IN ('OBJECT', 'ARRAY') THEN {all}[1]"
        f" WHEN len({{all}}) > 0 THEN {_WRAPPED} END"
    ),
    "json_array_contains": _one(
        f"list_contains({_ITEMS}, CAST(to_json({{1}}) AS VARCHAR))",
        DOCUMENTS,
        Column(STRING, ("a", "", "x")),
    ),
    "json_extract_path": _one(
        f"TRY(CAST(json_extract({_JSON}, '$.\"' || {{1}} || '\"') AS VARCHAR))",
        Column(STRING, OBJECTS.values),
        Column(STRING, ("a", "é", "a b", "zz")),
    ),
    "json_extract_path_text": _one(
        f"TRY(json_extract_string({_JSON}, '$.\"' || {{1}} || '\"'))",
        Column(STRING, OBJECTS.values),
        Column(STRING, ("a", "é", "a b", "zz")),
    ),
    "json_get": [
        *_one(
            f"TRY(CAST(json_extract({_JSON}, '$.\"' || {{1}} || '\"') AS VARCHAR))",
            DOCUMENTS,
            Column(STRING, ("a", "é", "a b", "zz")),
        ),
        *_one(
            f"TRY(CAST(json_extract({_JSON}, '$[' || {{1}} || ']') AS VARCHAR))",
            DOCUMENTS,
            Column(BIGINT, (0, 1, 9)),
        ),
    ],
    "json_get_text": _one(
        f"TRY(json_extract_string({_JSON}, '$.\"' || {{1}} || '\"'))",
        DOCUMENTS,
        Column(STRING, ("a", "é", "a b", "zz")),
    ),
    "json_quote": _one("CAST(to_json({0}) AS VARCHAR)", TEXTS),
    "json_string": [
        *_one("CAST(to_json({0}) AS VARCHAR)", TEXTS),
        *_one("CAST(to_json({0}) AS VARCHAR)", INTEGERS),
        *_one("CAST(to_json({0}) AS VARCHAR)", ARRAYS),
        *_one("CAST(to_json({0}) AS VARCHAR)", Column(BOOLEAN, (None, True, False))),
    ],
    "json_unquote": _one(
        f"CASE WHEN json_type({_JSON}) = 'VARCHAR' THEN json_extract_string({_JSON}, '$') END",
        DOCUMENTS,
    ),
    "json_merge_patch": _one(
        "CASE WHEN json_valid({0}) AND json_valid({1}) THEN CAST(json_merge_patch({0}, {1}) AS VARCHAR) END",
        Column(STRING, (None, "{", '{"a":1,"b":{"c":2}}', "{}", "[1]")),
        Column(STRING, (None, "{", '{"b":7}', '{"b":{"d":[1]}}', "3")),
    ),
    "json_object": _one(
        "CAST(json_object({0}, CAST({1} AS JSON)) AS VARCHAR)",
        Column(STRING, ("a", "é", "")),
        Column(STRING, ("1", '"x"', "[1,null]", None)),
    ),
    "json_build_array": _one(
        "CAST(json_array(CAST({0} AS JSON), CAST({1} AS JSON)) AS VARCHAR)",
        *(Column(STRING, ("1", '"x"', "[1,null]", None)),) * 2,
    ),
}
