"""JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import ManualEntry, entry

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "JSON"
INTRODUCTION: Final = """\
JSON is a STRING. A text that is not JSON after RFC 8259, that nests deeper than 200 levels, or that has half of a surrogate pair gives
NULL, and does not fail the row. JSON results are written without spaces, with the keys in their order and numbers as they were
written; for a key that occurs twice, the last value is used.

A path is a literal: `$`, then any number of `.name`, `."a name"`, `['a name']`, `["a name"]` and `[0]`, which counts from 0; also `.['a name']`. It may
begin with `lax `, or with `strict `: then a path with a step that leads to nothing is an error, which `ON ERROR` is for, and not empty. In `JSON_QUERY`, `JSON_VALUE`, `JSON_EXISTS`, `JSON_ITEMS`, `JSON_PATH_QUERY_ARRAY` and `JSON_PATH_QUERY_FIRST` a path may have wildcards: `[*]`, the elements of
an array, and `.*`, the values of an object. There are no filters or ranges: use `JSON_ITEMS` with UNNEST, which makes a row of each, or FILTER with a lambda.
"""

_DOCUMENT: Final = """'{"a": {"b": [1, 2.50]}, "c": "x", "d": null}'"""

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "json_value": entry(
        "The text of the string, number or boolean at a path; NULL for null, objects and arrays, and where there is nothing. With `RETURNING type` it is cast to the type, and NULL where that fails. `DEFAULT x ON EMPTY` gives a value where there is nothing or null, `DEFAULT x ON ERROR` where the text is not JSON, there is an object, an array or more than one value, or the cast fails; both are cast to the type, and computed for every row. `ERROR ON EMPTY` and `ERROR ON ERROR` fail the row (E503).",
        f"JSON_VALUE({_DOCUMENT}, '$.a.b[0]' RETURNING INT) = 1",
        f"JSON_VALUE({_DOCUMENT}, '$.c') = 'x'",
        f"JSON_VALUE({_DOCUMENT}, '$.e' RETURNING INT DEFAULT 7 ON EMPTY NULL ON ERROR) = 7",
        f"JSON_VALUE({_DOCUMENT}, '$.c' RETURNING INT DEFAULT -1 ON ERROR) = -1",
        f"CAST(JSON_VALUE({_DOCUMENT}, '$.a.b[1]') AS DOUBLE) = 2.5",
        f"JSON_VALUE({_DOCUMENT}, '$.a') IS NULL",
        f"JSON_VALUE({_DOCUMENT}, '$.a' DEFAULT 'none' ON EMPTY DEFAULT 'other' ON ERROR) = 'other'",
        f"JSON_VALUE({_DOCUMENT}, 'strict $.e' DEFAULT 'none' ON EMPTY DEFAULT 'other' ON ERROR) = 'other'",
    ),
    "json_query": entry(
        "The object or array at a path, or the whole document; NULL for other values, and where there is nothing or more than one value. `WITH WRAPPER`, after the path or after RETURNING, gives an array of all values, `WITH CONDITIONAL WRAPPER` unless there is one object or array. `RETURNING ARRAY<type>` gives the elements, each cast to the type; NULL where that fails. `EMPTY ARRAY ON EMPTY` and `EMPTY OBJECT ON EMPTY` give `[]` and `{}` where there is nothing or null; with `ON ERROR`, where the text is not JSON, there is another value or more than one, or a cast fails. `ERROR` fails the row there (E503).",
        f"JSON_QUERY({_DOCUMENT}, '$.a') = '{{\"b\":[1,2.50]}}'",
        """JSON_QUERY('[{"a": 1}, {"b": 2}, {"a": 3}]', '$[*].a' WITH WRAPPER) = '[1,3]'""",
        """JSON_QUERY('{"a": [1]}', '$.*' WITH CONDITIONAL WRAPPER) = '[1]'""",
        f"JSON_QUERY({_DOCUMENT}, '$.a.b' RETURNING ARRAY<DOUBLE>) = ARRAY[1.0, 2.5]",
        f"JSON_QUERY({_DOCUMENT}, '$.e' EMPTY ARRAY ON EMPTY NULL ON ERROR) = '[]'",
        f"JSON_QUERY({_DOCUMENT}, '$.c' NULL ON EMPTY EMPTY ARRAY ON ERROR) = '[]'",
        f"JSON_ARRAY(JSON_QUERY({_DOCUMENT}, '$.a' EMPTY OBJECT ON EMPTY)) = '[{{\"b\":[1,2.50]}}]'",
    ),
    "json_query_wrapped": entry(
        "All values at a path, as an array; NULL where there is nothing. It is `JSON_QUERY` with `WITH WRAPPER`.",
        """JSON_QUERY_WRAPPED('{"a": 1}', '$.a') = '[1]'""",
    ),
    "json_query_wrapped_if_needed": entry(
        "The object or array at a path if there is one value, else all values as an array; NULL where there is nothing. It is `JSON_QUERY` with `WITH CONDITIONAL WRAPPER`.",
        """JSON_QUERY_WRAPPED_IF_NEEDED('{"a": [1]}', '$.a') = '[1]'""",
    ),
    "json_path_query_array": entry(
        "All values at a path, as an array, which may be empty; NULL for what is not JSON.",
        """JSON_PATH_QUERY_ARRAY('{"a": [{"b": 1}, {"b": 2}]}', '$.a[*].b') = '[1,2]'""",
        "JSON_PATH_QUERY_ARRAY('{}', '$.a[*]') = '[]'",
    ),
    "json_path_query_first": entry(
        "The first value at a path, as JSON; NULL where there is nothing.",
        """JSON_PATH_QUERY_FIRST('[{"a": 1}, {"a": 2}]', '$[*].a') = '1'""",
    ),
    "json_extract": entry(
        "The value at a path, as JSON; NULL where there is nothing.",
        f"JSON_EXTRACT({_DOCUMENT}, '$.c') = '\"x\"'",
    ),
    "json_extract_string": entry(
        "The value at a path: a string without its quotes, NULL for null, all others as JSON.",
        f"JSON_EXTRACT_STRING({_DOCUMENT}, '$.c') = 'x'",
        f"JSON_EXTRACT_STRING({_DOCUMENT}, '$.a.b') = '[1,2.50]'",
    ),
    "json_extract_path": entry(
        "The value at the end of the steps, as JSON; a step is a key, or an index of an array. Also `j #> '{a,b,0}'` and `j #> ARRAY['a', 'b', '0']`, and `#>>` for `JSON_EXTRACT_PATH_TEXT`, as in PostgreSQL.",
        f"JSON_EXTRACT_PATH({_DOCUMENT}, 'a', 'b', '0') = '1'",
        f"{_DOCUMENT} #> '{{a,b,0}}' = '1'",
        f"{_DOCUMENT} #>> ARRAY['c'] = 'x'",
    ),
    "json_extract_path_text": entry(
        "As `JSON_EXTRACT_PATH`, a string without its quotes, NULL for null.",
        f"JSON_EXTRACT_PATH_TEXT({_DOCUMENT}, 'c') = 'x'",
    ),
    "json_exists": entry(
        "Whether there is a value at a path, which may be null; FALSE for what is not JSON, and where a strict path does not fit, with `TRUE ON ERROR` and `UNKNOWN ON ERROR` TRUE and NULL; `ERROR ON ERROR` fails the row (E503).",
        f"JSON_EXISTS({_DOCUMENT}, '$.d')",
        f"NOT JSON_EXISTS({_DOCUMENT}, '$.e')",
        f"JSON_EXISTS({_DOCUMENT}, 'strict $.e' UNKNOWN ON ERROR) IS NULL",
    ),
    "json_get": entry(
        "The value of a key, or the element of an array at a position, from 0, or from the end if negative, as JSON; NULL where there is none. It is the operator `->`.",
        f"{_DOCUMENT} -> 'a' -> 'b' -> 0 = '1'",
        f"JSON_GET({_DOCUMENT}, 'c') = '\"x\"'",
    ),
    "json_get_text": entry(
        "As `JSON_GET`, a string without its quotes, NULL for null. It is the operator `->>`.",
        f"{_DOCUMENT} ->> 'c' = 'x'",
        f"{_DOCUMENT} -> 'a' ->> 'b' = '[1,2.50]'",
    ),
    "is_json": entry(
        "Whether the text is JSON of a kind, a literal: `value`, `object`, `array` or `scalar`. Also `s IS JSON OBJECT`.",
        "'[1]' IS JSON",
        "'[1]' IS NOT JSON OBJECT",
        "IS_JSON('[1]', 'array')",
    ),
    "json_document": entry(
        "The text as a document, without spaces. It is `CAST(text AS JSON)`, `text::jsonb` and `PARSE_JSON(text)`; TRY_CAST and TRY_PARSE_JSON give NULL where it fails. A value of another type becomes the document that JSON_STRING gives.",
        """JSON('{"a": [1, 2]}') = '{"a":[1,2]}'""",
        """('{"a": 1}'::jsonb -> 'a') = '1'""",
        "CAST(ARRAY[1, 2] AS JSON) = '[1,2]'",
        "TRY_CAST('{' AS JSON) IS NULL",
        "PARSE_JSON('[1, 2]') = '[1,2]'",
        "TRY_PARSE_JSON('{') IS NULL",
        fails="FSQL-E503 if the text is not JSON",
    ),
    "json_valid": entry("Whether the text is JSON.", "JSON_VALID('[1]')", "NOT JSON_VALID('[1,]')"),
    "json_typeof": entry(
        "The kind of the document, or of the value at a path: `object`, `array`, `string`, `number`, `boolean` or `null`. NULL where there is nothing.",
        f"JSON_TYPEOF({_DOCUMENT}, '$.d') = 'null'",
    ),
    "json_array_length": entry(
        "The number of elements of an array, or of the one at a path; NULL for other values.",
        f"JSON_ARRAY_LENGTH({_DOCUMENT}, '$.a.b') = 2",
    ),
    "json_keys": entry(
        "The keys of an object, or of the one at a path, in their order; NULL for other values.",
        f"JSON_KEYS({_DOCUMENT}) = ARRAY['a', 'c', 'd']",
    ),
    "json_items": entry(
        "The elements of an array, or of the one at a path, each as JSON; NULL for other values. All values at a path with wildcards.",
        """JSON_ITEMS('{"a": [{"b": 1}, {"b": "x"}]}', '$.a[*].b') = ARRAY['1', '"x"']""",
        "JSON_ITEMS('[1, \"a\"]') = ARRAY['1', '\"a\"']",
    ),
    "json_records": entry(
        "The map of the keys of an object and their values, each as JSON; NULL for other documents.",
        "JSON_RECORDS('{\"b\": 1, \"a\": \"x\"}') = MAP['a', '\"x\"', 'b', '1']",
        "JSON_RECORDS('[]') IS NULL",
    ),
    "json_array_contains": entry(
        "Whether an array contains a string, a boolean, or a whole number that is written in the same way; NULL for other documents.",
        "JSON_ARRAY_CONTAINS('[1, 2]', 2)",
    ),
    "json_string": entry(
        "A value of any type as JSON, as in JSON output: BYTES are in Base64; but NaN and infinities are null. A column of type JSON or JSONB, and the result of another function that gives JSON, are not quoted, also as a field of a row that is declared so, of ROW(…) and STRUCT(…), and as elements of ARRAY[…]; elements of a column of ARRAY<JSON> are.",
        "JSON_STRING('a') = '\"a\"'",
        "JSON_STRING(ARRAY[1, NULL]) = '[1,null]'",
        "JSON_STRING(JSON_OBJECT('a', 1)) = '{\"a\":1}'",
        "JSON_STRING(X'ff') = '\"/w==\"'",
    ),
    "json_object": entry(
        "An object of keys and values; a value may be NULL, a pair without a key is skipped. Also `JSON_OBJECT(KEY 'a' VALUE 1)`; with `ABSENT ON NULL` at the end, pairs whose value is NULL are skipped as well. A column of type JSON or JSONB, and the result of another function that gives JSON, are not quoted.",
        "JSON_OBJECT('a', 1, 'b', NULL) = '{\"a\":1,\"b\":null}'",
        "JSON_OBJECT(KEY 'a' VALUE 1) = '{\"a\":1}'",
        "JSON_OBJECT('a', JSON_ARRAY(1)) = '{\"a\":[1]}'",
        "JSON_OBJECT('a' VALUE 1, 'b' VALUE NULL ABSENT ON NULL) = '{\"a\":1}'",
    ),
    "json_object_without_nulls": entry(
        "An object of the keys whose value is not NULL. It is `JSON_OBJECT` with `ABSENT ON NULL`.",
        "JSON_OBJECT_WITHOUT_NULLS('a', 1, 'b', NULL) = '{\"a\":1}'",
    ),
    "json_array": entry(
        "An array of the values that are not NULL; of all values with `NULL ON NULL` at the end.",
        "JSON_ARRAY(1, 'a', NULL) = '[1,\"a\"]'",
        "JSON_ARRAY(1, NULL NULL ON NULL) = '[1,null]'",
    ),
    "json_build_array": entry(
        "An array of all values, NULL as null.", "JSON_BUILD_ARRAY(1, NULL) = '[1,null]'"
    ),
    "json_quote": entry("The text as a JSON string.", "JSON_QUOTE('a\"b') = '\"a\\\"b\"'"),
    "json_unquote": entry(
        "The text of a JSON string; any other text as it is.",
        "JSON_UNQUOTE('\"a\"') = 'a'",
        "JSON_UNQUOTE('[1]') = '[1]'",
    ),
    "json_merge_patch": entry(
        "A document changed by a merge patch (RFC 7396): null removes a key.",
        'JSON_MERGE_PATCH(\'{"a":1,"b":2}\', \'{"a":null}\') = \'{"b":2}\'',
    ),
    "json_strip_nulls": entry(
        "The document without the keys whose value is null, at any depth.",
        'JSON_STRIP_NULLS(\'{"a":null,"b":[null]}\') = \'{"b":[null]}\'',
    ),
}
