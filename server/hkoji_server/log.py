"""The log of the service, to which all its modules write. No secret is ever passed to it.

structlog loads Rich, and so takes as long to load as the interpreter and the command line together. A process that a
mail server starts for one mail mostly writes no line, so structlog is loaded for the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

REFUSED: Final = "hkoji.refused"
"""The key in a request's state for the status with which a connection refused the request while its body came."""
CLIENT_LEFT: Final = 499
"""The status that log and metrics show for a request whose client left before it was complete. Nobody receives it."""
LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class ServiceLog:
    """Writes lines by structlog, which filters and formats them."""

    def __init__(self) -> None:
        self._least = 0
        self._configure: Callable[[], None] | None = None

    def configure_later(self, least: str, configure: Callable[[], None]) -> None:
        """Calls `configure` before the first line of the level `least` or above; those below it are not written."""
        self._least = LEVELS[least]
        self._configure = configure

    def configure_now(self) -> None:
        """Calls what was to be called before the first line. From then on structlog decides which lines are written."""
        configure, self._configure, self._least = self._configure, None, 0
        if configure is not None:
            configure()

    def forget_later(self) -> None:
        """Forgets what was to be called before the first line."""
        self._least, self._configure = 0, None

    def debug(self, event: str, **values: object) -> None:
        """Writes what helps to find a fault."""
        self._write("debug", event, values)

    def info(self, event: str, **values: object) -> None:
        """Writes what happens every day."""
        self._write("info", event, values)

    def warning(self, event: str, **values: object) -> None:
        """Writes what an operator should know of."""
        self._write("warning", event, values)

    def error(self, event: str, **values: object) -> None:
        """Writes what an operator should look into."""
        self._write("error", event, values)

    def _write(self, level: str, event: str, values: dict[str, object]) -> None:
        if LEVELS[level] < self._least:
            return
        self.configure_now()
        import structlog

        getattr(structlog.get_logger("hkoji"), level)(event, **values)


log: Final = ServiceLog()
