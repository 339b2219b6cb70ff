"""A second thread that verifies a part of a log's signatures."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Generator, Iterable

from hkoji.audit.checks import SignatureCheck
from hkoji.audit.keyring import Verdict


def map_in_two_threads(
    verify: Callable[[SignatureCheck], Verdict], checks: Iterable[SignatureCheck]
) -> Generator[Verdict, None, None]:
    """Yields what `map` yields, in the same order, with a second thread that begins with the last check.

    The audit of a log on two cores is faster than with `map`, as the benchmark `audit` measures: verifying releases the
    interpreter, the rest of an audit does not. The start of a `threading.Thread` waits until the thread runs. Without
    that wait, there is hardly a gain.
    """
    left = deque(enumerate(checks))  # each end of a deque may be popped by another thread
    number, most = 0, len(left)
    verdicts: dict[int, Verdict] = {}
    ended = allocate_lock()
    ended.acquire()

    def take_last() -> None:
        try:
            while left:
                try:
                    last, check = left.pop()
                except IndexError:  # the other thread was quicker
                    return
                verdicts[last] = verify(check)
        finally:
            ended.release()

    start_new_thread(take_last, ())
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
        ended.acquire()
    for rest in range(number, most):
        yield verdicts[rest]  # if the other thread has failed, its verdict is missing, and this raises
