"""Probes that send statements which must be refused, about games, accounts and keys."""

from __future__ import annotations

import json
import random

from hkoji.game.agreement import Agreement
from hkoji.game.time_control import TimeControl
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.statement import make_new_key, make_recovery, make_revocation
from hkoji.log.talk import make_talk
from tests.lab.leaks.eye import FOREIGN, Eye
from tests.lab.leaks.telling import Person, registration
from tests.lab.leaks.worlds import ADDRESS, Request


def stated(eye: Eye, chance: random.Random) -> Request:
    """Tries a statement about another entry, in another's name, with another key, or by who has no seat."""
    telling = eye.telling
    kind = chance.choice(("give", "annul"))
    name = chance.choice((telling.host.name, telling.guest.name, telling.stranger.name))
    person = eye.me if name == eye.me.name else Person(name, chance.choice((FOREIGN, eye.me.key)))
    earlier = [entry.head for entry in telling.entries[:-1]]
    own = person is eye.me and eye.seat is not None  # about the last entry it could be taken
    head = chance.choice(earlier or ["0" * 64]) if own else telling.head
    seconds = chance.choice((60, 86_400))
    made = (
        make_gift(game=eye.game, head=head, name=name, seconds=seconds).text
        if kind == "give"
        else make_annul(game=eye.game, head=head, name=name).text
    )
    value: dict[str, object] = {"head": head, "kind": kind, "name": name}
    value["sig"] = person.sign(made, sshsig.GIVE if kind == "give" else sshsig.ANNUL)
    if kind == "give" or chance.random() < 0.1:
        value["seconds"] = chance.choice((seconds, seconds, 0))
    body = json.dumps(value).encode()
    return Request(f"statement, {kind}", "POST", f"/v1/games/{eye.game}/statements", None, body)


def withdrawn(eye: Eye, chance: random.Random) -> Request:
    """Tries to withdraw a wish without a login, or without a seat."""
    token = chance.choice((None, eye.expired, eye.telling.stranger.token if eye.seat is None else "0" * 64))
    return Request("withdrawal", "DELETE", f"/v1/games/{eye.game}/statements/annul", token)


def talked(eye: Eye, chance: random.Random) -> Request:
    """Tries to write in another's name, with another key or for another game, or to delete what is not the viewer's.

    What the viewer has said may be said again: then nothing changes.
    """
    telling, path = eye.telling, f"/v1/games/{eye.game}/talk"
    token = chance.choice((None, eye.token, eye.token, eye.expired))
    if chance.random() < 0.3:
        others = [message.number for message in telling.said if message.seat != eye.seat]
        number = chance.choice(others) if others and chance.random() < 0.8 else 999
        return Request("message deleted", "DELETE", f"{path}/{number}", token)
    mine = [message for message in telling.said if message.seat == eye.seat and not message.deleted]
    if mine and chance.random() < 0.3:
        message = chance.choice(mine)
        return Request("message", "POST", path, token, json.dumps({"text": message.text, "sig": message.sig}).encode())
    name = chance.choice((telling.host.name, telling.guest.name, telling.stranger.name))
    game = eye.game if chance.random() < 0.7 else "0" * 32
    text = make_talk(after="0" * 64, at="2026-11-20T12:00:00Z", game=game, name=name, words="hello").text
    sig = Person(name, FOREIGN).sign(text, sshsig.TALK)
    return Request("message", "POST", path, token, json.dumps({"text": text, "sig": sig}).encode())


def declined(eye: Eye, chance: random.Random) -> Request:
    """Tries to decline a game, with and without a reason, unless the viewer could."""
    invited = (
        eye.viewer == "guest"
        and eye.telling.story.invited in ("name", "key")
        and eye.telling.entries[-1].kind == "open"
    )
    token = None if invited else chance.choice((eye.token, eye.token, eye.token, eye.expired, None))
    body = chance.choice((b"{}", b'{"why":"later"}', b'{"why":"the cards"}'))
    return Request("decline", "POST", f"/v1/games/{eye.game}/decline", token, body)


def account(eye: Eye, chance: random.Random) -> Request:
    token = chance.choice((None, eye.token, eye.expired))
    match chance.randrange(6):
        case 0:
            return Request("challenge", "POST", "/v1/login/challenge")
        case 1:
            text = json.dumps({"name": eye.me.name, "text": "{}", "sig": "AAAA"}).encode()
            return Request("login", "POST", "/v1/login", None, text)
        case 2:
            return Request("logout", "POST", "/v1/logout", chance.choice((None, eye.expired)))
        case 3:
            story = eye.telling.story
            agreement = chance.choice((story.agreement, Agreement(TimeControl(60, 0, 0, 0))))
            value = {"agreement": agreement.to_json(), "ruleset": story.ruleset.to_json()}
            offer = json.dumps(value).encode()
            return Request("offer", "POST", "/v1/offers", token, offer)
        case 4:
            return Request("offer", "POST", "/v1/offers", token, b'{"ruleset":{"name":"whist","version":1}}')
    who = chance.choice((eye.me, Person(eye.telling.host.name, FOREIGN)))
    body = json.dumps(registration(who, "2026-11-20T12:00:00Z")).encode()
    return Request("register", "POST", "/v1/players", None, body)


def keys(eye: Eye, chance: random.Random) -> Request:
    """Tries another player's key, the viewer's own with a wrong signature or code, or a seat without the right to a new
    key."""
    at, game = "2026-11-20T12:00:00Z", f"/v1/games/{eye.game}"
    name = chance.choice((eye.telling.host.name, eye.telling.guest.name))
    key, old = FOREIGN.public, eye.me.key.public
    match chance.choice(("key", "revocation", "recovery", "game")):
        case "key":
            text = make_new_key(at=at, key=key, name=name, old=old, origin=ADDRESS).text
            value = {"text": text, "sig": eye.me.sign(text, sshsig.NEW_KEY), "old_sig": eye.me.sign(text, sshsig.LOGIN)}
        case "revocation":
            text = make_revocation(at=at, key=old, name=name, origin=ADDRESS).text
            value = {"text": text, "sig": Person(name, FOREIGN).sign(text, sshsig.REVOKE)}
        case "recovery":
            text = make_recovery(at=at, key=key, name=name, origin=ADDRESS).text
            value = {"text": text, "sig": Person(name, FOREIGN).sign(text, sshsig.RECOVER), "code": "0" * 40}
        case _:
            proof = encode_base64(FOREIGN.sign(sshsig.REKEY, b"no proof of anything"))
            token = chance.choice((None, eye.token, eye.expired))
            return Request(
                "recovery in a game", "POST", f"{game}/recovery", token, json.dumps({"proof": proof}).encode()
            )
    kind = "key" if "old_sig" in value else "recovery" if "code" in value else "revocation"
    return Request(f"another {kind}", "POST", f"/v1/players/{name}/{kind}", None, json.dumps(value).encode())
