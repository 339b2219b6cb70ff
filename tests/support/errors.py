"""A law for every error that is made while tests run, wherever it is caught: it says in full what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hkoji.errors import HkojiError


@pytest.fixture(scope="module", autouse=True)
def errors_say_what_is_wrong() -> Iterator[None]:
    """A message is text, with a value in every place that its template has for one."""
    original = HkojiError.__init__

    def checked(self: HkojiError, message: str, *, hint: str = "") -> None:
        for text in (message, hint):
            assert isinstance(text, str), f"{type(self).__name__} says {text!r}"
            assert "None" not in text, f"{type(self).__name__} says {text!r}"
        original(self, message, hint=hint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HkojiError, "__init__", checked)
        yield
