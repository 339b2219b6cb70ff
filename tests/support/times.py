"""Times of the log, for decisions that a store or service judges by a real clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def log_time(moment: datetime) -> str:
    """A time in the form of the log."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def now(seconds: float = 0) -> str:
    """The time so many seconds from now, in the form of the log."""
    return log_time(datetime.now(UTC) + timedelta(seconds=seconds))
