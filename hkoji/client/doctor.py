"""Checks a player's set-up: files, key, pins, service and clock.

Changes nothing, and sends only requests for what the service shows to everybody: its description, the player's keys.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hkoji import __version__
from hkoji.client.answers import problem, read, read_player
from hkoji.client.identity import load
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home, Pins
from hkoji.client.kept.sealed import MissingSealedKeyError, SealedKeys
from hkoji.client.moving import BoundGames, bound_games, goes_on
from hkoji.client.requests import REPLACED, move_command
from hkoji.client.transport import LATER, HttpAnswer, Transport
from hkoji.doctor_check import DoctorCheck
from hkoji.errors import HkojiError
from hkoji.game.agreement import format_duration
from hkoji.game.course import Course
from hkoji.game.replay import find_seat, is_sealed, replay
from hkoji.messages.text import shorten, tell
from hkoji.rules.events import Seat

_SKEW: Final = 120
_LITTLE: Final = 50 * 1024 * 1024
_LEAST: Final = 1024 * 1024
_MOST_SHOWN: Final = 5


def examine(
    home: Home, connect: Callable[[str], Transport] = Transport, clock: Callable[[], float] = time.time
) -> Iterator[DoctorCheck]:
    """Yields the checks, one after another, as they are made."""
    config = _checked("player", lambda: _config(home))
    yield config
    yield _room(home.path)
    if config.verdict == "fail":
        return
    yield _checked("key", lambda: _key(home))
    yield _permissions(home)
    yield _checked("unsent", lambda: _unsent(home))
    if running := _sealed_games(home):
        yield _checked("sealed", lambda: _sealed(home, running))
    url = str(home.config().get("server") or "")
    yield from _games(home, url, connect)
    if not url:
        yield DoctorCheck(
            "service", "warn", tell("you are not registered at a service"), tell("hkoji register --server URL")
        )
        return
    yield from _service(home, url, connect, clock)


def _checked(name: str, check: Callable[[], DoctorCheck]) -> DoctorCheck:
    """Returns the outcome of a check; its failure if it raises an error."""
    try:
        return check()
    except HkojiError as error:
        return DoctorCheck(name, "fail", error.message, error.hint)


def _config(home: Home) -> DoctorCheck:
    said = tell("you are {name}, in {folder}", name=home.config()["name"], folder=home.path)
    return DoctorCheck("player", "ok", said)


def _room(folder: Path) -> DoctorCheck:
    there = next((each for each in (folder, *folder.parents) if each.exists()), Path("/"))
    free = shutil.disk_usage(there).free
    shown = tell("{megabytes} MB are free for {folder}", megabytes=free // 1_000_000, folder=folder)
    hint = tell("make room: nothing is sent that cannot be saved first")
    if not os.access(there, os.W_OK):
        return DoctorCheck(
            "disk", "fail", tell("{folder} is not writable", folder=there), tell("check its owner: ls -ld")
        )
    return DoctorCheck(
        "disk", "fail" if free < _LEAST else "warn" if free < _LITTLE else "ok", shown, hint * (free < _LITTLE)
    )


def _key(home: Home) -> DoctorCheck:
    identity = load(home)
    identity.signer.sign("hkoji.doctor.v1", b"\n")
    return DoctorCheck("key", "ok", tell("the key {fingerprint} signs", fingerprint=identity.key.fingerprint))


def _permissions(home: Home) -> DoctorCheck:
    secret = [home.path, *home.path.glob("*.json"), *home.path.glob("id_ed25519*"), SealedKeys(home).file]
    with suppress(HkojiError):
        secret.append(load(home).own.file)
    open_ = [
        file
        for file in dict.fromkeys(secret)
        if file.suffix != ".pub" and file.exists() and file.stat().st_mode & 0o077
    ]
    if not open_:
        return DoctorCheck("permissions", "ok", tell("no other user can read your files"))
    named = " ".join(str(file) for file in open_[:_MOST_SHOWN])
    return DoctorCheck(
        "permissions", "warn", tell("others on this machine can read {files}", files=named), f"chmod go-rwx {named}"
    )


def _unsent(home: Home) -> DoctorCheck:
    waiting = [game[:8] for game in home.games() if Vault(home.game_folder(game)).outbox() is not None]
    if not waiting:
        return DoctorCheck("unsent", "ok", tell("no signed move waits to be sent"))
    shown = " ".join(waiting[:_MOST_SHOWN])
    return DoctorCheck(
        "unsent",
        "warn",
        tell("signed, but not confirmed by the service, in: {games}", games=shown),
        tell("hkoji show {game} sends the same bytes again", game=waiting[0]),
    )


def _sealed_games(home: Home) -> list[tuple[Course, Seat]]:
    """Returns the sealed games of the player that go on, as far as their logs here say."""
    try:
        identity = load(home)
    except HkojiError:  # the check of the key says it
        return []
    found = []
    for game in home.games():
        lines = Vault(home.game_folder(game)).readable_lines()
        if is_sealed(lines):
            course, seat = replay(lines).course, find_seat(lines, identity.name, {key.public for key in identity.keys})
            if course is not None and seat is not None and not course.finished:
                found.append((course, seat))
    return found


def _sealed(home: Home, running: list[tuple[Course, Seat]]) -> DoctorCheck:
    """Checks that the sealed keys of running games are here, and what makes proofs."""
    from hkoji.client.sealed_cards import SealedCards  # most players have no sealed game

    missing, file = [], SealedKeys(home).file
    for course, seat in running:
        try:
            SealedCards(Vault(home.game_folder(course.setup.game)), home).require_key(course, seat)
        except MissingSealedKeyError:
            missing.append(course.setup.game[:8])
    if missing:
        shown = " ".join(missing[:_MOST_SHOWN])
        return DoctorCheck(
            "sealed",
            "fail",
            tell("{file} has no sealed key for: {games}", file=file, games=shown),
            tell(
                "copy `sealed.key` from your other machine or from a backup; without it you can only resign these "
                "games, or ask to call them off"
            ),
        )
    shown = " ".join(course.setup.game[:8] for course, _ in running[:_MOST_SHOWN])
    return DoctorCheck(
        "sealed",
        "ok",
        tell("{file} has the sealed key for: {games}", file=file, games=shown),
        tell("keep a copy of it elsewhere: without it you cannot play on, and lose these games"),
    )


def _games(home: Home, own: str, connect: Callable[[str], Transport]) -> Iterator[DoctorCheck]:
    """Checks the other addresses than the player's service's to which running games are bound."""
    try:
        pinned = Pins(home, own).server_key if own else None
        found = [each for each in bound_games(home) if each.url != own]
    except HkojiError:  # the check of the pins says it
        return
    for each in found:
        running = [game for game in each.games if goes_on(home, game)]
        if running:
            yield _address_of(each, running, own if pinned is not None and each.key == pinned else "", connect)


def _address_of(bound: BoundGames, running: list[str], now: str, connect: Callable[[str], Transport]) -> DoctorCheck:
    """Checks an address to which running games are bound; `now` is the player's service if that is the same one."""
    shown = " ".join(game[:8] for game in running[:_MOST_SHOWN])
    transport = connect(bound.url)
    try:
        found = transport.request("GET", "/v1/service").json()
    except HkojiError as error:
        said = tell("{reason}; bound to this address: {games}", reason=error.message, games=shown)
        return DoctorCheck("games", "fail", said, _moves(now))
    finally:
        transport.close()
    key = found.get("key") if isinstance(found, dict) else None
    if bound.key is None or key != bound.key.text:
        said = tell("{url} does not show the key pinned for these games: {games}", url=bound.url, games=shown)
        return DoctorCheck("games", "fail", said, _moves(now))
    if now:
        said = tell("bound to {url}, and you are registered at {now}: {games}", url=bound.url, now=now, games=shown)
        return DoctorCheck("games", "warn", said, _moves(now))
    return DoctorCheck("games", "ok", tell("{url} answers, for {games}", url=bound.url, games=shown))


def _moves(now: str) -> str:
    if now:
        return move_command(now)
    return tell("if the service has moved, ask its operator where, and then: {command}", command=move_command("URL"))


def _service(
    home: Home, url: str, connect: Callable[[str], Transport], clock: Callable[[], float]
) -> Iterator[DoctorCheck]:
    transport = connect(url)
    try:
        before = clock()
        answer = transport.request("GET", "/v1/service")
        after = clock()
        player = transport.request("GET", f"/v1/players/{home.config()['name']}")
    except HkojiError as error:
        unknown = tell(
            "is the address right, and are you online? Then ask its operator; if the service has moved: {command}",
            command=move_command("URL"),
        )
        yield DoctorCheck("service", "fail", error.message, unknown if error.hint in ("", LATER) else error.hint)
        return
    finally:
        transport.close()
    found = answer.json()
    if answer.status != 200 or not isinstance(found, dict):
        yield DoctorCheck("service", "fail", problem(answer).message, tell("ask its operator"))
        return
    if transport.exposed:
        yield DoctorCheck(
            "service",
            "warn",
            tell("{url} answers without TLS: others can read your cards on the way", url=url),
            tell("ask its operator for an address with https"),
        )
    else:
        yield DoctorCheck("service", "ok", tell("{url} answers", url=url))
    yield _checked("pins", lambda: _pin(home, url, str(found.get("key")), str(found.get("origin"))))
    yield _checked("registration", lambda: _registration(home, url, player))
    yield _clock(str(found.get("time")), before, after)
    version = shorten(str(found.get("version")), 20)
    if version == __version__:
        yield DoctorCheck("version", "ok", tell("{version}, like the service's", version=version))
    else:
        yield DoctorCheck(
            "version",
            "warn",
            tell("the service has version {theirs}, this program {own}", theirs=version, own=__version__),
            tell("if they do not understand each other, update the older one"),
        )


def _pin(home: Home, url: str, key: str, origin: str) -> DoctorCheck:
    pins = Pins(home, url)
    pinned, own = pins.server_key, pins.origin
    hint = f"hkoji register --server {url}"
    if pinned is None:
        return DoctorCheck("pins", "warn", tell("the service's key is not pinned yet"), hint)
    if pinned.text != key:
        return DoctorCheck(
            "pins",
            "fail",
            tell("the service shows another key than the pinned {fingerprint}", fingerprint=pinned.fingerprint),
            tell("stop here; ask its operator over another channel"),
        )
    if own is None:
        return DoctorCheck("pins", "warn", tell("you are not registered at {url}", url=url), hint)
    if own != origin:
        return DoctorCheck(
            "pins",
            "fail",
            tell(
                "the service says its address is {origin}; you registered at {known}", origin=shorten(origin), known=own
            ),
            tell(
                "if its operator confirms that it has moved: hkoji register --server {url} --move-games",
                url=shorten(origin),
            ),
        )
    return DoctorCheck(
        "pins", "ok", tell("the service's key is the pinned {fingerprint}", fingerprint=pinned.fingerprint)
    )


def _registration(home: Home, url: str, answer: HttpAnswer) -> DoctorCheck:
    """Checks that the player's key is the one by which the service knows the name."""
    what = "registration"
    identity = load(home)
    if answer.status == 404:
        said = tell("the service does not know {name}", name=identity.name)
        return DoctorCheck(what, "fail", said, f"hkoji register --server {url}")
    if answer.status != 200:
        return DoctorCheck(what, "fail", problem(answer).message, tell("ask its operator"))
    found, own = read(answer, read_player), identity.key_at(url)
    if found.key == own and not found.revoked:
        said = tell("the service knows {name} by this key", name=identity.name)
        return DoctorCheck(what, "ok", said)
    if found.key == own:
        said = tell("your key {fingerprint} has been revoked", fingerprint=own.fingerprint)
        hint = tell(
            "ask the operator for a code, then: hkoji recover {name} --server {url}", name=identity.name, url=url
        )
        return DoctorCheck(what, "fail", said, hint)
    said = found.why_not(own, identity.name)
    if identity.next is not None and found.key in (identity.key, identity.next.public):
        return DoctorCheck(what, "fail", said, tell("finish your change of key with `hkoji rekey`"))
    return DoctorCheck(what, "fail", said, REPLACED)


def _clock(text: str, before: float, after: float) -> DoctorCheck:
    try:
        theirs = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return DoctorCheck("clock", "warn", tell("the service does not give its time"))
    behind, ahead = int(theirs - after), int(before - theirs - 1)
    if max(behind, ahead) <= _SKEW:
        return DoctorCheck("clock", "ok", tell("your clock agrees with the service's"))
    apart = format_duration(60 * round(max(behind, ahead) / 60))
    if behind > 0:
        said = tell("your clock is {time} behind the service's", time=apart)
    else:
        said = tell("your clock is {time} ahead of the service's", time=apart)
    hint = tell("set the clock: the service's time counts, but your entries show yours")
    return DoctorCheck("clock", "warn", said, hint)
