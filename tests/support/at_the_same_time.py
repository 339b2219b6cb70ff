"""Runs stories that mostly wait, at the same time, each in a thread. So a file of tests waits once and not for each.

A story that fails does so in the test that asks for its result. Threads share the randomness of the tests, so what a
story draws from it depends on the others; stories whose figures are to be the same on every run have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")


def at_the_same_time(stories: Mapping[Name, Callable[[], Result]]) -> dict[Name, Future[Result]]:
    """Runs all stories to their end. Returns for each what came of it, a value or an exception."""
    with ThreadPoolExecutor(len(stories)) as pool:
        return {name: pool.submit(story) for name, story in stories.items()}
