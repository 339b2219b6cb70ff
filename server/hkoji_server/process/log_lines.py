"""Log lines on stderr: JSON for programs, text for people. Nothing secret is ever passed to the log.

What other libraries log goes the same way. Of an exception its class and its place are told; what it says only if it
is one of the project's own, which hold no secrets: others quote values.
"""

from __future__ import annotations

import io
import logging
import sys
import traceback
from contextlib import suppress
from typing import Final, Literal, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from hkoji.errors import HkojiError

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["json", "text"]
LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def configure_logging(level: LogLevel, form: LogFormat = "json") -> None:
    """Sets up the logs of this process."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _tell_exception,
    ]
    last: Processor = structlog.processors.JSONRenderer(sort_keys=True) if form == "json" else _as_text
    structlog.configure(
        processors=[*shared, last],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        # A line is one write: processes do not mix theirs.
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Patient(sys.stderr))),
    )
    handler = logging.StreamHandler(sys.stderr)
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[remove_meta, last], foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(LEVELS[level], logging.WARNING))  # others' talk below a warning may hold anything


class _Patient(io.TextIOBase):
    """A file that loses a line rather than fail: a request does not fail because nobody can read of it.

    As on a full disk, or where nobody reads from a pipe any more.
    """

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self._file = file

    def write(self, text: str) -> int:
        """Writes, if that can be done."""
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Passes on what has been written, if that can be done."""
        with suppress(OSError):
            self._file.flush()


def _tell_exception(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    info = event.pop("exc_info", None)
    error = sys.exc_info()[1] if info is True else info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["exception"] = describe(error)
        frames = traceback.extract_tb(error.__traceback__)
        event["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
    return event


def describe(error: BaseException) -> str:
    """An exception for a log: its class, the database's name for it, and what the project's own say."""
    original = getattr(error, "orig", None) or error
    name = getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None)
    said = f": {error}" if isinstance(error, HkojiError) else ""
    return f"{type(error).__name__}{f' ({name})' if name else ''}{said}"


def _as_text(_: WrappedLogger, __: str, event: EventDict) -> str:
    at, level, what = event.pop("timestamp", ""), event.pop("level", ""), event.pop("event", "")
    rest = " ".join(f"{name}={_quote(value)}" for name, value in sorted(event.items()))
    return f"{at} {level:7} {what} {rest}".rstrip()


def _quote(value: object) -> str:
    text = str(value)
    return text if text and all("!" <= c <= "~" and c not in "\"'=" for c in text) else repr(text)
