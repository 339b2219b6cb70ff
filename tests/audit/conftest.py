"""Errors made in these tests are looked at, all of them."""

from tests.support.errors import errors_say_what_is_wrong

__all__ = ["errors_say_what_is_wrong"]
