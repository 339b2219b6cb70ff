"""`hkoji key`, `keys`, `rekey`, `revoke`, `recover` and `trust`: shows, replaces and revokes keys."""

from __future__ import annotations

import json
import re
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.cli.audit.command import parse_expected_key
from hkoji.cli.input import confirm, read_code, read_input, unconfirmed, with_origin
from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput, encode, versioned
from hkoji.client import Client
from hkoji.client.kept.home import KeyStanding, Pins, pinned
from hkoji.client.key_changes import RevokedKey
from hkoji.client.player_settings import ServiceChoices
from hkoji.errors import HkojiError, MalformedError, UsageError
from hkoji.log.entry import SERVER_NAME
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell

_KNOWN: Final = {
    KeyStanding.CONFIRMED: tell("confirmed by you"),
    KeyStanding.LINK: tell("introduced by link"),
    KeyStanding.FOLLOWED: tell("signed by an earlier key"),
    KeyStanding.SEEN: tell("seen first, not compared"),
}
_FINGERPRINT: Final = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


class RevokeOptions(NamedTuple):
    """The options of `revoke`: a file or one of the player's keys, whether to send, and whether to ask."""

    file: str | None
    prepare: bool
    fingerprint: str | None
    yes: bool


class RecoverOptions(NamedTuple):
    """The options of `recover`: the service's address, its origin if that is another one, a key file, consent."""

    server: str
    origin: str | None
    key: Path | None
    yes: bool


def key(client: Client, out: CommandOutput) -> None:
    """Prints the public key."""
    identity = client.identity
    value = {"name": identity.name, "key": identity.key.text, "fingerprint": identity.key.fingerprint}
    out.result(value, lambda: identity.key.text, exact=True)


def known(client: Client, out: CommandOutput) -> None:
    """Lists the keys of others, and of the services, that are known here, and how each of them is known."""
    found: list[dict[str, Any]] = []  # Any: JSON
    for url in pinned(client.home):
        pins = Pins(client.home, url, out.say)
        named = {name: keys for name, keys in pins.every.items() if name != client.identity.name}
        if pins.server_key is not None:
            named[SERVER_NAME] = (pins.server_key,)
        for name, (current, *earlier) in sorted(named.items()):
            found.append(
                {
                    "server": url,
                    "name": name,
                    "key": current.text,
                    "fingerprint": current.fingerprint,
                    "known": pins.standing(name, current).value,
                    "earlier": [each.fingerprint for each in earlier],
                }
            )

    def text() -> str:
        if not found:
            return _("No keys are known here.")
        width = max(len(each["name"]) for each in found)
        lines: list[str] = []
        for url, here in groupby(found, key=itemgetter("server")):
            lines.append(url)
            for each in here:
                how = translate(_KNOWN[each["known"]])
                lines.append(f"  {each['name']:{width}}  {each['fingerprint']}  {how}")
        return "\n".join(lines)

    out.result(found, text, exact=True)


def rekey(client: Client, out: CommandOutput, key: Path | None) -> None:
    """Replaces the key by one that the old key signs."""
    old = client.identity.key
    identity = client.keys.rekey(key)
    out.result(
        {
            "name": identity.name,
            "key": identity.key.text,
            "fingerprint": identity.key.fingerprint,
            "old": old.text,
            "key_file": str(identity.file),
        },
        lambda: _(
            "{name} plays with the key {fingerprint} now, kept in {file}\n"
            "Running games follow on your turn, with the next command that looks at them. Keep the old key file.",
            name=identity.name,
            fingerprint=identity.key.fingerprint,
            file=identity.file,
        ),
    )


def revoke(client: Client, out: CommandOutput, wish: RevokeOptions) -> None:
    """Revokes a key, or prepares the revocation."""
    if wish.file is not None:
        revocation = _parse(read_input(out, wish.file, 8192))
    else:
        revocation = client.keys.revocation(client.server, _own(client, wish.fingerprint))
    if wish.prepare:
        out.lines(encode(versioned(revocation._asdict())) + "\n")
        return
    question = _(
        "Revoke the key? It can never be used again, and you lose your logins and the channels of `hkoji notify`."
    )
    confirm(out, question, tell("not revoked"), yes=wish.yes)
    key = client.keys.revoke(revocation)
    out.result(
        {"key": key.text, "fingerprint": key.fingerprint, "server": revocation.url},
        lambda: _(
            "The key {fingerprint} is no longer valid at {url}.\n"
            "If it was the one you play with, ask the operator for a code, then: hkoji recover NAME --server {url}",
            fingerprint=key.fingerprint,
            url=revocation.url,
        ),
    )


def recover(client: Client, out: CommandOutput, name: str, wish: RecoverOptions) -> None:
    """Gets the player's name back with a new key and a code, which a terminal asks for.

    Whoever gives the code has confirmed it, so only in a batch that is not enough.
    """
    if out.keep and not wish.yes:
        raise unconfirmed()
    service = client.service(wish.server)
    # Before the code is read: whoever has it can give the name to a key of their own.
    origin = with_origin(out, wish.origin, service.meet).origin
    identity = client.keys.recover(name, service.url, read_code(out), wish.key, origin)
    lost = [each.fingerprint for each in service.pins.every.get(name, ())[1:]]
    out.result(
        {"name": name, "key": identity.key.text, "fingerprint": identity.key.fingerprint, "lost": lost},
        lambda: _(
            "{name} plays with the key {fingerprint} now. Earlier keys, according to the service: {lost}\n"
            "Send your opponents this fingerprint: their programs will ask them to compare it.",
            name=name,
            fingerprint=identity.key.fingerprint,
            lost=", ".join(lost),
        ),
    )


def trust(client: Client, out: CommandOutput, name: str, key: str) -> None:
    """Accepts a key that the user has compared."""
    fingerprint = key if _FINGERPRINT.fullmatch(key) else parse_expected_key(f"{name}={key}")[1].fingerprint
    service = client.service()
    service.pins.trust(name, fingerprint)
    try:
        ServiceChoices(client.home, service).send_known()
    except HkojiError as error:
        out.say(tell("your service does not know yet that you know {name}: {reason}", name=name, reason=error))
        out.say(tell("tell it with `hkoji config invites known`"))
    out.result(
        {"name": name, "fingerprint": fingerprint},
        lambda: _("{fingerprint} is a key of {name} from now on.", fingerprint=fingerprint, name=name),
    )


def _own(client: Client, fingerprint: str | None) -> PublicKey | None:
    if fingerprint is None:
        return None
    for own in client.identity.keys:
        if own.public.fingerprint == fingerprint:
            return own.public
    raise UsageError(
        tell("{fingerprint} is not one of your keys", fingerprint=fingerprint),
        hint=tell("see them with `hkoji whoami`"),
    )


def _parse(data: bytes) -> RevokedKey:
    try:
        value = json.loads(data)
        return RevokedKey(str(value["url"]), str(value["text"]), str(value["sig"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MalformedError(
            tell("revocation"), tell("it is not the output of `hkoji revoke --prepare`"), hint=tell("nothing was sent")
        ) from error
