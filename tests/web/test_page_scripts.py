"""The gate of scripts finds each thing that it is there for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hkoji_server.web.static_files import static_files

from scripts.page_scripts import BUDGET, faults, sizes, type_faults
from tests.support.browsers import find_browser
from tests.support.node_packages import node_packages


def web_with(folder: Path, script: str = "", template: str = "") -> Path:
    for name, text in (("static/log/a.js", script), ("templates/a.html", template)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("x.innerHTML = y;", "innerHTML has no place"),
        ("x.insertAdjacentHTML('beforeend', y);", "insertAdjacent has no place"),
        ("document.cookie = 'a';", "document.cookie has no place"),
        ("const f = new Function('a');", "new Function has no place"),
        ("fetch('https://example.org/');", "https://e has no place"),
        ("const f = text => /a b/.test(text);", "rjsmin takes"),
        ("// " + "x" * 118, "121 columns"),
        ("\n" * (BUDGET["lines"] + 1), "lines, at most"),
        ("".join(f"// {'x' * 100}\n" for _ in range(2_000)), "208,000 bytes"),
    ],
)
def test_a_script_that_goes_over_is_found(tmp_path: Path, script: str, said: str) -> None:
    (found,) = faults(web_with(tmp_path, script))
    assert said in found


@pytest.mark.parametrize("template", ["{{ name|safe }}", "{{ name | safe }}", "{% autoescape false %}"])
def test_a_template_that_does_not_escape_is_found(tmp_path: Path, template: str) -> None:
    (found,) = faults(web_with(tmp_path, template=template))
    assert found.endswith("templates/a.html:1: switches escaping off")


def test_good_files_have_no_fault(tmp_path: Path) -> None:
    web = web_with(tmp_path, "export const a = 1;\n", "<p>{{ name }}</p> <p>Your key is safe.</p>")
    assert list(faults(web)) == []
    assert sizes([web / "static/log/a.js"]) == {"lines": 1, "bytes": 20, "bytes compressed": 37}
    assert set(BUDGET) == {"lines", "bytes", "bytes compressed"}


def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    packages = node_packages()
    if packages is None:
        pytest.skip("Node.js or npm is missing")
    good = "/** @param {string} name */\nexport const hail = (name) => name.trim();\n"
    web = web_with(tmp_path, good)
    (web / "static/b.js").write_text("import { hail } from './log/a.js';\nhail(3);\n")
    (found,) = type_faults(web, packages)
    assert "static/b.js(2,6): error TS2345" in found


PARSE = """import { readFileSync } from 'node:fs';
import { SourceTextModule } from 'node:vm';
const scripts = Object.entries(JSON.parse(readFileSync(0, 'utf8')));
for (const [identifier, text] of scripts) new SourceTextModule(text, { identifier });
console.log(scripts.length);"""


def test_the_scripts_are_read_the_same_as_sent() -> None:
    """Their syntax holds without comments and indents."""
    node = find_browser("node")
    if node is None:
        pytest.skip("Node.js is missing")
    scripts = {name: file.body.decode() for name, file in static_files().files.items() if name.endswith(".js")}
    assert "/**" not in "".join(scripts.values())
    words = [str(node), "--experimental-vm-modules", "--no-warnings", "--input-type=module", "--eval", PARSE]
    done = subprocess.run(words, input=json.dumps(scripts), capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert int(done.stdout) == len(scripts)
