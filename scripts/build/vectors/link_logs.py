"""Logs of games that are opened by link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scripts.build.vectors.formulas import (
    CODE,
    GAME,
    LINK,
    UNTIMED,
    Vector,
    canonical,
    encode64,
    key_text,
    public,
    sign,
)
from scripts.build.vectors.log_builder import PLAYERS, Log, after, enter, entering, offered, reveal_entropy
from scripts.build.vectors.time_entries import lapse
from tests.support.curve import NEUTRAL, encode_point

_OTHER: Final = f"link {CODE[::-1]}"
_SPACES: Final = ("hkoji.invite.v1", "hkoji.join.v1")
_CHANGES: Final = (
    ("entropy_commit", "ab" * 32),
    ("game", "ab" * 16),
    ("key", key_text(public("carol"))),
    ("name", "carol"),
    ("prev", "ab" * 32),
)


def signature(log: Log, seat: int, key: str = LINK, space: str = "", **change: object) -> str:
    """The signature of the named key for the next entry of a seat; `change` replaces fields of what it signs."""
    said = {**entering(seat), "game": GAME, "name": PLAYERS[seat][0], "prev": log.prev, "v": 1, **change}
    return encode64(sign(key, space or _SPACES[seat], f"{canonical(said)}\n"))


def opened(log: Log, key: str = LINK, **invite: object) -> Log:
    """Adds an `open` by link; `invite` replaces fields of the invitation."""
    return enter(log, 0, invite={"link": key_text(public(key)), "sig": signature(log, 0, key), **invite})


def joined(log: Log, **body: object) -> Log:
    """Adds a `join` with what else is in its body."""
    return log.add("join", "bob", {**entering(1), **body})


def _begun(key: str = LINK) -> Log:
    log = opened(offered(), key)
    joined(log, link_sig=signature(log, 1, key))
    return reveal_entropy(reveal_entropy(log, 1), 0)


def link_logs() -> Iterator[Vector]:
    """Logs that hold, and one for each thing that can be wrong: the finding is in the last entry."""
    yield from _found("begun", _begun())
    yield from _found("expired", lapse(opened(offered({**UNTIMED, "expires": after(9)})), "expired", at=10))
    yield from _found("declined", lapse(opened(offered()), "declined", at=1), 5, "server", "illegal")
    yield from _opens()
    yield from _joins()
    yield from _forms()
    yield from _other_keys()


def _found(
    what: str, log: Log, step: int = 0, names: str | None = None, error: str = "bad-signature"
) -> Iterator[Vector]:
    last = len(log.lines) - 1
    found = {"step": step, "entry": last, "error": error, "names": names} if step else None
    yield {"what": f"by link: {what}", "log": log.text, "holds": last if step else last + 1, "finding": found}


def _opens() -> Iterator[Vector]:
    log = offered()
    yield from _found("an open signed by another link", opened(log, sig=signature(log, 0, _OTHER)), 4)
    log = offered()
    yield from _found("an open signed by the host", opened(log, sig=signature(log, 0, "alice")), 4)
    for space in (_SPACES[1], "hkoji.entry.v1"):
        log = offered()
        yield from _found(f"an open signed in {space}", opened(log, sig=signature(log, 0, space=space)), 4)
    for field, value in _CHANGES:
        log = offered()
        yield from _found(
            f"an open signed for another {field}", opened(log, sig=signature(log, 0, **{field: value})), 4
        )


def _joins() -> Iterator[Vector]:
    yield from _found("a join without link_sig", joined(opened(offered())), 4)
    for invite, open_to in ((None, "everybody"), ({"key": None, "name": "bob"}, "bob")):
        log = enter(offered(), 0, invite=invite)
        yield from _found(f"link_sig where it is open to {open_to}", joined(log, link_sig=signature(log, 1)), 4)
    log = opened(offered())
    yield from _found("a join signed by another link", joined(log, link_sig=signature(log, 1, _OTHER)), 4)
    log = opened(offered())
    yield from _found("a join signed by the guest", joined(log, link_sig=signature(log, 1, "bob")), 4)
    for space in (_SPACES[0], "hkoji.entry.v1"):
        log = opened(offered())
        yield from _found(f"a join signed in {space}", joined(log, link_sig=signature(log, 1, space=space)), 4)
    for field, value in _CHANGES:
        log = opened(offered())
        sig = signature(log, 1, **{field: value})
        yield from _found(f"a join signed for another {field}", joined(log, link_sig=sig), 4)
    sig = signature(opened(offered()), 1)
    log = opened(offered({**UNTIMED, "rematch": GAME}))
    yield from _found("a join signed for another agreement", joined(log, link_sig=sig), 4)


def _forms() -> Iterator[Vector]:
    weak = key_text(encode_point(NEUTRAL))
    yield from _found("the link is weak", opened(offered(), link=weak), 3, None, "weak-key")
    for what, change in (
        ("link is null", {"link": None}),
        ("sig is empty", {"sig": ""}),
        ("sig is null", {"sig": None}),
    ):
        yield from _found(what, opened(offered(), **change), 1, None, "malformed")
    yield from _found("link, sig and name", opened(offered(), name="bob"), 1, None, "not-understood")
    yield from _found(
        "link without sig", enter(offered(), 0, invite={"link": key_text(public(LINK))}), 1, None, "malformed"
    )
    for value in ("", None, "A"):
        yield from _found(f"link_sig is {value!r}", joined(opened(offered()), link_sig=value), 1, None, "malformed")


def _other_keys() -> Iterator[Vector]:
    yield from _found("the host's key", opened(offered(), "alice"), 8, "alice", "illegal")
    yield from _found("the service's key", opened(offered(), "server"), 8, "alice", "illegal")
    log = opened(offered(), "bob")
    yield from _found("the guest's key", joined(log, link_sig=signature(log, 1, "bob")), 8, "bob", "illegal")
    for kind, names in (("rekey", "alice"), ("revoke", "server")):
        log = _begun("alice 2").change_key(kind, "alice", "alice 2")
        yield from _found(f"a {kind} to the key of the link", log, 8, names, "illegal")
