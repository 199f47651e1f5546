"""Forms of other systems: what each becomes, and that nothing after the pass sees them."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from fsql.compiler import syntax
from fsql.compiler.dialects.registry import (
    CALLS,
    GRAMMAR,
    ITEMS,
    OPTIONS,
    RELATIONS,
    WINDOWS,
    Form,
    Rule,
)
from fsql.compiler.dialects.standard_forms import with_standard_forms
from fsql.compiler.parser import parse_script
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED

FORMS = [*CALLS.values(), *RELATIONS.values(), *ITEMS.values()]


def standard(text: str) -> syntax.Script:
    return with_standard_forms(parse_script(SourceText("form.sql", text)))


def with_plain_names(value: object) -> object:
    """Return syntax in which the names that the pass generates are `e`."""
    if isinstance(value, tuple):
        return tuple(map(with_plain_names, value))
    if isinstance(value, syntax.Identifier) and value.name.endswith("\u0387"):
        return replace(value, span=value.span, name="e")
    if not isinstance(value, syntax.Syntax):
        return value
    parts = {
        each.name: with_plain_names(getattr(value, each.name))
        for each in fields(value)
        if each.name != "span"
    }
    return replace(value, span=value.span, **parts)


def test_a_form_has_one_row() -> None:
    named = [form.name for form in FORMS]
    assert set(named) == {*CALLS, *RELATIONS, *ITEMS}


@pytest.mark.parametrize("row", [*FORMS, WINDOWS, *OPTIONS, *GRAMMAR.values()])
def test_the_function_of_a_row_is_there(row: Form) -> None:
    assert callable(row.load())


@pytest.mark.parametrize("rule", GRAMMAR.values(), ids=lambda rule: rule.name)
def test_a_rule_of_the_grammar_has_an_example(rule: Rule) -> None:
    text = rule.form.written
    assert parse_script(SourceText("form.sql", f"{text};")).statements


@pytest.mark.parametrize("form", CALLS.values(), ids=lambda form: form.written)
def test_a_call_means_its_standard_form(form: Form) -> None:
    made = standard(f"SELECT {form.written} AS y FROM t")
    assert with_plain_names(made) == with_plain_names(
        standard(f"SELECT {form.standard} AS y FROM t")
    )
    assert made != parse_script(SourceText("form.sql", f"SELECT {form.written} AS y FROM t"))


@pytest.mark.parametrize("form", RELATIONS.values(), ids=lambda form: form.written)
def test_a_call_in_from_means_its_standard_form(form: Form) -> None:
    alias = "AS e(key, value)" if "EACH" in form.name else "AS e(x)"
    made = standard(f"SELECT 1 FROM t, {form.written} {alias}")
    assert with_plain_names(made) == parse_script(
        SourceText("form.sql", f"SELECT 1 FROM t, {form.standard} {alias}")
    )


@pytest.mark.parametrize("name", ITEMS)
def test_a_call_with_rows_is_a_relation(name: str) -> None:
    (statement,) = standard(f"SELECT {name}(a) AS y FROM t").statements
    assert isinstance(statement, syntax.SelectStatement)
    assert isinstance(statement.query.body, syntax.Select)
    table, unnest = statement.query.body.relations
    assert isinstance(table, syntax.TableReference)
    assert isinstance(unnest, syntax.Unnest)


def test_a_script_without_such_forms_is_itself() -> None:
    script = parse_script(SourceText("form.sql", "SELECT a, COUNT(*) FROM t GROUP BY a"))
    assert with_standard_forms(script) is script


@pytest.mark.parametrize(
    "call", ["TRUNC(d, 'MONTH')", "EXPLODE(a)", "TOPK(x, 3)", "JSONB_ARRAY_ELEMENTS(j)"]
)
def test_a_function_of_the_script_has_its_name(call: str) -> None:
    name = call.partition("(")[0]
    text = (
        f"CREATE FUNCTION {name} (a BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS 'm:f';"
        f"SELECT {call} AS y FROM t"
    )
    script = parse_script(SourceText("form.sql", text))
    assert with_standard_forms(script) == script


def test_an_item_keeps_the_name_of_the_call_that_is_written() -> None:
    (statement,) = standard(
        "SELECT TRUNC(d, 'MONTH'), CAST(AS_VALUE(k) AS STRING) FROM t"
    ).statements
    assert isinstance(statement, syntax.SelectStatement)
    assert isinstance(statement.query.body, syntax.Select)
    named = [
        each.name for each in statement.query.body.items if isinstance(each, syntax.SelectItem)
    ]
    assert named == ["trunc", "as_value"]


@pytest.mark.parametrize(
    ("changes", "said"), [("", {"W208"}), (", changes = 'retract'", set())], ids=["none", "retract"]
)
def test_a_stream_that_is_said_to_change_is_not_warned_of(changes: str, said: set[str]) -> None:
    text = (
        "CREATE TABLE t (k STRING) WITH (connector = 'file', path = 't.jsonl');"
        f"CREATE STREAM s WITH (connector = 'file', path = 's.jsonl'{changes})"
        " AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;"
    )
    warnings = compile_script(SourceText("form.sql", text), DECLARED).warnings
    assert {each.code for each in warnings} & {"W208"} == said


def test_navigations_of_a_match_are_no_aggregates() -> None:
    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES FIRST(A.x) AS f, LAST(A.x) AS l"
        " PATTERN (A B) DEFINE A AS x > 1)"
    )
    script = parse_script(SourceText("form.sql", text))
    assert with_standard_forms(script) == script
