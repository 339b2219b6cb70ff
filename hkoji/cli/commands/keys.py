"""The commands about keys of the group "Identity and settings": shows, replaces, revokes and trusts keys."""

from __future__ import annotations

import re
from itertools import groupby
from json import loads
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Json, KeyFile, Origin, Server, Yes
from hkoji.cli.input import confirm, read_code, read_input, unconfirmed, with_origin
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, encode, out, versioned
from hkoji.cli.terminal import columns
from hkoji.errors import HkojiError, MalformedError, UsageError
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client import Client
    from hkoji.client.identity import Identity
    from hkoji.client.key_changes import RevokedKey
    from hkoji.log.public_key import PublicKey

commands = typer.Typer()

_FINGERPRINT: Final = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


@commands.command(epilog="Examples: hkoji key > alice.pub; hkoji audit 2714 --key alice=alice.pub")
def key(json: Json = False) -> None:
    """Print your public key, to give to others."""
    identity = client().identity
    out.result(identity_json(identity), lambda: identity.key.text, exact=True)


def identity_json(identity: Identity) -> dict[str, Any]:  # Any: JSON
    """Returns the player and their key for programs."""
    return {"name": identity.name, "key": identity.key.text, "fingerprint": identity.key.fingerprint}


@commands.command("keys", epilog="Example: hkoji keys --json")
def keys_(json: Json = False) -> None:
    """List the keys of others that you know, and how.

    A key is confirmed by you (hkoji trust), introduced by link, signed by an earlier key, or only seen first: then you
    rely on the service until you compare it.
    """
    from hkoji.client.kept.home import KeyStanding, Pins, pinned
    from hkoji.log.line import SERVER_NAME

    known = {
        KeyStanding.CONFIRMED: tell("confirmed by you"),
        KeyStanding.LINK: tell("introduced by link"),
        KeyStanding.FOLLOWED: tell("signed by an earlier key"),
        KeyStanding.SEEN: tell("seen first, not compared"),
    }
    home, me = client().home, client().identity.name
    found: list[dict[str, Any]] = []  # Any: JSON
    for url in pinned(home):
        pins = Pins(home, url, out.say)
        named = {name: keys for name, keys in pins.every.items() if name != me}
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
        rows = columns([(each["name"], each["fingerprint"], translate(known[each["known"]])) for each in found])
        lines: list[str] = []
        for url, here in groupby(zip(found, rows, strict=True), key=lambda pair: pair[0]["server"]):
            lines += [url, *(f"  {row}" for _each, row in here)]
        return "\n".join(lines)

    out.result(found, text, exact=True)


@commands.command(epilog="Examples: hkoji rekey; hkoji rekey --key ~/.ssh/id_ed25519")
def rekey(key: KeyFile = None, json: Json = False) -> None:
    """Replace your key; the old key signs the change.

    Games in progress follow, each on your turn. If the command was interrupted, run it again. --key also takes up a
    key that you have changed or recovered on another machine.
    """
    old = client().identity.key
    identity = client().keys.rekey(key)
    out.result(
        {**identity_json(identity), "old": old.text, "key_file": str(identity.own.file)},
        lambda: _(
            "{name} plays with the key {fingerprint} now, kept in {file}\n"
            "Running games follow on your turn, with the next command that looks at them. Keep the old key file.",
            name=identity.name,
            fingerprint=identity.key.fingerprint,
            file=identity.own.file,
        ),
    )


@commands.command(
    epilog="Examples: hkoji revoke; hkoji revoke --prepare > revocation.json; hkoji revoke revocation.json"
)
def revoke(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A revocation prepared earlier; - for standard input.")
    ] = None,
    prepare: Annotated[bool, typer.Option("--prepare", help="Print the revocation and send nothing.")] = False,
    fingerprint: Annotated[str | None, typer.Option(help="An earlier key of yours, as in hkoji whoami.")] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Revoke your key, for example because it was stolen.

    Only the operator of your service can then give you another: see hkoji recover. A revocation made with --prepare
    and kept elsewhere can be sent from any machine, without the key.
    """
    player = client()
    if file is not None:
        revocation = _parse(read_input(file, 8192))
    else:
        revocation = player.keys.revocation(player.server, _own(player, fingerprint))
    if prepare:
        out.lines(encode(versioned(revocation._asdict())) + "\n")
        return
    question = _(
        "Revoke the key? It can never be used again, and you lose your logins and the channels of `hkoji notify`."
    )
    confirm(question, tell("not revoked"), yes=yes)
    key = player.keys.revoke(revocation)
    out.result(
        {"key": key.text, "fingerprint": key.fingerprint, "server": revocation.url},
        lambda: _(
            "The key {fingerprint} is no longer valid at {url}.\n"
            "If it was the one you play with, ask the operator for a code, then: hkoji recover NAME --server {url}",
            fingerprint=key.fingerprint,
            url=revocation.url,
        ),
    )


@commands.command(epilog="Example: hkoji recover alice --server https://hanamikoji.example < code.txt")
def recover(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Your name as a player.")],
    server: Server,
    origin: Origin = None,
    key: KeyFile = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Needed in a batch; elsewhere the code is confirmation enough.")
    ] = False,
    json: Json = False,
) -> None:
    """Get your name back with a new key, by a code.

    The code is read from standard input. After a revocation the operator of the service gives you one. If you play by
    mail, a letter brings one when you write own key, and this command revokes the key that the service holds for you.
    """
    if out.keep and not yes:  # elsewhere the code is confirmation enough
        raise unconfirmed()
    service = client().service(server)
    # Before the code is read: whoever has it can give the name to a key of their own.
    confirmed = with_origin(origin, service.meet).origin
    identity = client().keys.recover(name, service.url, read_code(), key, confirmed)
    lost = [each.fingerprint for each in service.pins.every.get(name, ())[1:]]
    out.result(
        {**identity_json(identity), "lost": lost},
        lambda: _(
            "{name} plays with the key {fingerprint} now. Earlier keys, according to the service: {lost}\n"
            "Send your opponents this fingerprint: their programs will ask them to compare it.",
            name=name,
            fingerprint=identity.key.fingerprint,
            lost=", ".join(lost),
        ),
    )


@commands.command(epilog="Example: hkoji trust alice SHA256:…")
def trust(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The player.", autocompletion=completion.players)],
    key: Annotated[str, typer.Argument(metavar="KEY", help="A fingerprint, a key as text, or a .pub file.")],
    json: Json = False,
) -> None:
    """Accept a key as the current key of a player.

    First compare it with the player, by another channel than the service.
    """
    from hkoji.client.player_settings import ServiceChoices

    if _FINGERPRINT.fullmatch(key):
        fingerprint = key
    else:
        from hkoji.cli.audit.command import parse_expected_key

        fingerprint = parse_expected_key(f"{name}={key}")[1].fingerprint
    service = client().service()
    service.pins.trust(name, fingerprint)
    try:
        ServiceChoices(client().home, service).send_known()
    except HkojiError as error:
        out.say(tell("your service does not know yet that you know {name}: {reason}", name=name, reason=error))
        out.say(tell("tell it with `hkoji config invites known`"))
    out.result(
        {"name": name, "fingerprint": fingerprint},
        lambda: _("{fingerprint} is a key of {name} from now on.", fingerprint=fingerprint, name=name),
    )


def _own(player: Client, fingerprint: str | None) -> PublicKey | None:
    if fingerprint is None:
        return None
    for own in player.identity.keys:
        if own.public.fingerprint == fingerprint:
            return own.public
    raise UsageError(
        tell("{fingerprint} is not one of your keys", fingerprint=fingerprint),
        hint=tell("see them with `hkoji whoami`"),
    )


def _parse(data: bytes) -> RevokedKey:
    from hkoji.client.key_changes import RevokedKey

    try:
        value = loads(data)
        return RevokedKey(str(value["url"]), str(value["text"]), str(value["sig"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MalformedError(
            tell("revocation"), tell("it is not the output of `hkoji revoke --prepare`"), hint=tell("nothing was sent")
        ) from error
