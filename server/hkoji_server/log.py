"""The log of the service, to which all its modules write: lines on stderr, JSON for programs or text for people.

No secret is ever passed to it. Lines of other libraries have the same form. For an exception, a line has its class and
its place in the code. Only the project's own exceptions, which contain no secrets, are logged with their messages:
others may quote secret values.

structlog loads Rich, and so takes as long to load as the interpreter and the command line together. A process that a
mail server starts for one mail mostly writes no line, so structlog is loaded for the first one.
"""

from __future__ import annotations

import io
import logging
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial, partialmethod
from typing import TYPE_CHECKING, Final, Literal, TextIO, cast

from hkoji.errors import HkojiError

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger


REFUSED: Final = "hkoji.refused"
"""The key in a request's state for the status with which a connection refused the request while its body came."""
CLIENT_LEFT: Final = 499
"""The status that log and metrics show for a request whose client left before it was complete. Nobody receives it."""
LogLevel = Literal["debug", "info", "warning", "error"]
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

    def write(self, level: LogLevel, event: str, **values: object) -> None:
        """Writes a line."""
        if LEVELS[level] < self._least:
            return
        self.configure_now()
        import structlog

        getattr(structlog.get_logger("hkoji"), level)(event, **values)

    debug = partialmethod(write, "debug")
    """Writes what helps to find a fault."""
    info = partialmethod(write, "info")
    """Writes what happens every day."""
    warning = partialmethod(write, "warning")
    """Writes what an operator should know of."""
    error = partialmethod(write, "error")
    """Writes what an operator should look into."""


log: Final = ServiceLog()


LogFormat = Literal["json", "text"]


def configure_logging(level: LogLevel, form: LogFormat = "json") -> None:
    """Sets up the logs of this process."""
    import structlog

    log.forget_later()
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_exception,
    ]
    last: Processor = structlog.processors.JSONRenderer(sort_keys=True) if form == "json" else _as_text
    structlog.configure(
        processors=[*shared, last],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        # One write for each line, so that lines of several processes do not mix.
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _LossyFile(sys.stderr))),
    )
    handler = logging.StreamHandler(sys.stderr)
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[remove_meta, last], foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(LEVELS[level], logging.WARNING))  # lines of other libraries below a warning may hold secrets


def configure_logging_later(level: LogLevel, form: LogFormat = "json") -> None:
    """Sets up the logs of this process when there is a first line: by then most processes for one mail have ended."""
    log.configure_later(level, partial(configure_logging, level, form))
    root = logging.getLogger()
    root.handlers = [_FirstLine()]
    root.setLevel(logging.WARNING)


class _FirstLine(logging.Handler):
    """Sets the logs up when another library writes the first line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Hands the line on to the handler that takes the place of this one."""
        log.configure_now()
        root = logging.getLogger()
        if self not in root.handlers and record.levelno >= root.level:
            root.handle(record)


class _LossyFile(io.TextIOBase):
    """A file that drops a line on a full disk or a closed pipe. A request must not fail because of its log line."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self._file = file

    def write(self, text: str) -> int:
        """Writes, if possible."""
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes, if possible."""
        with suppress(OSError):
            self._file.flush()


def _add_exception(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    info = event.pop("exc_info", None)
    error = sys.exc_info()[1] if info is True else info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["exception"] = describe(error)
        frames = traceback.extract_tb(error.__traceback__)
        event["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
    return event


def describe(error: BaseException) -> str:
    """Describes an exception for the log: its class, the database's code, and the message of the project's own ones."""
    original = getattr(error, "orig", None) or error
    name = getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None)
    message = f": {error}" if isinstance(error, HkojiError) else ""
    return f"{type(error).__name__}{f' ({name})' if name else ''}{message}"


def _as_text(_: WrappedLogger, __: str, event: EventDict) -> str:
    at, level, message = event.pop("timestamp", ""), event.pop("level", ""), event.pop("event", "")
    rest = " ".join(f"{name}={_quote(value)}" for name, value in sorted(event.items()))
    return f"{at} {level:7} {message} {rest}".rstrip()


def _quote(value: object) -> str:
    text = str(value)
    return text if text and all("!" <= c <= "~" and c not in "\"'=" for c in text) else repr(text)
