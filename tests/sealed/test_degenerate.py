"""A reader of any bytes in the place of a proof raises `ProofError` or `MalformedError`, and nothing else.

Each point, scalar and short challenge of each proof is replaced by zeros, ones, the order, its neighbour and others,
and each text has every length that it must not have. The proofs are as small as they can be, so that all can be tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hkoji.errors import MalformedError, ProofError
from hkoji.sealed import plain, sodium
from hkoji.sealed.group import GENERATOR, Combine
from tests.support.sealed import BACKENDS, KINDS, Kind, Sent, check, small
from tests.support.sealed_page import L

both: Final = pytest.mark.parametrize("combine", BACKENDS.values(), ids=BACKENDS.keys())
P: Final = 2**255 - 19
ORDER: Final = L.to_bytes(32, "little")
NO_POINTS: Final = {
    "zeros": bytes(32),
    "one": (1).to_bytes(32, "little"),
    "ones": b"\1" * 32,
    "ff": b"\xff" * 32,
    "order": ORDER,
    "p": P.to_bytes(32, "little"),
    "-1": (P - 1).to_bytes(32, "little"),
    "top bit": GENERATOR[:31] + bytes([GENERATOR[31] | 0x80]),
    "negative": (P - int.from_bytes(GENERATOR, "little")).to_bytes(32, "little"),
}
NO_SCALARS: Final = {"ff": b"\xff" * 32, "order": ORDER, "order + 1": (L + 1).to_bytes(32, "little")}
SCALARS: Final = {"zero": bytes(32), "-1": (L - 1).to_bytes(32, "little")}
SHORTS: Final = {"zeros": bytes(16), "ones": b"\1" * 16, "ff": b"\xff" * 16}


def spoilt(sent: Sent) -> Iterator[tuple[Sent, bool]]:
    """The proof with one field replaced, and whether no such field can be read."""
    fields = sent.fields()
    for number, (text, begin, end, sort) in enumerate(fields):
        old = sent.texts[text][begin:end]
        if sort == "point":
            found = [(value, True) for value in NO_POINTS.values()] + [(GENERATOR, False)]
        elif sort == "scalar":
            raised = int.from_bytes(old, "little") + L
            found = [(value, True) for value in (*NO_SCALARS.values(), raised.to_bytes(32, "little"))]
            found += [(value, False) for value in SCALARS.values()]
        else:
            found = [(value, False) for value in SHORTS.values()]
        yield from ((sent.with_bytes(text, begin, end, value), unreadable) for value, unreadable in found)
        for other_text, other_begin, other_end, other_sort in fields[:number]:
            other = sent.texts[other_text][other_begin:other_end]
            if other_sort == sort:
                repeated = sent.with_bytes(text, begin, end, other)
                yield repeated, False
                yield repeated.with_bytes(other_text, other_begin, other_end, old), False
                break  # with the first of its sort


@both
@pytest.mark.parametrize("kind", KINDS)
def test_each_field(kind: Kind, combine: Combine, small_kinds: dict[Kind, Sent]) -> None:
    sent = small_kinds[kind]
    check(combine, sent)
    tried = 0
    for changed, unreadable in spoilt(sent):
        assert changed != sent
        with pytest.raises(MalformedError if unreadable else ProofError) as caught:
            check(combine, changed)
        assert type(caught.value) in (MalformedError, ProofError)
        tried += 1
    assert tried > 5 * len(sent.fields()) - 5


@pytest.mark.parametrize("number", range(0, 111, 15))
def test_fields_of_a_whole_lock(number: int, kinds: dict[Kind, Sent]) -> None:
    lock = kinds["lock"]
    fields = lock.fields()
    assert len(fields) == 21 + 1 + 42 + 47
    text, begin, end, sort = fields[number]
    value = GENERATOR if sort == "point" else bytes(32)
    with pytest.raises(ProofError):
        check(sodium.combine, lock.with_bytes(text, begin, end, value))
    with pytest.raises(MalformedError):
        check(sodium.combine, lock.with_bytes(text, begin, end, b"\xff" * 32))


@both
@pytest.mark.parametrize("kind", KINDS)
def test_all_fields_at_once(kind: Kind, combine: Combine, small_kinds: dict[Kind, Sent]) -> None:
    """Nothing but zeros, ones, the generator or the order, and a proof with all its scalars 0."""
    sent = small_kinds[kind]
    for value in (0, 1, 0xFF):
        with pytest.raises((MalformedError, ProofError)):
            check(combine, sent._replace(texts=tuple(bytes([value]) * len(each) for each in sent.texts)))
    for point, scalar, expected in (
        (None, bytes(32), ProofError),
        (GENERATOR, bytes(32), ProofError),
        (None, ORDER, MalformedError),
    ):
        changed = sent
        for text, begin, end, sort in sent.fields():
            if (value_ := point if sort == "point" else scalar[: end - begin]) is not None:
                changed = changed.with_bytes(text, begin, end, value_)
        with pytest.raises(expected):
            check(combine, changed)


def lengths(sent: Sent) -> Iterator[Sent]:
    """Each text with every length up to one byte more than is right, and twice as long."""
    for text, raw in enumerate(sent.texts):
        for length in (*range(len(raw)), len(raw) + 1, 2 * len(raw)):
            yield sent.with_bytes(text, 0, len(raw), (raw + bytes(1) + raw)[:length])


@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_length(kind: Kind, small_kinds: dict[Kind, Sent]) -> None:
    """Bytes of another length are malformed in every field."""
    sent, tried = small_kinds[kind], 0
    for changed in lengths(sent):
        for combine in BACKENDS.values():
            with pytest.raises(MalformedError):
                check(combine, changed)
        tried += 1
    assert tried == sum(map(len, sent.texts)) + 2 * len(sent.texts)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_lengths_of_whole_proofs(kind: Kind, kinds: dict[Kind, Sent]) -> None:
    sent = kinds[kind]
    raw, last = sent.texts[-1], len(sent.texts) - 1
    for length in (0, 1, 16, 31, 32, 48, len(raw) - 48, len(raw) - 32, len(raw) - 16, len(raw) - 1, len(raw) + 1):
        if length != len(raw):
            with pytest.raises(MalformedError):
                check(plain.combine, sent.with_bytes(last, 0, len(raw), (raw * 2)[:length]))


_PARTS: Final = st.sampled_from([*NO_POINTS.values(), *NO_SCALARS.values(), *SCALARS.values(), *SHORTS.values()])
_SMALL: Final = small("hypothesis")


@settings(max_examples=100)
@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.integers(0, 2**12), _PARTS | st.binary(max_size=40)), min_size=1, max_size=4),
    st.integers(0, 40),
)
def test_anything_at_any_place(kind: Kind, edits: list[tuple[int, bytes]], cut: int) -> None:
    sent = _SMALL[kind]
    texts = list(sent.texts)
    for at, value in edits:
        text = at % len(texts)
        begin = at % (len(texts[text]) + 1)
        texts[text] = texts[text][:begin] + value + texts[text][begin + len(value) :]
    if cut < 4:
        texts[0] = texts[0][cut:]
    changed = sent._replace(texts=tuple(texts))
    if changed == sent:
        check(sodium.combine, changed)
    else:
        with pytest.raises((ProofError, MalformedError)):
            check(sodium.combine, changed)
