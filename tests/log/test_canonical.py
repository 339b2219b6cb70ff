"""Canonical text: one spelling for each value, and a plain reason for every other."""

from __future__ import annotations

import json
import sys
from enum import IntEnum
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import MalformedError
from hkoji.log.canonical import (
    MAX_DEPTH,
    MAX_INTEGER,
    JsonValue,
    decode,
    decode_base64,
    encode,
    encode_base64,
    fields,
    is_hex,
    message,
)
from tests.log.samples import MOVE, attempt, edits, node_id, reason, values


@given(values)
def test_decoding_undoes_encoding(value: JsonValue) -> None:
    text = encode(value)
    again = decode(text, "thing")
    assert again == value
    assert encode(again) == text
    assert json.loads(text) == value


@given(values, values)
def test_different_values_have_different_texts(one: JsonValue, other: JsonValue) -> None:
    # repr, because to == True is 1.
    assert (encode(one) == encode(other)) == (repr(_sorted(one)) == repr(_sorted(other)))


def _sorted(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


@given(st.text(max_size=30) | st.text(alphabet='{}[]",:01-.e\\ tnu', max_size=30))
def test_any_text_is_decoded_to_what_it_says_or_malformed(text: str) -> None:
    assert attempt(partial(_again, text)) in (None, text)


@given(values, st.data())
def test_another_spelling_of_the_same_value_is_malformed(value: JsonValue, data: st.DataObject) -> None:
    text = encode(value)
    loose = json.dumps(json.loads(text), indent=data.draw(st.sampled_from([None, 1])))
    escaped = text.replace("a", "\\u0061")
    for other in (loose, escaped, text + "\n", "\ufeff" + text, " " + text, text + " "):
        if other != text:
            with pytest.raises(MalformedError):
                decode(other, "thing")


def _again(text: str) -> str:
    return encode(decode(text, "thing"))


@pytest.mark.parametrize(
    "sound", ['{"a":[0,10,null],"b":{"c":true,"d":"x y"}}', '{"a":"x y"}', '{"a":"x","b":["c"]}', '{"":"","b":[""]}']
)
def test_every_edit_of_a_text_is_malformed_or_says_something_else(sound: str) -> None:
    for text in (sound, *edits(sound)):
        assert attempt(partial(_again, text)) in (None, text)


def test_such_an_object_may_be_nested_too_deep() -> None:
    assert decode('{"a":"x"}', "thing", 1) == {"a": "x"}
    assert decode('{"a":"x","b":["c"]}', "thing", 2) == {"a": "x", "b": ["c"]}
    with pytest.raises(MalformedError, match="nested"):
        decode('{"a":"x","b":["c"]}', "thing", 1)


class _Colour(IntEnum):
    RED = 1


class _Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1.0, "float"),
        (float("nan"), "float"),
        (-1, "negative"),
        (MAX_INTEGER + 1, "2^53"),
        (2**20000, "2^53"),
        ('a"b', "without"),
        ("a\\b", "without"),
        ("a\n", "without"),
        ("\u00e9", "without"),
        ("\x7f", "without"),
        ({1: 2}, "a key is not text"),
        ({None: 2}, "a key is not text"),
        ({'"': 2}, "without"),
        ((1, 2), "tuple"),
        (b"a", "bytes"),
        (_Colour.RED, "_Colour"),
        (_Text("a"), "_Text"),
        ([[1, {"a": 0.5}]], "float"),
    ],
    ids=lambda value: node_id(value)[:24] if not isinstance(value, int) else hex(value)[:24],
)
def test_a_value_without_canonical_text_is_malformed(value: Any, why: str) -> None:
    with pytest.raises(MalformedError) as error:
        encode(value)
    assert why in reason(error.value)


def test_nesting_is_bounded_alike_in_both_directions() -> None:
    deepest: JsonValue = 1
    for _ in range(MAX_DEPTH // 2):
        deepest = [{"a": deepest}]
    text = encode(deepest)
    assert decode(text, "thing") == deepest
    for shape in (deepest, "}]{["):  # brackets in strings do not count
        assert decode(encode([shape] if isinstance(shape, str) else shape), "thing")
    too_deep: JsonValue = [deepest]
    with pytest.raises(MalformedError, match="nested"):
        encode(too_deep)
    with pytest.raises(MalformedError, match="nested"):
        decode(f"[{text}]", "thing")
    flat = encode([[] for _ in range(100)])
    assert decode(flat, "thing") == [[] for _ in range(100)]
    with pytest.raises(MalformedError, match="more than 1 deep"):
        decode(flat, "thing", 1)


def test_a_bracket_that_closes_makes_the_nesting_one_less() -> None:
    """Each level has a closed list before the next one, so there are more brackets than levels."""
    text = "[[],[" * (MAX_DEPTH // 2 - 1) + "[]" + "]]" * (MAX_DEPTH // 2 - 1)
    deepest = f"[{text}]"
    assert encode(decode(deepest, "thing")) == deepest
    with pytest.raises(MalformedError, match="nested"):
        decode(f"[[],{deepest}]", "thing")


def test_a_value_that_holds_itself_is_malformed() -> None:
    circle: list[JsonValue] = []
    circle.append(circle)
    with pytest.raises(MalformedError, match="nested"):
        encode(circle)


def test_brackets_in_strings_are_not_nesting() -> None:
    value: JsonValue = ["[{" * 40, {"{[": "]]"}]
    assert decode(encode(value), "thing") == value


def test_little_stack_left_is_enough() -> None:
    """Nesting is counted in the text, so the verdict does not depend on how deep the caller's stack is."""

    def at_depth(left: int) -> JsonValue:
        return at_depth(left - 1) if left else decode(MOVE.text, "thing")

    frame, used = sys._getframe(), 0
    while frame.f_back:
        frame, used = frame.f_back, used + 1
    assert at_depth(sys.getrecursionlimit() - used - 60) == json.loads(MOVE.text)


def test_fields_are_exactly_those() -> None:
    assert fields({"a": 1}, "thing", "a") == {"a": 1}
    assert fields({"a": 1, "b": 2}, "thing", "a", optional=("b",)) == {"a": 1, "b": 2}
    wrong: list[tuple[object, str]] = [
        ([], "not an object"),
        (None, "not an object"),
        ({}, "a is missing"),
        ({"a": 1, "b": 2}, "b does not belong"),
        ({"b": 1}, "a is missing"),
    ]
    for value, why in wrong:
        with pytest.raises(MalformedError, match=why):
            fields(value, "thing", "a")


def test_a_message_is_the_text_and_one_newline() -> None:
    assert message("{}") == b"{}\n"


@given(st.binary(max_size=100))
def test_base64_is_undone(data: bytes) -> None:
    assert decode_base64(encode_base64(data), "thing") == data


@given(st.text(max_size=12) | st.text(alphabet="AB/+=Qg\n", max_size=9))
def test_any_text_is_base64_or_malformed(text: str) -> None:
    assert attempt(lambda: encode_base64(decode_base64(text, "thing"))) in (None, text)


def test_hex() -> None:
    assert is_hex("0123456789abcdef", 16)
    for value in ("0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", "0123456789abcde\n", "0123456789abcdeg"):
        assert not is_hex(value, 16)
    others: list[JsonValue] = [None, 0, True, [], {}, "\u0661" * 16]
    for other in others:
        assert not is_hex(other, 16)
