"""Inputs far larger than a fuzzer tries are read or refused, without exhausting the stack or taking long."""

from __future__ import annotations

import pytest

from tests.lab.fuzz.target import Target
from tests.lab.fuzz.targets import TARGETS

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
