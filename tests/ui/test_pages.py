"""The pages in Chromium, with a job that runs: what they show, and that a killed worker comes back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect, sync_playwright

from fsql.tests.deployment.cluster import TestCluster, kill
from fsql.tests.ui.chromium import chromium
from fsql.tests.ui.served_page import ServedPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route

WAIT_MS = 120_000
SCRIPT = """\
CREATE TABLE clicks (page STRING, amount BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '200', 'count' = '120000', 'fields.amount.min' = '1',
  'fields.amount.max' = '9',
  'fields.page.length' = '1'
);
CREATE TABLE totals (page STRING, clicks BIGINT, PRIMARY KEY (page) NOT ENFORCED)
WITH ('connector' = 'file', 'path' = 'totals.jsonl', 'changes' = 'upsert');
INSERT INTO totals SELECT page, COUNT(*) AS clicks FROM clicks GROUP BY page;
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """A cluster with a job of two workers."""
    folder = tmp_path_factory.mktemp("pages")
    found = TestCluster(folder / "cluster")
    found.call("up", "--quiet")
    (folder / "clicks.sql").write_text(SCRIPT)
    found.call("deploy", folder / "clicks.sql", "--workers", "2", "--tick", "1", "--quiet")
    yield found
    found.close()


@pytest.fixture(scope="module")
def served(cluster: TestCluster) -> Iterator[ServedPage]:
    with ServedPage(cluster.path) as page:
        yield page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, served: ServedPage) -> Iterator[Page]:
    """A page with a session; what its script reports is an error of the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(WAIT_MS)
    found = context.new_page()
    problems: list[str] = []
    found.on("pageerror", lambda error: problems.append(str(error)))
    found.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    found.goto(served.url)
    yield found
    context.close()
    assert problems == []


def test_a_killed_worker_comes_back(page: Page, cluster: TestCluster) -> None:
    expect.set_options(timeout=WAIT_MS)
    card = page.locator(".job", has_text="clicks")
    expect(card.locator(".pill")).to_have_text("running")
    assert "token" not in page.url
    card.get_by_role("link", name="clicks").click()
    nodes = page.locator(".node h3")
    expect(nodes).to_have_text(["clicks", "Group by page", "totals"])
    expect(page.locator(".node.source .load")).to_contain_text("rows/s")
    page.get_by_role("link", name="History").click()
    expect(page.locator(".past .good").first).to_contain_text("epoch 1")
    cluster.wait_for_snapshot("clicks")
    kill(cluster.processes("worker")[0])
    expect(page.locator(".past .good").first).to_contain_text("epoch 2")
    expect(page.locator("h1 .pill")).to_have_text("running")
    facts = page.locator(".facts-line")
    expect(facts).to_contain_text("recoveries1")
    page.get_by_role("link", name="Operators").click()
    expect(page.get_by_role("row", name="worker 0 coordinator")).to_be_visible()
    page.get_by_role("link", name="Log").click()
    expect(page.locator(".log")).to_contain_text("running")


def test_keys_reach_everything_and_stopping_asks_first(page: Page, cluster: TestCluster) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="clicks").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Graph").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(":focus")).to_have_text("Results")
    page.get_by_role("button", name="Stop").press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Stop clicks?")
    page.keyboard.press("Escape")
    assert cluster.status("clicks")["state"] == "running"
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop it").click()
    expect(page.locator("h1 .pill")).to_have_text("stopped")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("button", name="Start it").click()
    expect(page.locator("h1 .pill")).to_have_text("running")


@pytest.mark.parametrize("width", [400, 900, 1500])
def test_no_page_is_wider_than_its_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_role("link", name="clicks").click()
    for name in ("Results", "Operators", "History", "Rows not taken", "Log", "Script", "Graph"):
        page.get_by_role("link", name=name).click()
        expect(page.locator(".panel").first).to_be_visible()
        expect(page.locator('.tabs [aria-current="page"]')).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_query_is_written_drawn_and_changed(page: Page, served: ServedPage) -> None:
    expect.set_options(timeout=WAIT_MS)
    (served.path.parent / "rows.jsonl").write_text(
        "".join(f'{{"at": {at}, "value": {at * at % 97}}}\n' for at in range(50_000))
    )
    table = "CREATE TABLE r (at BIGINT, value BIGINT) WITH ('connector' = 'file', 'path' = 'rows.jsonl');"
    page.get_by_role("link", name="Write").click()
    editor = page.get_by_role("textbox", name="Script")
    editor.fill(f"{table}\nSELECT at, valu FROM r;")
    problems = page.locator(".problems")
    expect(problems).to_contain_text('column "valu" does not exist')
    expect(page.locator(".mark.error")).to_have_text("valu")
    editor.press("End")
    editor.fill(f"{table}\nSELECT at, val")
    editor.press("Control+End")
    editor.press("Control+Space")
    expect(page.locator("#completions li").first).to_have_text("value column")
    editor.press("Enter")
    editor.press_sequentially(" FROM r;")
    expect(problems.get_by_role("heading")).to_have_text("valid")
    editor.press("Control+Enter")
    result = page.get_by_role("region", name="Result")
    expect(result.get_by_role("status")).to_contain_text("the input has ended")
    result.get_by_role("button", name="Plot").click()
    result.get_by_role("combobox", name="Over").select_option("at")
    chart = result.get_by_role("img")
    expect(result.locator(".count")).to_have_text("50.0 k points")
    before = chart.screenshot()
    chart.press("+")
    expect(result.get_by_role("button", name="Show all")).to_be_enabled()
    page.wait_for_function("() => document.querySelector('.chart canvas') !== null")
    chart.press("0")
    expect(result.get_by_role("button", name="Show all")).to_be_disabled()
    assert len(before) > 1000
    result.get_by_role("button", name="Keep in Plots").click()
    page.get_by_role("link", name="Plots").click()
    expect(page.locator(".kept .count")).to_have_text("50.0 k points")


def test_a_file_of_ones_own_is_drawn_while_it_grows(page: Page, served: ServedPage) -> None:
    expect.set_options(timeout=WAIT_MS)
    own = served.path.parent / "2 own's rows.jsonl"
    own.write_text('{"at": "2026-01-01T00:00:00Z", "value": 1}\n')
    page.get_by_role("link", name="Write").click()
    page.get_by_role("combobox", name="Script").select_option(label=own.name)
    expect(page.locator(".problems").get_by_role("heading")).to_have_text("valid")
    page.get_by_role("button", name="Run").click()
    result = page.get_by_role("region", name="Result")
    expect(result.get_by_role("status")).to_have_text("1 row read, 1 row released")
    result.get_by_role("button", name="Plot").click()
    expect(result.locator(".count")).to_have_text("1 point")
    with own.open("a") as file:
        file.write('{"at": "2026-01-01T00:00:01Z", "value": 3}\n')
    expect(result.locator(".count")).to_have_text("2 points")


def test_a_healthy_job_says_nothing(page: Page) -> None:
    page.get_by_role("link", name="clicks").click()
    expect(page.locator("h1 .pill")).to_have_text("running")
    expect(page.locator(".tile")).to_have_count(5)
    expect(page.locator(".node.source .load")).to_contain_text("rows/s")
    assert "not released yet" not in (page.locator("main").text_content() or "")


DRAWN = """\
CREATE TABLE points (at TIMESTAMP, value BIGINT)
WITH ('connector' = 'file', 'path' = 'points.jsonl', 'source.monitor-interval' = '100 ms');
CREATE TABLE shown WITH ('connector' = 'results') AS SELECT at, {value} AS value FROM points;
CREATE TABLE most (value BIGINT) WITH ('connector' = 'file', 'path' = 'most.jsonl', 'changes' = 'retract');
INSERT INTO most SELECT MAX(value) AS value FROM points;
"""


def test_results_of_a_running_job_are_drawn(page: Page, cluster: TestCluster) -> None:
    expect.set_options(timeout=WAIT_MS)
    folder = cluster.path.parent
    rows = folder / "points.jsonl"

    def add(second: int, value: int) -> None:
        with rows.open("a") as file:
            file.write(f'{{"at": "2026-01-01T00:00:{second:02d}Z", "value": {value}}}\n')

    def deploy(value: str) -> None:
        (folder / "drawn.sql").write_text(DRAWN.format(value=value))
        cluster.call("deploy", folder / "drawn.sql", "--quiet")

    for second in (10, 20, 40):
        add(second, second)
    deploy("value")
    page.get_by_role("link", name="drawn").click()
    page.get_by_role("link", name="Results").click()
    chart = page.get_by_role("img", name="shown: value over at")
    expect(page.locator(".count")).to_have_text("3 points")
    add(30, 90)  # late, and drawn in its place
    expect(page.locator(".count")).to_have_text("4 points")
    chart.press("+")
    expect(page.get_by_role("button", name="Show all")).to_be_enabled()
    chart.press("0")
    page.get_by_role("button", name="Keep in Plots").click()
    page.get_by_role("button", name="most").click()
    page.get_by_role("combobox", name="Chart").select_option("table")
    expect(page.locator(".rows tbody")).to_have_text("90")
    page.get_by_role("link", name="Plots").click()
    expect(page.locator(".kept .count")).to_have_text("4 points")
    deploy("value + 100")
    add(50, 1)
    expect(page.locator(".kept .count")).to_have_text("5 points")
    expect(page.locator(".kept h2")).to_have_text("drawn: shown")
    cluster.call("stop", "drawn")


def test_the_points_of_m4_colour_the_pixels_of_all_points(page: Page, served: ServedPage) -> None:
    expect.set_options(timeout=WAIT_MS)
    (served.path.parent / "wave.jsonl").write_text(
        "".join(f'{{"at": {at}, "value": {at * at % 97}}}\n' for at in range(3_000))
    )
    page.set_viewport_size({"width": 640, "height": 900})
    page.get_by_role("link", name="Write").click()
    page.get_by_role("textbox", name="Script").fill("SELECT at, value FROM 'wave.jsonl';")
    columns: list[int] = []

    def widen(route: Route) -> None:
        fields = json.loads(route.request.post_data or "{}")
        fields["view"]["width"] = columns[0] if columns else fields["view"]["width"]
        route.continue_(post_data=json.dumps(fields))

    page.route("**/api/view", widen)
    page.get_by_role("button", name="Run").click()
    result = page.get_by_role("region", name="Result")
    expect(result.get_by_role("status")).to_contain_text("the input has ended")
    result.get_by_role("button", name="Plot").click()
    result.get_by_role("combobox", name="Over").select_option("at")
    expect(result.locator(".count")).to_have_text("3,000 points")
    chart = result.get_by_role("img")
    expect(chart).not_to_have_attribute("data-points", "3000")
    of_m4 = chart.evaluate("canvas => canvas.toDataURL()")
    columns.append(4_000)  # more than there are points
    chart.press("0")
    expect(chart).to_have_attribute("data-points", "3000")
    assert chart.evaluate("canvas => canvas.toDataURL()") == of_m4
