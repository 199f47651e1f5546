"""The functions of JSON in DuckDB's SQL, over documents and texts that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, array_of
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


_VALUE: Final = f"CASE WHEN json_type({_JSON}, {{path}}) NOT IN ('OBJECT', 'ARRAY') THEN json_extract_string({_JSON}, {{path}}) END"
_QUERY: Final = f"CASE WHEN json_type({_JSON}, {{path}}) IN ('OBJECT', 'ARRAY') THEN CAST(json_extract({_JSON}, {{path}}) AS VARCHAR) END"
_ALL: Final = f"CAST(json_extract({_JSON}, {{path}}) AS VARCHAR[])"
_ALL_WRAPPED: Final = f"CASE WHEN len({{all}}) > 0 THEN {_WRAPPED} END".replace("{all}", _ALL)
_ALL_WRAPPED_IF_NEEDED: Final = (
    "CASE WHEN len({all}) = 1 AND json_type({all}[1]) IN ('OBJECT', 'ARRAY') THEN {all}[1]"
    f" WHEN len({{all}}) > 0 THEN {_WRAPPED} END"
).replace("{all}", _ALL)
_EXISTS: Final = f"CASE WHEN json_exists({_JSON}, {{path}}) THEN TRUE END"


def _with_clauses(
    name: str, sql: str, paths: tuple[str, ...], values: tuple[object, object]
) -> dict[str, list[ComparedFunction]]:
    """Return the cases of a function with values on empty and on error, and with the one that may fail."""
    type_ = BOOLEAN if isinstance(values[0], bool) else STRING
    defaults = tuple(Column(type_, (each, None)) for each in values)  # type: ignore[arg-type]
    other = (
        f"{{sql}} IS NULL AND json_type({_JSON}, {{path}}) <> 'NULL'"
        if "$[*]" not in paths
        else "FALSE"
    )
    found = f"CASE WHEN {{0}} IS NOT NULL THEN CASE WHEN NOT json_valid({{0}}) OR ({other}) THEN {{error}} ELSE COALESCE({{sql}}, {{empty}}) END END"
    made = {f"{name}_or": list[ComparedFunction](), f"{name}_or_fail": list[ComparedFunction]()}
    for path in paths:
        one = f"TRY({found})".replace("{sql}", sql).replace("{path}", f"'{path}'")
        plain = one.replace("{empty}", "{2}").replace("{error}", "{3}")
        made[f"{name}_or"].append(ComparedFunction(plain, (DOCUMENTS, *constants(path), *defaults)))
        for keeps in (("KEEP", "FAIL"), ("FAIL", "KEEP")):
            ends = ["NULL" if keep == "FAIL" else f"{{{4 + at}}}" for at, keep in enumerate(keeps)]
            strict = one.replace("{empty}", ends[0]).replace("{error}", ends[1])
            made[f"{name}_or_fail"].append(
                ComparedFunction(strict, (DOCUMENTS, *constants(path, *keeps), *defaults))
            )
    return made


_TEXTS_OF_CLAUSES: Final = ("none", "bad")
_SOME_PATHS: Final = ("$", "$.a", "$.b", "$.b[0]", "$.zz")
_SOME_WILD_PATHS: Final = ("$[*]", "$.b[*].c")

DOCUMENT_ARRAYS: Final = Column(
    array_of(STRING), (None, (), ("1",), ('{"a":[1,2]}', "null", '"x"', None))
)

JSON: Final[Mapping[str, list[ComparedFunction]]] = {
    **_with_clauses("json_value", _VALUE, _SOME_PATHS, _TEXTS_OF_CLAUSES),
    **_with_clauses("json_query", _QUERY, _SOME_PATHS, _TEXTS_OF_CLAUSES),
    **_with_clauses("json_query_wrapped", _ALL_WRAPPED, _SOME_WILD_PATHS, _TEXTS_OF_CLAUSES),
    **_with_clauses(
        *("json_query_wrapped_if_needed", _ALL_WRAPPED_IF_NEEDED, _SOME_WILD_PATHS),
        _TEXTS_OF_CLAUSES,
    ),
    **_with_clauses("json_exists", _EXISTS, _SOME_PATHS, (False, True)),
    "json_document": _one(f"CAST(json({_JSON}) AS VARCHAR)", DOCUMENTS),
    "json_valid": _one("json_valid({0})", DOCUMENTS),
    "json_value": _of_paths(_VALUE),
    "json_extract": _of_paths(f"CAST(json_extract({_JSON}, {{path}}) AS VARCHAR)"),
    "json_extract_string": _of_paths(f"json_extract_string({_JSON}, {{path}})"),
    "json_exists": _of_paths(
        "CASE WHEN {0} IS NULL THEN NULL WHEN json_valid({0}) THEN json_exists({0}, {path}) ELSE FALSE END"
    ),
    "json_query": _of_paths(_QUERY),
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
    "json_of_documents": _one(
        "CAST(to_json(list_transform({0}, lambda x: CAST(x AS JSON))) AS VARCHAR)", DOCUMENT_ARRAYS
    ),
    "json_string": [
        *_one("CAST(to_json({0}) AS VARCHAR)", TEXTS),
        *_one("CAST(to_json({0}) AS VARCHAR)", INTEGERS),
        *_one("CAST(to_json({0}) AS VARCHAR)", ARRAYS),
        *_one("CAST(to_json({0}) AS VARCHAR)", Column(BOOLEAN, (None, True, False))),
    ],
    "json_unquote": _one(
        f"CASE WHEN json_type({_JSON}) = 'VARCHAR' THEN json_extract_string({_JSON}, '$') ELSE {{0}} END",
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
