"""Events of a story beside its moves: new keys, gifts and outages, channels, choices and messages.

Keys and statements are public and the same in every world. The logins that follow a new key are secrets, of the viewer
or of others; so is the code with which a host lets a player back in. The signatures of gifts and wishes are over heads,
so they may differ where heads do. Channels, choices and messages may not depend on cards: messages have the same bytes
in every world, with their signatures.
"""

from __future__ import annotations

import json
import re
from hashlib import sha512
from typing import Any, Final

from hkoji_server.service.notices.web_push import private_key_of
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.players.players import Players
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings

from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED
from hkoji.game.clock import parse_time
from hkoji.game.commitments import entropy_commit
from hkoji.game.entry_kinds.key_changes import Rekey, Revoke
from hkoji.game.submission import Submission, format_submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import make_entry, parse_entry, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_new_key, make_recovery, make_revocation, proof_message
from hkoji.log.talk import NOTHING_SEEN, hash_of, make_talk
from hkoji.rules.events import Seat
from tests.lab.leaks.stories import STEPS_OF_TIME, STEPS_OF_WORDS, VIEWERS
from tests.lab.leaks.telling import Message, Person, Telling, chosen, log_in
from tests.lab.leaks.worlds import ADDRESS, TRUTH, Answer, Request
from tests.support.push_service import Browser


async def begin(telling: Telling) -> Telling:
    """Begins a telling; host, guest and stranger settle how they want to be told."""
    await telling.begin()
    await _settle(telling)
    return telling


async def take_step(telling: Telling, step: str) -> tuple[Seat, Answer | None]:
    """Does one step of the story. Returns the seat that did it and the answer. The game must accept the step."""
    kind, _, detail = step.partition(" ")
    if kind in ("rekey", "lost"):
        return await _change_key(telling, kind, int(detail))
    if kind in STEPS_OF_TIME:
        return await _pass_through(telling, kind, int(detail or 0))
    if kind in STEPS_OF_WORDS:
        return await _speak(telling, kind, int(detail or 0))
    return await telling.step(step)


async def _change_key(telling: Telling, kind: str, number: int) -> tuple[Seat, Answer]:
    """Changes the key of the seat of decision `number` before it: `rekey` or `lost`.

    Returns the seat and the game's answer.
    """
    seat = telling.story.decisions[number].seat
    person, known = telling.seats[seat], telling.viewer_is(seat)
    seed = chosen(telling.world.session, TRUTH, f"key of {person.name} from {number}")
    new, old = PrivateKey.from_seed(bytes.fromhex(seed)), person.key
    label = f"{kind} {number} of {person.name}"
    await (_replace(telling, person, new) if kind == "rekey" else _recover(telling, person, new, label, known=known))
    message = proof_message(
        game=telling.game,
        key=new.public,
        name=person.name,
        old=old.public,
        prev=telling.head,
        seq=telling.seq + 1,
    )
    proof = new.sign(sshsig.REKEY, message)
    telling.world.allow(encode_base64(proof), f"proof at {telling.seq + 1} of {telling.game[:8]}")
    if kind == "rekey":
        # Here the old key signs the entry with the new one before the new key logs in. The service allows either order.
        answer = await telling.send(seat, telling.entry(seat, Rekey(new.public, old.public, proof)))
        person.key = new
        await log_in(telling.world, person, label, known=known)
        return seat, answer
    person.key = new
    await log_in(telling.world, person, label, known=known)
    body = json.dumps({"proof": encode_base64(proof)}).encode()
    path = f"/v1/games/{telling.game}/recovery"
    answer = await telling.world.ask(Request("recovery", "POST", path, person.token, body))
    assert answer.status == 201, (telling.story, answer)
    telling.take(telling.world.learn(person.key, answer))
    assert telling.entries[-1].kind == Revoke.KIND
    return seat, answer


async def _post(telling: Telling, person: Person, path: str, value: dict[str, str]) -> None:
    body = json.dumps(value).encode()
    answer = await telling.world.ask(Request("key", "POST", f"/v1/players/{person.name}/{path}", None, body))
    assert answer.status == 200, (path, answer)


async def _replace(telling: Telling, person: Person, new: PrivateKey) -> None:
    text = make_new_key(at=telling.now(), key=new.public, name=person.name, old=person.key.public, origin=ADDRESS).text
    signed = {"sig": Person(person.name, new).sign(text, sshsig.NEW_KEY), "old_sig": person.sign(text, sshsig.NEW_KEY)}
    await _post(telling, person, "key", {"text": text, **signed})


async def _recover(telling: Telling, person: Person, new: PrivateKey, label: str, *, known: bool) -> None:
    """Revokes the lost key, by its own revocation and by the host, who gives the player a code for another key."""
    world = telling.world
    text = make_revocation(at=telling.now(), key=person.key.public, name=person.name, origin=ADDRESS).text
    await _post(telling, person, "revocation", {"text": text, "sig": person.sign(text, sshsig.REVOKE)})
    world.draws.use(f"code, {label}", secret=not known)
    sources, settings = ClockAndEntropy(world.clock, world.draws), Settings(code_lifetime=3600)
    keys = Players(world.store, sources, settings, RateLimits(), origin=ADDRESS)
    code = await keys.revoke_keys(person.name)
    world.keep_secret(code)
    text = make_recovery(at=telling.now(), key=new.public, name=person.name, origin=ADDRESS).text
    sig = Person(person.name, new).sign(text, sshsig.RECOVER)
    await _post(telling, person, "recovery", {"text": text, "sig": sig, "code": code})


_LATE: Final = 60
_SLACK: Final = 120


async def _pass_through(telling: Telling, kind: str, number: int) -> tuple[Seat, Answer | None]:
    """Does one step. `number` is that of the decision before which it comes. Returns who acts, and the answer."""
    match kind:
        case "gift":
            giver: Seat = 1 - telling.story.decisions[number].seat
            return giver, await _state(telling, giver, "give", 100 + 100 * number)
        case "wish":
            return number % 2, await _state(telling, number % 2, "annul")
        case "withdraw":
            return number % 2, await _withdraw(telling, number % 2)
        case "annul":
            await _state(telling, 0, "annul")
            return 1, await _state(telling, 1, "annul")
        case "outage":
            await telling.world.pass_time(400 + number, absent=True)
            return 0, None
        case "late":
            await telling.world.pass_time(await _left(telling) + _LATE)
            telling.overdue = True
            return 0, None
    await telling.world.pass_time(_SLACK)
    telling.overdue = False
    assert await telling.world.by_hand.keeper.look() == 1, telling.story
    return 0, await _read_on(telling)


async def _left(telling: Telling) -> int:
    """The seconds until the time of the game is over."""
    clock = await telling.world.ask(Request("clock", "GET", f"/v1/games/{telling.game}/clock"))
    return parse_time(clock.json["deadline"]) - parse_time(telling.now())


async def _state(telling: Telling, seat: Seat, kind: str, seconds: int | None = None) -> Answer:
    """Sends a statement about the last entry, which must be accepted, and learns what it adds to the log."""
    game, head, person = telling.game, telling.head, telling.seats[seat]
    if seconds is None:
        sig = person.sign(make_annul(game=game, head=head, name=person.name).text, sshsig.ANNUL)
    else:
        sig = person.sign(make_gift(game=game, head=head, name=person.name, seconds=seconds).text, sshsig.GIVE)
    telling.world.allow(sig, f"{kind} of {seat} at {telling.seq} of {game[:8]}")
    value = {"head": head, "kind": kind, "name": person.name, "sig": sig}
    body = json.dumps(value if seconds is None else {**value, "seconds": seconds}).encode()
    answer = await telling.world.ask(Request("statement", "POST", f"/v1/games/{game}/statements", body=body))
    assert answer.status == 201, (telling.story, answer)
    if answer.json["lines"]:
        telling.take(telling.world.learn(telling.world.key, answer))
    return answer


async def _withdraw(telling: Telling, seat: Seat) -> Answer:
    path = f"/v1/games/{telling.game}/statements/annul"
    answer = await telling.world.ask(Request("withdrawal", "DELETE", path, telling.seats[seat].token))
    assert answer.status == 204, (telling.story, answer)
    return answer


async def _read_on(telling: Telling) -> Answer:
    """Reads what the service has written by itself."""
    path = f"/v1/games/{telling.game}/log?after={telling.seq}"
    answer = await telling.world.ask(Request("log", "GET", path))
    lines = b",".join(answer.body.splitlines())
    told = answer._replace(body=b'{"lines":[' + lines + b"]}")
    telling.take(telling.world.learn(telling.world.key, told))  # all of these lines are the service's
    return answer


_CODE: Final = re.compile(rb"hkoji notify confirm [0-9a-f]{16} ([0-9a-z]+)")
_PUSHED_CODE: Final = re.compile(rb'"code":"([0-9a-z]+)"')


async def _settle(telling: Telling) -> None:
    """Host, guest and stranger make their channels, and choose with whom they play."""
    people = dict(zip(VIEWERS, telling.people, strict=True))
    for viewer, settings in telling.story.channels:
        await _add_channels(telling, viewer, people[viewer], json.loads(settings))
    for person in telling.people:
        body = choice_of(telling, person)
        await _ask(telling, Request("settings", "PUT", "/v1/me/settings", person.token, body), 200)
    if telling.story.wary:
        path = f"/v1/me/blocks/{telling.stranger.name}"
        await _ask(telling, Request("block", "PUT", path, telling.host.token), 204)


def choice_of(telling: Telling, person: Person) -> bytes:
    """The body that sets whose invitations a player of the story accepts."""
    others = [each.name for each in telling.seats if each is not person] if telling.story.wary else []
    return json.dumps({"invites": "known" if others else "everyone", "known": others}).encode()


async def _speak(telling: Telling, kind: str, number: int) -> tuple[Seat, Answer]:
    """Does one step: `say`, `answer` or `unsay` before a decision, or `rematch` at the end.

    Returns who acts, and the answer.
    """
    if kind == "rematch":
        return 1, await _decline_rematch(telling)
    seat: Seat = number % 2 if kind != "answer" else 1 - number % 2
    return seat, await (_unsay(telling, seat) if kind == "unsay" else _say(telling, seat, f"{kind} {number}: è\nok"))


async def _ask(telling: Telling, request: Request, status: int) -> Answer:
    answer = await telling.world.ask(request)
    assert answer.status == status, (telling.story, request, answer)
    return answer


async def _add_channels(telling: Telling, viewer: str, person: Person, settings: dict[str, Any]) -> None:
    """A webhook and a browser, which is the same in each world."""
    target = f"https://{viewer}.example/{telling.story.name}"
    await _add_channel(telling, person, {"kind": "webhook", "settings": settings, "target": target}, _CODE)
    path = f"/push/{viewer}/{telling.story.name}"
    browser = Browser(path=path, key=private_key_of(sha512(path.encode()).digest()))
    telling.world.receiver.browsers[path] = browser
    wished = {"kind": "push", "settings": settings, "target": f"https://push.example{path}", "keys": browser.keys}
    await _add_channel(telling, person, wished, _PUSHED_CODE)


async def _add_channel(telling: Telling, person: Person, wished: dict[str, Any], pattern: re.Pattern[bytes]) -> None:
    world = telling.world
    world.draws.use(f"{wished['kind']} of {person.name}")
    body = json.dumps(wished).encode()
    made = await _ask(telling, Request("channel", "POST", "/v1/me/channels", person.token, body), 201)
    (post,) = world.receiver.take()
    code = pattern.search(post.wire)
    assert code
    path = f"/v1/me/channels/{made.json['id']}/confirm"
    body = json.dumps({"code": code[1].decode()}).encode()
    await _ask(telling, Request("channel", "POST", path, person.token, body), 200)


async def _say(telling: Telling, seat: Seat, words: str) -> Answer:
    person, game = telling.seats[seat], telling.game
    after = hash_of(telling.said[-1].text) if telling.said else NOTHING_SEEN
    text = make_talk(after=after, at=telling.now(), game=game, name=person.name, words=words).text
    message = Message(seat, len(telling.said) + 1, text, person.sign(text, sshsig.TALK))
    body = json.dumps({"text": text, "sig": message.sig}).encode()
    answer = await _ask(telling, Request("talk", "POST", f"/v1/games/{game}/talk", person.token, body), 201)
    telling.said.append(message)
    return answer


async def _unsay(telling: Telling, seat: Seat) -> Answer:
    at, message = next((at, each) for at, each in reversed([*enumerate(telling.said)]) if each.seat == seat)
    path = f"/v1/games/{telling.game}/talk/{message.number}"
    answer = await _ask(telling, Request("talk", "DELETE", path, telling.seats[seat].token), 204)
    telling.said[at] = message._replace(deleted=True)
    return answer


async def _decline_rematch(telling: Telling) -> Answer:
    """The host asks for another game, whose secrets are the same in every world, and the guest declines it."""
    world, host = telling.world, telling.host
    world.draws.use(f"rematch of {telling.story.name}")
    agreement = UNTIMED._replace(rematch=telling.game)
    value = {"agreement": agreement.to_json(), "ruleset": telling.story.ruleset.to_json()}
    answer = await _ask(telling, Request("offer", "POST", "/v1/offers", host.token, json.dumps(value).encode()), 201)
    offer = parse_entry(answer.json["line"]["entry"])
    entropy = chosen(world.session, TRUTH, f"entropy of the rematch of {telling.story.name}")
    invite = entry_kinds.Invite(telling.guest.name, None)
    body = entry_kinds.Open(entropy_commit(offer.game, 0, entropy), host.key.public, invite)
    entry = make_entry(
        at=telling.now(),
        body=body.to_json(),
        by=host.name,
        game=offer.game,
        kind=body.KIND,
        prev=offer.head,
        seen=telling.now(),
        seq=1,
    )
    sent = format_submission(Submission(entry, sign_entry(entry, host.key))).encode()
    await _ask(telling, Request("entry", "POST", f"/v1/games/{offer.game}/entries", None, sent), 201)
    path = f"/v1/games/{offer.game}/decline"
    return await _ask(telling, Request("decline", "POST", path, telling.guest.token, b'{"why":"later"}'), 201)
