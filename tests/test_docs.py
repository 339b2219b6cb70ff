"""Documentation pages: links lead somewhere, what they name exists, and the commands of the README work."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.docs import DOCS

ROOT = DOCS.parent
PAGES = (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))
RECORDS = DOCS / "measurements"
"""Pages of past measurements: their commands are those of their time."""


def anchor(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """File and anchor of every link to another place in the repository."""
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not link.startswith("https://"):
            file, _, name = link.partition("#")
            yield (page.parent / file).resolve() if file else page, name


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target, name in links(page):
            assert target.exists(), (page, target)
            assert not name or name in anchors(target), (page, target, name)


def test_the_map_has_every_page() -> None:
    listed = {target for target, _ in links(DOCS / "README.md")}
    assert {page for page in PAGES if page.parent != ROOT} - {DOCS / "README.md"} <= listed


def test_the_programs_that_pages_name_exist() -> None:
    for page in PAGES:
        if RECORDS not in page.parents:
            text = page.read_text()
            for module in re.findall(r"python -m ((?:scripts|tests)[\w.]*)", text):
                path = ROOT / module.replace(".", "/")
                assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), (page, module)
            for script in re.findall(r"(?<![\w/-])(scripts/[\w/-]+)(?![\w./*-])", text):
                assert (ROOT / script).exists(), (page, script)


def test_the_headings_that_sources_cite_exist() -> None:
    """A source names page and heading, the heading in quotation marks and without what follows a colon in it."""
    cited = 0
    for folder in ("hkoji", "server", "scripts", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            text = re.sub(r"\s+#?\s*", " ", path.read_text())
            for name, first, more in re.findall(r'(docs/[\w./-]+\.md), "([^"]+)"((?: and "[^"]+")?)', text):
                headings = re.findall(r"^#+ (.*)$", (ROOT / name).read_text(), re.MULTILINE)
                for heading in (first, *re.findall(r'"([^"]+)"', more)):
                    cited += 1
                    assert any(each.partition(":")[0] == heading for each in headings), (path, name, heading)
    assert cited > 30


def test_the_files_that_pages_and_sources_name_exist() -> None:
    named = 0
    sources = (path for folder in ("hkoji", "server", "scripts", "tests") for path in (ROOT / folder).rglob("*.py"))
    for path in (*PAGES, *sources):
        if RECORDS in path.parents or path.name == "CHANGELOG.md":
            continue
        for name in re.findall(
            r"(?<![\w/.-])((?:hkoji|server|scripts|tests|docs|examples)/[a-z][\w./-]*\.\w+)", path.read_text()
        ):
            named += 1
            assert (ROOT / name).exists(), (path, name)
    assert named > 100


# --- the README's commands --------------------------------------------------------------------------------------------


def commands(heading: str) -> list[str]:
    """The indented commands of a section of the README, in order, without comments and without a board."""
    section = (ROOT / "README.md").read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(
        r"^    (python3 .*|export .*|(?:\.venv/bin/)?(?:hkoji|pip) .*|docs/spec/audit.sh .*)$", section, re.MULTILINE
    )
    return [line.partition("  #")[0].rstrip() for line in found]


def installed(extras: set[str]) -> set[str]:
    """The distributions that `pip install '.[extras]'` brings, by the metadata of those in this environment."""
    found: set[str] = set()
    waiting = [Requirement(f"hkoji[{','.join(extras)}]" if extras else "hkoji")]
    while waiting:
        wanted = waiting.pop()
        key = f"{canonicalize_name(wanted.name)}[{','.join(sorted(wanted.extras))}]"
        if key not in found:
            found.add(key)
            for line in distribution(wanted.name).requires or ():
                needed = Requirement(line)
                if not needed.marker or any(needed.marker.evaluate({"extra": each}) for each in ("", *wanted.extras)):
                    waiting.append(needed)
    return {key.partition("[")[0] for key in found}


def clone(folder: Path, extras: set[str]) -> Path:
    """A folder in which `.venv/bin/hkoji` runs this tree, and finds only what is installed with these extras."""
    packages = folder / "packages"
    packages.mkdir(parents=True)
    for name in installed(extras):
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (packages / top).exists():
                (packages / top).symlink_to(str(distribution(name).locate_file(top)))
    program = folder / ".venv" / "bin" / "hkoji"
    program.parent.mkdir(parents=True)
    path = os.pathsep.join(map(str, (ROOT, ROOT / "server", packages)))
    start = "import sys; sys.argv[0] = 'hkoji'; from hkoji.cli.main import main; main()"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} -S -c "{start}" "$@"\n')
    program.chmod(0o755)
    return folder


def followed(folder: Path, home: str, line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of the README in a clone, as the player with that home."""
    place = {"HOME": str(folder), "HKOJI_HOME": str(folder / home), "LANG": "C.UTF-8"}
    path = f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env={**place, "PATH": path}, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip


def test_the_readmes_lines_work_with_what_they_have_installed(tmp_path: Path) -> None:  # noqa: PLR0915 # many lines
    """All lines as they stand, but for the game's id, a legal move, and an address on this machine."""
    venv, pip, path, play = commands("A first game")
    assert venv == "python3 -m venv .venv"
    assert pip.startswith(".venv/bin/pip install ")
    extras = set(re.findall(r"[a-z]+", pip.partition("[")[2]))
    folder = clone(tmp_path / "clone", extras)
    (folder / "docs").symlink_to(ROOT / "docs")
    assert path == 'export PATH="$PWD/.venv/bin:$PATH"'
    assert followed(folder, "first", f"{path}; {play}").returncode == 0

    lines = commands("A game with a friend")
    serve, init, register, *bobs, new, join, prompt, wait, move, waiting, key, export, audit, shell = lines
    assert bobs == [venv, ".venv/bin/pip install .", path, init.replace("alice", "bob")]
    assert prompt == wait.replace("wait", "play")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = re.search(r"--origin (\S+)", serve)
    assert url
    here = f"http://127.0.0.1:{port}"
    local = serve.replace("0.0.0.0", "127.0.0.1").replace("--port 8000", f"--port {port}").replace(url[1], here)
    bare = clone(tmp_path / "bare", set())
    refused = followed(bare, "service", f"{path}; {local}")
    assert "the service is not installed" in refused.stderr  # else this proves nothing

    def given(player: str, line: str, **replaced: str) -> str:
        for old, new_ in {url[1]: here, **replaced}.items():
            assert old in line or old == url[1]
            line = line.replace(old, new_)
        done = followed(folder, player, f"{path}; {line}")
        assert done.returncode == 0, (line, done)
        return done.stdout

    service = subprocess.Popen(
        ["bash", "-c", f"{path}; exec {local}"], cwd=folder, env={**os.environ, "HOME": str(folder)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert service.poll() is None
            time.sleep(0.05)
        for player in ("alice", "bob"):
            given(player, init, alice=player)
            given(player, key, alice=player)
        given("alice", register)
        line = given("alice", new).strip()
        shown = re.fullmatch(
            re.escape(join.replace(url[1], here)).replace("8bc635e6…\\#…", "([0-9a-f]{32})#[0-9a-f]{32}"), line
        )
        assert shown, (join, line)
        game = shown[1]
        short = {"8bc635e6": game[:8]}
        given("bob", line)
        legal = json.loads(given("alice", f"{wait} --json", **short))["legal"]
        given("alice", move, **short, **{"3BCC": next(each for each in legal if each.startswith("3"))})
        assert game[:8] in given("bob", waiting)
        given("bob", f"hkoji resign {game} --yes")
        given("alice", export, **short)
        assert "the game is finished" in given("alice", audit)
        assert "7 deal " in given("alice", shell)
    finally:
        service.terminate()
        service.wait(timeout=60)
