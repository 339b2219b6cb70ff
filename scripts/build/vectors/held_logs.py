"""Logs of games in which the service holds keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from scripts.build.vectors.formulas import AT, UNTIMED, Vector, canonical, encode64, key_text, public, secret, sign
from scripts.build.vectors.log_builder import PLAYERS, Log, begun, enter, entering, offered
from scripts.build.vectors.time_entries import CLOCK
from tests.support.curve import NEUTRAL, encode_point

HELD: Final = "bob held"
"""The secret of the key that the service holds for bob."""
SECOND: Final = "alice held"
TOKEN: Final[Vector] = {"commit": "cd" * 32, "grade": "token"}
DKIM: Final[Vector] = {"commit": "cd" * 32, "grade": "dkim"}
NONE: Final[Vector] = {"commit": None, "grade": "none"}
_ORIGIN: Final = "https://play.example"


def gateway(held: str, name: str, by: str = "server", **change: object) -> Vector:
    """The certificate of a held key, made by the named secret; `change` replaces what is in the body, unsigned."""
    given: Vector = {"address": "ab" * 32, "at": AT, "key": key_text(public(held)), "origin": _ORIGIN}
    sig = encode64(sign(by, "hkoji.held.v1", canonical({**given, "name": name, "v": 1}) + "\n"))
    return {**given, "sig": sig, **change}


def invited(agreement: Vector = UNTIMED, key: str = HELD) -> Log:
    """Alice has invited bob with the key that the service holds for him."""
    return enter(offered(agreement), 0, invite={"key": key_text(public(key)), "name": "bob"})


def joining(certificate: Vector | None = None, mail: Vector | None = TOKEN) -> Vector:
    """The body by which bob joins with a held key."""
    body: Vector = {**entering(1), "key": key_text(public(HELD)), "gateway": certificate or gateway(HELD, "bob")}
    return body if mail is None else {**body, "mail": mail}


def seed(log: Log, seat: int, signer: str, mail: Vector | None = None, space: str = "") -> Log:
    """Adds a player's `seed`, by the named secret."""
    name, entropy = PLAYERS[seat]
    body: Vector = {"entropy": secret(entropy).hex()}
    return log.add("seed", name, body if mail is None else {**body, "mail": mail}, signer, space=space)


def held() -> Log:
    """A game up to the host's first turn, in which the service holds bob's key."""
    log = invited().add("join", "bob", joining(), HELD)
    return seed(seed(log, 1, HELD, NONE), 0, "alice")


def delegating(
    log: Log, grade: str | None = "token", *, key: str = SECOND, signer: str = "alice", name: str = "alice"
) -> Log:
    """Adds alice's `delegate`; with the grade None it ends."""
    body: Vector = {"gateway": gateway(key, name) if grade else None, "grade": grade}
    return log.add("delegate", "alice", body, signer)


def held_logs() -> Iterator[Vector]:
    """Logs that hold, and one for each thing that can be wrong: the finding is in the last entry."""
    yield from _found("begun", held())
    yield from _found("resigned", held().add("resign", "bob", {"mail": DKIM}, HELD))
    yield from _certificates()
    yield from _mails()
    yield from _seats()
    yield from _delegations()


def _found(what: str, log: Log, step: int = 0, error: str = "illegal", names: str | None = None) -> Iterator[Vector]:
    last = len(log.lines) - 1
    found = {"step": step, "entry": last, "error": error, "names": names} if step else None
    yield {"what": f"held: {what}", "log": log.text, "holds": last if step else last + 1, "finding": found}


def _certificates() -> Iterator[Vector]:
    false: tuple[tuple[str, Vector], ...] = (
        ("of another service", gateway(HELD, "bob", "carol")),
        ("signed by the held key", gateway(HELD, "bob", HELD)),
        ("for another name", gateway(HELD, "carol")),
        ("with another mailbox", gateway(HELD, "bob", address="ef" * 32)),
        ("of another origin", gateway(HELD, "bob", origin="https://elsewhere.example")),
        ("of another time", gateway(HELD, "bob", at="2026-11-20T12:00:01Z")),
    )
    for what, certificate in false:
        yield from _found(
            f"a certificate {what}", invited().add("join", "bob", joining(certificate), HELD), 5, "bad-signature"
        )
    malformed: tuple[tuple[str, Vector], ...] = (
        ("of another key", gateway("carol", "bob")),
        ("without origin", {key: value for key, value in gateway(HELD, "bob").items() if key != "origin"}),
        ("with an empty sig", gateway(HELD, "bob", sig="")),
        ("with capitals in address", gateway(HELD, "bob", address="AB" * 32)),
    )
    for what, certificate in malformed:
        log = invited().add("join", "bob", joining(certificate), HELD)
        yield from _found(f"a certificate {what}", log, 1, "malformed")
    later = invited().add("join", "bob", joining(gateway(HELD, "bob", signer=key_text(public("carol")))), HELD)
    yield from _found("a certificate with a key too many", later, 1, "not-understood")
    weak = key_text(encode_point(NEUTRAL))
    body = {**joining(gateway(HELD, "bob", key=weak)), "key": weak}
    yield from _found("a weak key", invited().add("join", "bob", body, HELD), 3, "weak-key")


def _mails() -> Iterator[Vector]:
    wrong: tuple[tuple[str, object, str], ...] = (
        ("null", None, "malformed"),
        ("without a commit", {"grade": "dkim"}, "malformed"),
        ("with a commit and the grade none", {"commit": "cd" * 32, "grade": "none"}, "malformed"),
        ("without commit, of grade dkim", {"commit": None, "grade": "dkim"}, "malformed"),
        ("of grade none in a resign", NONE, "malformed"),
        ("of another grade", {"commit": "cd" * 32, "grade": "spf"}, "not-understood"),
        ("with a key too many", {**TOKEN, "arc": 1}, "not-understood"),
    )
    for what, mail, error in wrong:
        yield from _found(f"a mail {what}", held().add("resign", "bob", {"mail": mail}, HELD), 1, error)
    yield from _found(
        "a mail in a timeout", begun().add("timeout", "server", {"mail": TOKEN, "seat": 0}), 1, "malformed"
    )
    joined = invited().add("join", "bob", joining(), HELD)
    yield from _found("a seed of grade token", seed(joined, 1, HELD, TOKEN))
    joined = invited().add("join", "bob", joining(), HELD)
    yield from _found("a seed without mail", seed(joined, 1, HELD), 5)
    joined = invited().add("join", "bob", joining(mail=None), HELD)
    yield from _found("a join without mail", joined, 5)
    yield from _found("a mail under an own key", begun().add("resign", "alice", {"mail": TOKEN}, "alice"), 5)
    for what, body, space in (
        ("hkoji.entry.v1 with a mail", {"mail": TOKEN}, "hkoji.entry.v1"),
        ("hkoji.gateway.v1 without", {}, "hkoji.gateway.v1"),
    ):
        log = held().add("resign", "bob", body, HELD, space=space)
        yield from _found(f"signed in {what}", log, 4, "bad-signature")


def _seats() -> Iterator[Vector]:
    for what, invite in (
        ("to everybody", None),
        ("to bob", {"key": None, "name": "bob"}),
    ):
        log = enter(offered(), 0, invite=invite).add("join", "bob", joining(), HELD)
        yield from _found(f"a game open {what}", log, 8, names="the service, for bob")
    for rated in (False, True):
        agreement = {**UNTIMED, "clock": CLOCK, "rated": rated}
        body: Vector = {**entering(0), "key": key_text(public(SECOND)), "gateway": gateway(SECOND, "alice")}
        invite = {"key": key_text(public(HELD)), "name": "bob"}
        log = offered(agreement).add("open", "alice", {**body, "invite": invite, "mail": TOKEN}, SECOND)
        log.add("join", "bob", joining(), HELD)
        what = "rated" if rated else "unrated"
        yield from _found(f"both seats, {what}", log, 8 * rated, names="the service, for bob" if rated else None)


def _delegations() -> Iterator[Vector]:
    resign: Callable[[Log, Vector, str], Log] = lambda log, body, key: log.add("resign", "alice", body, key)  # noqa: E731
    yield from _found("delegated, and a mail", resign(delegating(begun()), {"mail": TOKEN}, SECOND))
    yield from _found("delegated, and the own key", resign(delegating(begun()), {}, "alice"))
    log = resign(delegating(begun(), "dkim"), {"mail": TOKEN}, SECOND)
    yield from _found("a weaker mail than was delegated", log, 5)
    log = resign(delegating(begun()), {}, SECOND)
    yield from _found("delegated, and the held key without a mail", log, 4, "bad-signature")
    log = resign(delegating(begun()), {"mail": TOKEN}, "alice")
    yield from _found("delegated, and the own key with a mail", log, 4, "bad-signature")
    yield from _found("a delegation by the held key", delegating(begun(), signer=SECOND), 4, "bad-signature")
    yield from _found("a delegation with a certificate for bob", delegating(begun(), name="bob"), 5, "bad-signature")
    yield from _found("a delegation to bob's key", delegating(begun(), key="bob"), 8, names="alice")
    yield from _found("an end of no delegation", delegating(begun(), None), 8, names="alice")
    yield from _found("two delegations in a row", delegating(delegating(begun()), None), 8, names="alice")
    log = delegating(begun()).change_key("rekey", "alice", "alice 2")
    yield from _found("a delegation, then a rekey", log, 8, names="alice")
    log = delegating(begun().change_key("rekey", "alice", "alice 2"), signer="alice 2")
    yield from _found("a rekey, then a delegation", log, 8, names="alice")
    log = delegating(begun()).change_key("revoke", "alice", "alice 2")
    yield from _found("a delegation, then a revoke", log)
    log = resign(delegating(begun()).change_key("revoke", "alice", "alice 2"), {"mail": TOKEN}, SECOND)
    yield from _found("a mail after the revoke", log, 4, "bad-signature")
