"""Queries, changes, figures and health over HTTP."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow as pa
import pytest

from fsql.serving.http import ARROW, BODY_BYTES_MAX
from fsql.tests.serving.conftest import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.tests.serving.conftest import Served


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    base = f"http://127.0.0.1:{served.server.http_port}"
    with httpx.Client(base_url=base, headers=headers, timeout=60) as client:
        yield client


def ask(client: httpx.Client, **body: object) -> httpx.Response:
    return client.post("/jobs/bids/query", json=body)


def test_a_query_is_answered_as_json_and_as_arrow(client: httpx.Client, served: Served) -> None:
    position = served.insert("http", 8)
    query = "SELECT k, n FROM best WHERE k = 'http'"
    answer = ask(client, query=query, at_least=position)
    body = answer.json()
    assert answer.status_code == 200
    assert body["rows"] == [{"k": "http", "n": 8}]
    assert body["columns"] == [{"name": "k", "type": "STRING"}, {"name": "n", "type": "BIGINT"}]
    assert body["position"] == answer.headers["fsql-position"] == position
    assert body["age_seconds"] >= 0
    data = client.post("/jobs/bids/query", json={"query": query}, headers={"Accept": ARROW}).content
    table = pa.ipc.open_stream(data).read_all()
    assert table.to_pylist() == [{"k": "http", "n": 8}]
    assert table.schema.metadata[b"fsql.position"] == position.encode()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "SELEC"}, 400, "FSQL-E101"),
        ({"query": "DELETE"}, 400, "FSQL-E672"),
        ({"query": "SELECT * FROM '/etc/passwd'"}, 400, "FSQL-E672"),
        ({"query": 5}, 400, "FSQL-E672"),
        ([], 400, "FSQL-E672"),
        ({"query": "SELECT 1 AS one", "at_least": "x"}, 410, "FSQL-E675"),
        ({"query": "SELECT a.n FROM best a CROSS JOIN best b"}, 413, "FSQL-E673"),
    ],
)
def test_errors_have_codes(client: httpx.Client, body: object, status: int, code: str) -> None:
    answer = client.post("/jobs/bids/query", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_requests_that_are_too_long_or_no_json_are_refused(client: httpx.Client) -> None:
    assert client.post("/jobs/bids/query", content=b"x" * (BODY_BYTES_MAX + 1)).status_code == 413
    assert client.post("/jobs/bids/query", content=b"[" * 100_000).status_code == 400
    assert client.get("/jobs/bids/../../etc/passwd").status_code in {401, 404}


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer wrong", "Basic wrong", "Digest x"])
def test_all_but_health_needs_the_token(served: Served, token: str) -> None:
    base = f"http://127.0.0.1:{served.server.http_port}"
    with httpx.Client(base_url=base, headers={"Authorization": token}, timeout=60) as client:
        assert client.get("/health").json() == {"status": "ok"}
        for path in ("/metrics", "/jobs", "/jobs/bids/results", "/jobs/bids/results/best/changes"):
            refused = client.get(path)
            assert (refused.status_code, refused.json()["error"]) == (
                401,
                {
                    "code": "FSQL-E676",
                    "message": "the token of the server is needed",
                    "notes": [],
                    "helps": ["send it in a header: Authorization: Bearer TOKEN"],
                },
            )
        assert ask(client, query="SELECT 1 AS one").status_code == 401


def events(client: httpx.Client, count: int, **request: Any) -> list[dict[str, Any]]:
    """Return the first events of a stream of changes."""
    found: list[dict[str, Any]] = []
    with client.stream("GET", "/jobs/bids/results/best/changes", **request) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
                if len(found) == count:
                    break
    return found


def test_changes_are_followed_from_a_position_on(client: httpx.Client, served: Served) -> None:
    [snapshot] = events(client, 1)
    assert snapshot["snapshot"] is True
    assert {"op": "+I", "row": {"k": "k4", "n": 4}} in snapshot["changes"]
    with ThreadPoolExecutor(1) as executor:
        follower = executor.submit(events, client, 1, params={"after": snapshot["position"]})
        position = served.insert("follow", 1)
        [change] = follower.result(60)
    assert change == {
        "position": position,
        "snapshot": False,
        "changes": [{"op": "+I", "row": {"k": "follow", "n": 1}}],
    }
    # As a browser does it, after the connection was lost.
    again = events(client, 1, headers={"Last-Event-ID": snapshot["position"]})
    assert again == [change]
    gone = client.get("/jobs/bids/results/best/changes", params={"after": "nonsense"})
    assert gone.status_code == 410


def test_jobs_results_and_figures_are_listed(client: httpx.Client, served: Served) -> None:
    [job] = client.get("/jobs").json()["jobs"]
    assert job["job"] == "bids"
    best, other = client.get("/jobs/bids/results").json()["results"]
    assert (best["result"], best["key"], other["rows"]) == ("best", ["k"], 0)
    assert client.get("/jobs/nothing/results").status_code == 404
    text = client.get("/metrics").text
    assert 'fsql_result_rows{job="bids",result="other"} 0\n' in text
    assert "# TYPE fsql_results_age_seconds gauge\n" in text
    assert served.lines == []


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/nope", 404, "GET /nope: Not Found"),
        ("DELETE", "/jobs", 405, "DELETE /jobs: Method Not Allowed"),
    ],
)
def test_requests_without_an_endpoint_are_answered_as_other_errors(
    client: httpx.Client, method: str, path: str, status: int, message: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()) == (
        status,
        {
            "error": {
                "code": "FSQL-E676",
                "message": message,
                "notes": [],
                "helps": ["GET /openapi.json lists the requests"],
            }
        },
    )


def test_every_route_is_described(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/health",
        "/metrics",
        "/jobs",
        "/jobs/{job}/results",
        "/jobs/{job}/query",
        "/jobs/{job}/results/{result}/changes",
    }
