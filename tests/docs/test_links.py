"""Links and paths in the documentation lead somewhere."""

from __future__ import annotations

import re

import pytest

from fsql.tests.docs.pages import ROOT, page_text

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/decisions/*.md"),
        *ROOT.glob("docs/functions/*.md"),
        *ROOT.glob("docs/internals/*.md"),
        *ROOT.glob("queries/**/README.md"),
    )
)


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = page_text(page)
    wrong = []
    for path, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            wrong.append(f"{path}#{anchor}")
    assert wrong == []


@pytest.mark.parametrize("page", ["docs/extending.md"])
def test_paths_of_the_code_exist(page: str) -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_.*]*)`", page_text(page))
    assert named
    assert [path for path in named if not list(ROOT.glob(path.rstrip("/")))] == []
