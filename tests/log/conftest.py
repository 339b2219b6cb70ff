"""Checks every error made in these tests."""

from tests.support.errors import errors_say_what_is_wrong

__all__ = ["errors_say_what_is_wrong"]
