"""The description of the requests over HTTP, as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any, Final

_JOB: Final = {"name": "job", "in": "path", "required": True, "schema": {"type": "string"}}
_RESULT: Final = {"name": "result", "in": "path", "required": True, "schema": {"type": "string"}}
_POSITION: Final = {
    "type": "string",
    "description": "Up to where the job has released; opaque, to be sent back as it was received.",
}
_ERROR: Final = {
    "description": "An error, with its code and what to do.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}


def description() -> dict[str, Any]:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "fsql: results of running jobs", "version": "1"},
        "security": [{"token": []}],
        "paths": {
            "/health": {
                "get": {
                    "summary": "Whether the server answers.",
                    "security": [],
                    "responses": {"200": {"description": "It does."}},
                }
            },
            "/metrics": {
                "get": {
                    "summary": "Figures of jobs in the text format of Prometheus.",
                    "responses": {"200": {"description": "The figures."}, "401": _ERROR},
                }
            },
            "/jobs": {
                "get": {
                    "summary": "The jobs, with the positions of their results.",
                    "responses": {"200": _json({"jobs": {"type": "array"}}), "401": _ERROR},
                }
            },
            "/jobs/{job}/results": {
                "get": {
                    "summary": "The results of a job, with columns, key and number of rows.",
                    "parameters": [_JOB],
                    "responses": {
                        "200": _json({"position": _POSITION, "results": {"type": "array"}}),
                        **_errors(401, 404),
                    },
                }
            },
            "/jobs/{job}/query": {
                "post": {
                    "summary": "The rows of one SELECT over the results, as of one position.",
                    "parameters": [_JOB],
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["query"],
                                    "properties": {
                                        "query": {"type": "string"},
                                        "at_least": {"type": ["string", "null"]},
                                    },
                                }
                            }
                        },
                    },
                    "responses": {
                        "200": _answer(),
                        **_errors(400, 401, 404, 410, 413),
                    },
                }
            },
            "/jobs/{job}/results/{result}/changes": {
                "get": {
                    "summary": "The changes of a result, as server-sent events.",
                    "description": "Without a position, the first events have the rows of the result.",
                    "parameters": [
                        _JOB,
                        _RESULT,
                        {"name": "after", "in": "query", "schema": _POSITION},
                        {"name": "Last-Event-ID", "in": "header", "schema": _POSITION},
                    ],
                    "responses": {
                        "200": {
                            "description": "Events `changes`; their ids are positions.",
                            "content": {"text/event-stream": {"schema": {"type": "string"}}},
                        },
                        **_errors(400, 401, 404, 410, 503),
                    },
                }
            },
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": {
                        "error": {
                            "type": "object",
                            "required": ["code", "message"],
                            "properties": {
                                "code": {"type": "string"},
                                "message": {"type": "string"},
                                "notes": {"type": "array", "items": {"type": "string"}},
                                "helps": {"type": "array", "items": {"type": "string"}},
                            },
                        }
                    },
                }
            },
        },
    }


def _json(properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"description": "The answer.", "content": {"application/json": {"schema": schema}}}


def _answer() -> dict[str, Any]:
    found = _json(
        {
            "position": _POSITION,
            "reached": {"type": ["number", "null"]},
            "age_seconds": {"type": ["number", "null"]},
            "columns": {"type": "array"},
            "rows": {"type": "array", "items": {"type": "object"}},
        }
    )
    found["content"]["application/vnd.apache.arrow.stream"] = {"schema": {"type": "string"}}
    return found


def _errors(*codes: int) -> dict[str, Any]:
    return {str(code): _ERROR for code in codes}
