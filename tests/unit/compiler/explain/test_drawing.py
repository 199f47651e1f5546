"""Pictures: boxes do not overlap, lines lead from box to box, and the text is well-formed.

Catches an illegible or broken picture.  Does not catch an ugly one: look at it.
"""

from __future__ import annotations

from itertools import combinations
from random import Random
from xml.etree import ElementTree as Xml

import pytest

from fsql.compiler import logical
from fsql.compiler.explain.drawing import graph_svg, logical_html, logical_svg
from fsql.compiler.explain.drawing.layout import Box, GraphLayout, lay_out
from fsql.compiler.lowering import lower
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.tests.unit.model import plans as p


def random_boxes(random: Random, count: int) -> list[Box]:
    """Return boxes of which some are chains with a column of their own, as cycles are."""
    boxes: list[Box] = []
    column = 0
    while len(boxes) < count:
        inputs = random.sample(range(len(boxes)), k=min(len(boxes), random.choice((0, 1, 1, 1, 2))))
        if random.random() < 0.3:
            for _ in range(4):
                boxes.append(Box(120.0, 30.0, tuple(sorted(inputs)), column))
                inputs = [len(boxes) - 1]
            column += 1
        else:
            width, height = random.choice((40.0, 90.0, 200.0)), random.choice((20.0, 50.0))
            boxes.append(Box(width, height, tuple(sorted(inputs))))
    return boxes


def rectangle(
    layout: GraphLayout, boxes: list[Box], index: int
) -> tuple[float, float, float, float]:
    (x, y), box = layout.tops[index], boxes[index]
    return x - box.width / 2, y, x + box.width / 2, y + box.height


@pytest.mark.parametrize("seed", range(30))
def test_boxes_do_not_overlap_and_stand_below_their_inputs(seed: int) -> None:
    boxes = random_boxes(Random(seed), 25)
    layout = lay_out(boxes)
    for one, other in combinations(range(len(boxes)), 2):
        left, top, right, bottom = rectangle(layout, boxes, one)
        left2, top2, right2, bottom2 = rectangle(layout, boxes, other)
        assert right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top
    for index, box in enumerate(boxes):
        left, top, right, bottom = rectangle(layout, boxes, index)
        assert left >= -0.001
        assert right <= layout.width + 0.001
        assert bottom <= layout.height + 0.001
        assert all(rectangle(layout, boxes, source)[3] < top for source in box.inputs)


def test_lines_lead_from_box_to_box() -> None:
    boxes = random_boxes(Random(7), 25)
    layout = lay_out(boxes)
    edges = {(source, target) for target, box in enumerate(boxes) for source in box.inputs}
    assert layout.lines.keys() == edges
    for (source, target), points in layout.lines.items():
        x, top = layout.tops[source]
        assert points[0] == (x, top + boxes[source].height)
        assert points[-1] == layout.tops[target]


def test_a_chain_is_upright() -> None:
    layout = lay_out([Box(50.0 + 10 * i, 20.0, () if i == 0 else (i - 1,)) for i in range(20)])
    middles = [x for x, _ in layout.tops]
    assert max(middles) - min(middles) < 1.0


def test_nothing_is_drawn_as_nothing() -> None:
    assert lay_out([]) == GraphLayout((), {}, 0.0, 0.0)


def test_the_picture_is_well_formed_and_shows_everything() -> None:
    words = p.scan(p.table("wo<rds\x01", {"word": STRING, "n": BIGINT}))
    grown = logical.Filter(words, p.gt(p.col(words, "n"), p.lit(1)))
    graph = lower(
        p.job(p.group(grown, ["word"], n=p.count()), p.over(words, ["word"], m=p.count()))
    )
    svg = Xml.fromstring(graph_svg(graph))
    space = "{http://www.w3.org/2000/svg}"
    titles = [title.text for title in svg.iter(f"{space}title")]
    assert len(titles) == len(graph.vertices)
    assert titles[0] == 'Source "wo<rds\ufffd"'
    frames = [each for each in svg.iter(f"{space}rect") if each.get("class") == "cycle"]
    back = [each for each in svg.iter(f"{space}path") if each.get("class") == "line back"]
    assert len(frames) == len(back) == 2
    assert graph_svg(graph) == graph_svg(graph)


def test_the_page_has_the_picture_and_no_markup_of_names() -> None:
    words = p.scan(p.table("<script>\x01", {"word": STRING, "n": BIGINT}))
    names = ", ".join(f"column_{number}" for number in range(40))
    job = p.job(p.group(words, ["word"], **{names: p.count()}))
    svg, page = logical_svg(job), logical_html(job)
    assert svg in page
    space = "{http://www.w3.org/2000/svg}"
    root = Xml.fromstring(svg)
    titles = [(each.text or "").split("\n")[0] for each in root.iter(f"{space}title")]
    assert titles == [
        "Logical plan",
        'Scan "<script>\ufffd"; scan 0',
        f'Aggregate by word; compute COUNT(*) AS "{names}"',
        "Insert into out0",
    ]
    assert max(len(each.text or "") for each in root.iter(f"{space}text")) <= 34
    assert "<script" not in page
    assert page.count("://") == 1, "the name space of SVG; nothing is loaded"
