"""A law for every error made while tests run, wherever it is caught: its message is complete."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hkoji.errors import HkojiError


@pytest.fixture(scope="module", autouse=True)
def errors_say_what_is_wrong() -> Iterator[None]:
    """Checks that the message is text and has a value for every place in its template."""
    original = HkojiError.__init__

    def checked(self: HkojiError, message: str, *, hint: str = "") -> None:
        for text in (message, hint):
            assert isinstance(text, str), f"{type(self).__name__} says {text!r}"
            assert "None" not in text, f"{type(self).__name__} says {text!r}"
        original(self, message, hint=hint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HkojiError, "__init__", checked)
        yield
