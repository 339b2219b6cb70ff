"""The settings of a service: from arguments, environment variables that begin with `HKOJI_SERVER_`, or a settings file.

The first of these sources that has a setting counts. The file is TOML, named by `--config` or `HKOJI_SERVER_CONFIG`.
Its keys are the names in `Settings`.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast, get_args

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import TomlConfigSettingsSource as TomlSource

from hkoji.errors import StorageError, UsageError
from hkoji.game.agreement import DAY
from hkoji.log.canonical import is_name
from hkoji.mail.addresses import OwnAddress
from hkoji.messages.text import any_of, shorten, tell
from hkoji.processors import processors
from hkoji.service_url import parse_origin
from hkoji_server.mail_settings import MailDelimiter, read_imap, read_lmtp, read_own_address, read_smtp

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

PREFIX: Final = "HKOJI_SERVER_"
DATABASE: Final = "HKOJI_DATABASE"
_ALIKE: Final = 0.93
"""Names that are more alike than this differ by a letter."""
OFF: Final = "off"
"""The rate that limits nothing."""
_MOST_WORKERS: Final = 128
_LONGEST: Final = 36_500 * DAY
"""A hundred years: such a time from now, and before it, can still be written down."""
_ADDRESSES: Final = 4
"""The number of addresses that together can take all places, at least."""
_RATE: Final = re.compile(r"[1-9][0-9]{0,5}/(second|minute|hour)")
_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]{1,5})")


def _split(value: Any) -> Any:  # Any: a source may give any value
    """Splits a text at commas and spaces; in TOML the setting is a list."""
    return [part for part in re.split(r"[,\s]+", value) if part] if isinstance(value, str) else value


def _player(text: str) -> str:
    if not is_name(text):
        raise ValueError(tell("it has to be names of players, separated by commas"))
    return text


def _network(text: str) -> str:
    """Returns an address as it is, and a network without the bits of a host: `10.0.0.1/8` is `10.0.0.0/8`."""
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(tell("it has to name addresses or networks such as 10.0.0.7 or 10.0.0.0/8")) from None
    return str(network) if "/" in text else text


def _forms(proxy: str) -> tuple[str, ...]:
    network = ipaddress.ip_network(proxy)
    if network.version == 6:
        return (proxy,)
    mapped = f"::ffff:{network.network_address}"
    return (proxy, f"{mapped}/{96 + network.prefixlen}" if "/" in proxy else mapped)


def _processes(value: Any) -> Any:  # Any: a source may give any value
    """Returns the number of processes that `auto` stands for: one for each processor that this one may use."""
    if value == "auto":
        return min(processors(), _MOST_WORKERS)
    if isinstance(value, str) and not value.strip().isdecimal():
        raise ValueError(tell("it has to be a whole number from 1 to {most}, or auto", most=_MOST_WORKERS))
    return value


def _read_by(read: Callable[[str], object]) -> AfterValidator:
    """Returns what checks a text by reading it, and keeps the text."""

    def check(text: str) -> str:
        read(text)
        return text

    return AfterValidator(check)


def parse_bind(text: str) -> tuple[str, int]:
    """Returns address and port of `HOST:PORT`. Raises `ValueError`."""
    found = _ADDRESS.fullmatch(text)
    if not found or int(found["port"]) > 65535:
        raise ValueError(tell("an address has the form HOST:PORT"))
    return found["six"] or found["host"] or "127.0.0.1", int(found["port"])


def _rate(text: str | None) -> str | None:
    if text is None or text == OFF:
        return None
    if not _RATE.fullmatch(text):
        raise ValueError(tell("a rate is like 600/minute: at most 999999 a second, minute or hour; or it is off"))
    return text


def _origin(text: str) -> str:
    """Returns the form in which players sign it, which their programs take as an address."""
    try:
        return parse_origin(text)
    except UsageError as error:
        raise ValueError(error.hint) from None


def _web_address(text: str) -> None:
    if not re.fullmatch(r"https?://[!-~]+", text):
        raise ValueError(tell("it has to be an address such as https://hkoji.example/install"))


def _lmtp(text: str | None) -> str | None:
    if text is None or text == OFF:
        return None
    read_lmtp(text)
    return text


def parse_rate(text: str) -> tuple[int, int]:
    """Returns a rate as a number and the seconds in which there may be so many."""
    count, _, unit = text.partition("/")
    return int(count), {"second": 1, "minute": 60, "hour": 3600}[unit]


def cap_of_address(cap: int, all_places: int) -> int:
    """Returns how many places one address may take: `cap`, but at most a quarter of all; 0 if there is no cap."""
    return min(cap, max(1, all_places // _ADDRESSES)) if cap else 0


Registration = Literal["open", "code", "closed"]
RateSetting = Annotated[str | None, AfterValidator(_rate)]


class Settings(BaseSettings):
    """Settings of a service. Durations are in seconds."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,  # unit and container files leave variables empty; an empty host would mean every address
        extra="forbid",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    data: Path = Path("hkoji-data")
    """Folder of the database file; created if missing."""
    database: SecretStr | None = None
    """PostgreSQL database to use instead, as in `postgresql+psycopg://me@host/hkoji`; `HKOJI_DATABASE` sets it too."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port; 0 for any free one."""
    origin: Annotated[str, AfterValidator(_origin)] | None = None
    """URL by which players know this service, as in `https://hanamikoji.example`; registrations and logins name it."""
    tls_certificate: Path | None = None
    """File with the certificate and its chain, to serve https without a proxy; read at the start, needs `tls_key`."""
    tls_key: Path | None = None
    """File with the private key of `tls_certificate`, without a passphrase; only the service may be able to read it."""
    workers: Annotated[int, BeforeValidator(_processes)] = Field(default=1, ge=1, le=_MOST_WORKERS)
    """Processes that serve the same address and database; `auto` for one a processor that the service may use."""
    trusted_proxy: Annotated[
        tuple[Annotated[str, AfterValidator(_network)], ...], NoDecode, BeforeValidator(_split)
    ] = ()
    """Addresses or networks of reverse proxies; X-Forwarded-For and X-Forwarded-Proto are accepted only from them."""
    token_lifetime: int = Field(default=24 * 3600, ge=60, le=_LONGEST)
    """How long a login is valid."""
    challenge_lifetime: int = Field(default=300, ge=10, le=_LONGEST)
    """How long a player may take to sign a login."""
    code_lifetime: int = Field(default=7 * 24 * 3600, ge=60, le=_LONGEST)
    """How long a player may take to use a code of the operator."""
    cached_games: int = Field(default=10_000, ge=1)
    """Games that a process keeps in memory."""
    registration: Registration = "open"
    """Those who may register: anyone, those with a code of `hkoji admin invite`, or nobody."""
    offer_lifetime: int = Field(default=24 * 3600, ge=60, le=_LONGEST)
    """How long a host may take to open a game after asking for it; then the service removes the offer."""
    slack: int = Field(default=120, ge=0, le=_LONGEST)
    """How long after a deadline the service ends a game; with less than 120 an entry that came in time may be lost."""
    outage_after: int = Field(default=180, ge=3, le=_LONGEST)
    """How long no process may have taken entries before that time counts for no player."""
    shortest_clock: int = Field(default=3600, ge=1)
    """The least time for a turn and reserve together that players may agree on."""
    longest_expiry: int = Field(default=60 * 24 * 3600, ge=1, le=_LONGEST)
    """How long a game may wait for a guest."""
    daily_offers: int = Field(default=50, ge=0)
    """How many games a player may ask for in 24 hours; further requests get 429; 0: any number."""
    daily_offers_of_new: int = Field(default=5, ge=0)
    """How many games a player may ask for in the first 24 hours after registering; 0: as many as others."""
    sealed: bool = True
    """Whether players may ask for sealed games (beta): nobody but its player sees a hand, not even the operator."""
    operators: Annotated[tuple[Annotated[str, AfterValidator(_player)], ...], NoDecode, BeforeValidator(_split)] = ()
    """The players who run this service, as in `alice,bob`: other players' programs deposit no draws in sealed games
    against them."""
    webhook_private: bool = False
    """Whether webhooks may be in your own network: at private addresses, any port, and by http at these addresses."""
    mail: Annotated[str, AfterValidator(read_own_address)] | None = None
    """The service's own mail address, as in `play@hkoji.example`; without it nobody can play by mail."""
    mail_lmtp: Annotated[str | None, AfterValidator(_lmtp)] = "127.0.0.1:2424"
    """Where mail is taken by LMTP: HOST:PORT, the path of a socket, or `off`; with `mail_imap` only if this is set."""
    mail_imap: Annotated[str, _read_by(read_imap)] | None = None
    """A mailbox in which mail comes, as in `imaps://user@mail.example/INBOX`; it must be for the service alone."""
    mail_imap_password_file: Path | None = None
    """File whose first line is the password for `mail_imap`; only the service may be able to read it."""
    mail_smtp: Annotated[str, _read_by(read_smtp)] = "smtp://127.0.0.1:25"
    """Where letters are submitted, as in `smtps://user@mail.example`; off this machine only with TLS."""
    mail_smtp_password_file: Path | None = None
    """File whose first line is the password for `mail_smtp`; only the service may be able to read it."""
    mail_delimiter: MailDelimiter = MailDelimiter.PLUS
    """The sign before a token in an address: `+`, `-`, or `none` if only the bare address is delivered."""
    mail_register: bool = False
    """Whether anybody can register by a mail `register NAME` that their provider has signed, with open registration."""
    mail_require: Literal["token", "dkim"] = "token"
    """Proof that a mail needs: a letter's secret address, or its provider's signature too; others are asked back."""
    mail_shortest_clock: int = Field(default=24 * 3600, ge=1)
    """The least time for a turn and reserve together in a game with a mail player, since letters take hours."""
    mail_per_day: int = Field(default=20, ge=1)
    """Letters that a mail player may get in a day, and as many answers to a change; those about turns always come."""
    mail_per_hour: int = Field(default=500, ge=1)
    """Letters that the service sends in an hour; those about a turn do not count and always come."""
    mail_metrics: Annotated[str, _read_by(parse_bind)] | None = None
    """HOST:PORT of the metrics of `hkoji admin mail run` for Prometheus; players must not be able to reach it."""
    mail_keep_days: int = Field(default=180, ge=1, le=_LONGEST // DAY)
    """How many days after the end of a game the mails of its players are kept, as evidence."""
    web: bool = True
    """Whether the service has pages on which people watch and play in a browser."""
    install_url: Annotated[str, _read_by(_web_address)] | None = None
    """Where people get the program hkoji, as in `https://hkoji.example/install`; the page of an invitation says it."""
    max_body: int = Field(default=16_384, ge=1024)
    """The largest request body, in bytes."""
    max_connections: int = Field(default=20_000, ge=1)
    """Connections that a process accepts; others are answered 503."""
    max_waiting: int = Field(default=15_000, ge=1)
    """Clients of a process that may wait for new entries at once; others are answered 503."""
    max_address_connections: int = Field(default=200, ge=0)
    """Connections of one address (IPv6: one /64) to a process, except a trusted proxy; others are closed; 0: any."""
    max_address_waiting: int = Field(default=100, ge=0)
    """Clients of one address that may wait at a process at once; further requests get 429; 0: any number."""
    limit_address: RateSetting = "6000/minute"
    """Requests from one address over all workers, as in `600/minute`, or `off`; further requests get 429."""
    limit_player: RateSetting = "3000/minute"
    """Moves and private reads of one player over all workers, or `off`; further requests get 429."""
    limit_registrations: RateSetting = "30/hour"
    """New names from one address over all workers, or `off`; further requests get 429."""
    request_timeout: float = Field(default=20, gt=0)
    """How long a client may take to send a complete request, or pause while it reads an answer."""
    keep_alive: int = Field(default=30, ge=1)
    """How long a connection is kept after an answer."""
    metrics: Annotated[str, _read_by(parse_bind)] | None = None
    """HOST:PORT of the metrics for Prometheus; players must not be able to reach it."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    """The lowest level that is logged; `info` adds a line for each request."""
    log_format: Literal["json", "text"] = "json"
    """Log lines for programs or for people."""

    @property
    def proxies(self) -> tuple[str, ...]:
        """The trusted proxies; those of IPv4 also as a listener on `::` names them, like `::ffff:127.0.0.1`."""
        return tuple(form for each in self.trusted_proxy for form in _forms(each))

    @property
    def lmtp(self) -> str | None:
        """Where mail is taken by LMTP, if it is. If a mailbox is read by IMAP, only where `mail_lmtp` is given."""
        return self.mail_lmtp if self.mail_imap is None or "mail_lmtp" in self.model_fields_set else None

    @property
    def file(self) -> Path:
        """The SQLite file. Without a `database` it is all that must be backed up."""
        return self.data / "hkoji.sqlite3"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 # only a file that the operator names is read
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Returns the sources: arguments before environment before file."""
        file = os.environ.get(f"{PREFIX}CONFIG")
        return init_settings, env_settings, *((TomlSource(settings_cls, Path(file)),) if file else ())


def load(config: Path | None = None, /, **given: Any) -> Settings:  # Any: settings by name
    """Returns the settings from the arguments that are not None, the environment and the file.

    A name that no setting has is refused in each of them. Processes started from this one read the same file.

    Raises `UsageError`, `StorageError`.
    """
    if config is not None:
        os.environ[f"{PREFIX}CONFIG"] = str(config.expanduser().absolute())
    file = os.environ.get(f"{PREFIX}CONFIG", "")
    _check_environment()
    if given.get("database") is None:
        given["database"] = os.environ.get(DATABASE) or None
    try:
        if file:
            Path(file).read_bytes()
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except OSError as error:
        raise StorageError(tell("cannot read {file}: {reason}", file=file, reason=error.strerror)) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0])
        file = file or tell("a settings file")
        if first["type"] == "extra_forbidden":
            hint = tell("check {file}; docs/cli.md lists all settings", file=file)
            raise _unknown(name, Settings.model_fields, hint) from None
        raise UsageError(
            tell("the setting {name} is not valid: {reason}", name=name, reason=_reason(name, first)),
            hint=_where(name, file, by_flag=given.get(name) is not None),
        ) from None
    except ValueError as error:  # the file is not TOML
        raise UsageError(tell("{file} is not TOML: {reason}", file=file, reason=shorten(str(error), 120))) from error


def _check_environment() -> None:
    """Raises `UsageError` for a variable that looks like a setting and is none. Empty ones count as not set.

    It looks like one if it begins as settings do or is nearly the name of one. Others are the operator's own.
    """
    known = [DATABASE, *(f"{PREFIX}{each.upper()}" for each in ("config", *Settings.model_fields))]
    for given, value in os.environ.items():
        name = given.upper()
        if not value or name in known or not name.startswith("HKOJI_"):
            continue
        if name.startswith(PREFIX) or get_close_matches(name, known, n=1, cutoff=_ALIKE):
            raise _unknown(name, known, tell("check the environment; docs/cli.md lists all settings"))


def _unknown(name: str, known: Collection[str], hint: str) -> UsageError:
    """Returns the refusal of a setting that does not exist, with the name that was probably meant."""
    said = tell("there is no setting {name}", name=shorten(name))
    if near := get_close_matches(name, known, n=1):
        hint = tell("did you mean {name}? {hint}", name=near[0], hint=hint)
    return UsageError(said, hint=hint)


def _reason(name: str, fault: ErrorDetails) -> str:
    """Returns what a setting has to be, for what Pydantic has found. The value is not repeated: it may be a secret."""
    kind, field = fault["type"], Settings.model_fields[name]
    if kind == "value_error":  # one of this module or of `mail_settings`, which says it in words of this project
        return cast(str, fault["ctx"]["error"].args[0])
    if kind in ("literal_error", "enum"):
        return tell(
            "it has to be {names}",
            names=any_of(get_args(field.annotation) or tuple(cast(type[StrEnum], field.annotation))),
        )
    if kind.startswith("bool"):
        return tell("it has to be true or false")
    if kind.startswith("tuple"):
        return tell("it has to be a list")
    if kind.startswith(("string", "path")):
        return tell("it has to be a text, in quotes")
    limits = {
        limit: getattr(each, limit) for each in field.metadata for limit in ("ge", "gt", "le") if hasattr(each, limit)
    }
    if "gt" in limits:
        return tell("it has to be a number greater than {least}", least=limits["gt"])
    if "le" in limits:
        return tell("it has to be a whole number from {least} to {most}", least=limits["ge"], most=limits["le"])
    return tell("it has to be a whole number of at least {least}", least=limits["ge"])


def _where(name: str, file: str, *, by_flag: bool) -> str:
    """Returns where a setting is set: by its argument, if it was given by that, or elsewhere."""
    variable = f"{PREFIX}{name.upper()}"
    if by_flag:
        flag = name.replace("_", "-")
        return tell("set it by --{flag}, by {variable} or in {file}", flag=flag, variable=variable, file=file)
    return tell("set it by {variable} or in {file}", variable=variable, file=file)


def registers_by_mail(settings: Settings) -> bool:
    """Tells whether anybody can register by a mail. With other kinds of registration only the operator invites."""
    return settings.mail_register and settings.registration == "open"


def own_address(settings: Settings) -> OwnAddress | None:
    """Returns the service's mail address and its delimiter; None if it sends no mail."""
    if settings.mail is None:
        return None
    delimiter = settings.mail_delimiter
    return OwnAddress(settings.mail, "" if delimiter is MailDelimiter.NONE else delimiter.value)
