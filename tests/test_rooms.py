"""The gate that counts: what it counts as code, what it traces, and when it fails."""

from __future__ import annotations

from pathlib import Path

from hkoji.log.canonical import encode
from scripts.rooms.__main__ import over
from scripts.rooms.sizes import code_lines
from scripts.rooms.trace import Tracer
from scripts.words import NAMES, SENTENCES

MODULE = '''"""What it is.

More of it.
"""

from __future__ import annotations

import re

# why
WORD = re.compile("a")  # beside code
"""Its meaning."""


def one() -> str:
    """Returns a text."""
    return """
    a text that is code
    """
'''


def test_code_is_what_is_neither_text_for_people_nor_an_import(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    lines = ['WORD = re.compile("a")  # beside code', "def one() -> str:", '    return """', "    a text that is code"]
    assert code_lines(path) == [*lines, '    """']


def test_a_tracer_counts_the_product_and_nothing_else() -> None:
    with Tracer() as tracer:
        Path("a").exists()
        assert tracer.figures() == {"files": 0, "changes": 0, "entered": []}
        encode({"a": 1})
    assert tracer.figures()["entered"] == ["hkoji/log/canonical.py"]
    assert tracer.figures()["changes"] == 1
    tracer.begin_again()
    assert tracer.figures()["files"] == 0


def test_a_figure_over_the_agreed_one_fails_and_changes_of_file_may_vary_a_little() -> None:
    agreed = {"product: files": 400, "show: changes": 100}
    assert over({"product: files": 400, "show: changes": 105}, agreed) == {}
    assert over({"product: files": 401, "show: changes": 106}, agreed) == {"product: files": 401, "show: changes": 106}
    assert over({"long file: a.py": 501}, agreed) == {"long file: a.py": 501}


def test_a_sentence_that_makes_its_reader_wait_for_the_verb_is_found_and_a_question_is_not() -> None:
    (sentence,) = SENTENCES.values()
    for text in ("Whose it is, it has.", "So. What it is, ? for a card.", "`a`: Who asks waits"):
        assert sentence.search(text), text
    for text in ("It says what it does.", "Who are you?", "What is this? It is a test.", "Somewhat late."):
        assert not sentence.search(text), text
    tried = ("test_who_asks", "test_a_who", "_Door")
    unwanted = [name for name in tried if any(expression.fullmatch(name) for expression in NAMES.values())]
    assert unwanted == ["test_who_asks", "_Door"]
