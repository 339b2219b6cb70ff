"""Inputs that once took new branches, and very long ones, are read by the same targets, without the fuzzer.

measure.py tries millions of others. The inputs of faults that it found are in tests/data/fuzz.
"""

from __future__ import annotations

import json

import pytest

from hkoji.errors import MalformedError
from hkoji.messages.text import tell
from tests.lab.fuzz import corpus
from tests.lab.fuzz.target import Target, chosen, refusals, split_off
from tests.lab.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_an_input_that_was_interesting_once_is_read(target: Target) -> None:
    for data in (*corpus.read(target.name), *list(target.seeds())[:20]):
        target.read(data)


def test_the_corpus_is_in_its_form() -> None:
    assert {path.stem for path in corpus.KEPT.glob("*.txt")} == set(TARGETS)
    assert sum(len(corpus.read(name)) for name in TARGETS) > 500
    for path in corpus.KEPT.glob("*.txt"):
        lines = path.read_text(encoding="ascii").splitlines()
        assert lines == sorted(set(lines), key=lambda line: (len(line), line)), path
        assert [json.dumps(json.loads(line)) for line in lines] == lines


def test_seeds_are_read_well_and_fit() -> None:
    for target in TARGETS.values():
        seeds = list(target.seeds())
        assert seeds, target.name
        assert all(len(seed) <= target.longest for seed in seeds), target.name


def test_an_exception_of_another_sort_is_a_finding() -> None:
    for error in (ValueError("x"), RecursionError(), AssertionError("another value")):
        with pytest.raises(type(error)), refusals():
            raise error
    with refusals():
        raise MalformedError("entry", "it is none")


def test_a_refusal_that_cannot_be_shown_is_a_finding() -> None:
    raised = 0
    for number in range(64):  # one in eight is rendered
        error = MalformedError("entry", f"it is number {number}")
        error.hint = tell("see {game}", game="2714")
        error.hint.values = {}  # so that it cannot be assembled in another language
        try:
            with refusals():
                raise error
        except KeyError:
            raised += 1
    assert 0 < raised < 64


def test_a_choice_is_the_letter_of_its_number() -> None:
    for number in range(9):
        assert split_off(chosen(number, "rest"), 9) == (number, b"rest")
    assert {split_off(bytes((byte,)), 9)[0] for byte in range(256)} == set(range(9))
    assert split_off(b"", 9) == (0, b"")


SIZE = 12_000
UNITS = ("[", '{"a":', "9", "\\", '"', "\n", '"a",', "A1", "a.", "-")


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_an_input_that_is_very_long(target: Target) -> None:
    seed = max(target.seeds(), key=len)
    heads = {each[:1] for each in target.seeds()}
    for unit in UNITS:
        long = (unit * (SIZE // len(unit))).encode()
        target.read(long)
        for head in sorted(heads)[:9]:
            target.read(head + long)
        for place in (1, seed.find(b"=") + 1, seed.find(b":") + 1, len(seed) // 2, len(seed) - 2):
            target.read(seed[:place] + long + seed[place:])
