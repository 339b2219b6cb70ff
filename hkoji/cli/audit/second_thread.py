"""A second thread that verifies a part of a log's signatures while the first does the rest of the audit."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

from hkoji.audit.checks import SignatureCheck
from hkoji.audit.log_signatures import Verdict

_SWITCH: Final = 2e-5


class SecondThread:
    """A thread that takes part in `map_checks`, an argument of audits. A context manager, which ends the thread.

    Both libraries verify without holding the interpreter. The second thread begins with the last signature at once,
    and whoever asks for the verdicts begins with the first. The verdicts are those of `map`, in the same order.
    """

    def __init__(self) -> None:
        self._pool: Final = ThreadPoolExecutor(1)
        self._switch: Final = sys.getswitchinterval()

    def __enter__(self) -> Self:
        # After each signature the thread needs the interpreter for some microseconds. By default it would wait for 5
        # milliseconds while the first thread does other work: as long as a whole audit takes.
        sys.setswitchinterval(_SWITCH)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setswitchinterval(self._switch)
        self._pool.shutdown(cancel_futures=True)

    def map_checks(
        self, verify: Callable[[SignatureCheck], Verdict], checks: Iterable[SignatureCheck]
    ) -> Generator[Verdict, None, None]:
        """Yields the verdict on each check, in order."""
        left = deque(enumerate(checks))  # both ends of a deque may be popped by different threads
        verdicts: list[Verdict] = [None] * len(left)

        def take_last() -> None:
            while left:
                try:
                    number, check = left.pop()
                except IndexError:
                    return
                verdicts[number] = verify(check)

        return _verdicts(left, verdicts, verify, self._pool.submit(take_last))


def _verdicts(
    left: deque[tuple[int, SignatureCheck]],
    verdicts: list[Verdict],
    verify: Callable[[SignatureCheck], Verdict],
    helper: Future[None],
) -> Generator[Verdict, None, None]:
    try:
        number = 0
        while left:
            try:
                number, check = left.popleft()
            except IndexError:
                break
            yield verify(check)
            number += 1
        helper.result()
        yield from verdicts[number:]
    finally:
        left.clear()  # after a verdict that ends the audit, the others are not needed
