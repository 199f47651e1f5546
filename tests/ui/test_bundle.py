"""The page is built from its sources: by their hash, and where Node is there, by building it again."""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
WEB: Final = ROOT / "console" / "web"
FRONTEND: Final = WEB / "frontend"
BYTES_MAX: Final = 160_000
BUILT: Final = ("app.js", "app.css")


def sources() -> list[str]:
    named = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
    return sorted([*named, *(f"src/{path.name}" for path in (FRONTEND / "src").iterdir())])


def test_the_page_is_that_of_its_sources() -> None:
    found = hashlib.sha256()
    for name in sources():
        found.update(f"{name}\n".encode() + (FRONTEND / name).read_bytes())
    banner = f"/* fsql: built from console/web/frontend, sources {found.hexdigest()} */"
    first_lines = {name: (WEB / "assets" / name).read_text().partition("\n")[0] for name in BUILT}
    assert first_lines == dict.fromkeys(BUILT, banner), "npm run build, in console/web/frontend"


def test_it_is_small_and_loads_nothing_from_elsewhere() -> None:
    for name in BUILT:
        text = (WEB / "assets" / name).read_text()
        assert len(text) < BYTES_MAX
        addresses = set(re.findall(r"https?://[\w.-]+", text))
        assert addresses <= {"http://www.w3.org"}  # names of namespaces
        assert "@import" not in text
        assert "url(" not in text


def test_it_is_built_to_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        return  # The hash of the sources is checked above.
    kept = ROOT / ".servers" / "page"
    kept.mkdir(parents=True, exist_ok=True)
    with (kept.parent / "page.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes run the tests
        for name in sources():
            target = kept / name
            target.parent.mkdir(exist_ok=True)
            if not target.exists() or target.read_bytes() != (FRONTEND / name).read_bytes():
                if name == "package-lock.json":
                    shutil.rmtree(kept / "node_modules", ignore_errors=True)
                shutil.copy(FRONTEND / name, target)
        for left in {path.name for path in (kept / "src").iterdir()} - {
            path.name for path in (FRONTEND / "src").iterdir()
        }:
            (kept / "src" / left).unlink()
        if not (kept / "node_modules").exists():
            run(["npm", "ci", "--no-audit", "--no-fund"], kept)
        run(["npm", "run", "check"], kept)
        run(["node", "build.mjs", str(tmp_path)], kept)
    for name in BUILT:
        assert (tmp_path / name).read_bytes() == (WEB / "assets" / name).read_bytes()


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
