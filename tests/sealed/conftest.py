"""A dealt round that all tests of sealed games share. Making one takes as long as checking six locks."""

from __future__ import annotations

import random

import pytest

from tests.support import chance
from tests.support.sealed import Dealt, Kind, Sent, deal, small


@pytest.fixture(scope="session")
def dealt() -> Dealt:
    return deal(chance.token_hex())


@pytest.fixture(scope="session")
def kinds(dealt: Dealt) -> dict[Kind, Sent]:
    """A proof of each kind, of full size."""
    return dealt.one_of_each()


@pytest.fixture(scope="session")
def small_kinds() -> dict[Kind, Sent]:
    """A proof of each kind, with two cards."""
    return small(chance.token_hex())


@pytest.fixture
def rng() -> random.Random:
    return random.Random(chance.token_hex())
