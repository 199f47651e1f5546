"""Codes E7xx: the file of a project, and its tests."""

from __future__ import annotations

from typing import Final

PROJECT_ROWS: Final = (
    (
        "E701",
        "settings file cannot be read",
        "`fsql.toml`, or the settings file of the user, cannot be opened, is not UTF-8, or is not TOML.",
        'Correct the line that is shown. TOML needs quotes around text: `script = "queries/a.sql"`.',
        "script = queries/clicks.sql",
    ),
    (
        "E702",
        "unknown setting",
        "A settings file has a key that does not exist, or a key that only the file of a project may have.",
        "Correct the name. `fsql config show` lists all settings.",
        "[run]\nworker = 2",
    ),
    (
        "E703",
        "invalid value of a setting",
        "A setting in a settings file or in an environment variable has a value of another type or range.",
        "Give a value of the kind that the message names.",
        '[run]\nworkers = "two"',
    ),
    (
        "E704",
        "project cannot be created",
        "`fsql init` creates files only in a directory that is new or empty, so that nothing is overwritten.",
        "Name a new directory: `fsql init NAME`.",
        "fsql init /tmp",
    ),
    (
        "E711",
        "malformed file of tests",
        "A file of cases cannot be read, or has an unknown block or malformed rows.",
        "Correct the line that is shown; `docs/projects.md` describes the format.",
        "```json inputs views",
    ),
    (
        "E712",
        "case does not fit its script",
        "The case has no script, names another table than the script, lacks rows, or expects nothing.",
        "Correct the name, or add the block that the message names. `--record` writes what is expected.",
        "```json output page_view",
    ),
)
