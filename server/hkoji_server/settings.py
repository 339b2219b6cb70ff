"""What a host can set: by argument, or by environment variables beginning with `HKOJI_SERVER_`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Settings of one server process. Durations are in seconds."""

    model_config = SettingsConfigDict(env_prefix="HKOJI_SERVER_", extra="forbid")

    data: Path = Path("hkoji-data")
    """Folder of the database file; made if missing."""
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    origin: str | None = None
    """What players call this service, as in `https://hanamikoji.example`; registrations and logins sign it."""
    token_lifetime: int = Field(default=24 * 3600, ge=60)
    challenge_lifetime: int = Field(default=300, ge=10)
    code_lifetime: int = Field(default=7 * 24 * 3600, ge=60)
    """How long a player may take to use the code that the host has given them for another key."""
    cached_games: int = Field(default=10_000, ge=1)
    max_body: int = Field(default=16_384, ge=1024)
    """The largest request body, in bytes."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @property
    def database(self) -> Path:
        """The SQLite file: all there is to back up."""
        return self.data / "hkoji.sqlite3"
