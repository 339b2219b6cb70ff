"""Requests of a story's players beside the log: their channels and choices, messages, and rematches.

All of it is the same in every world: none of it may depend on cards. Messages are over no heads, so they have the same
bytes, with their signatures.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED
from hkoji.game.commitments import entropy_commit
from hkoji.game.submission import Submission, format_submission
from hkoji.log import sshsig
from hkoji.log.entry import make_entry, parse_entry
from hkoji.log.line import sign_entry
from hkoji.log.talk import NOTHING_SEEN, hash_of, make_talk
from hkoji.rules.events import Seat
from tests.lab.leaks.stories import VIEWERS
from tests.lab.leaks.telling import Message, Person, Telling, chosen
from tests.lab.leaks.worlds import TRUTH, Answer, Request

_CODE: Final = re.compile(rb"hkoji notify confirm [0-9a-f]{16} ([0-9a-z]+)")


async def settle(telling: Telling) -> None:
    """Host, guest and stranger make their channels, and choose with whom they play."""
    people = dict(zip(VIEWERS, telling.people, strict=True))
    for viewer, settings in telling.story.channels:
        await _add_channel(telling, viewer, people[viewer], json.loads(settings))
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


async def speak(telling: Telling, kind: str, number: int) -> tuple[Seat, Answer]:
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


async def _add_channel(telling: Telling, viewer: str, person: Person, settings: dict[str, Any]) -> None:
    world = telling.world
    world.draws.use(f"channel of {person.name}")
    target = f"https://{viewer}.example/{telling.story.name}"
    body = json.dumps({"kind": "webhook", "settings": settings, "target": target}).encode()
    made = await _ask(telling, Request("channel", "POST", "/v1/me/channels", person.token, body), 201)
    (post,) = world.receiver.take()
    code = _CODE.search(post.wire)
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
