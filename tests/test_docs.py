"""Documentation pages: links lead somewhere, and the programs, files and headings that are named exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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
