"""A player of a story gets another key in the middle of the game, by the old key's signature or after its loss.

Keys and statements are public and the same in every world. The logins that follow are secrets, of the viewer or of
others; so is the code with which a host lets a player back in.
"""

from __future__ import annotations

import json

from hkoji_server.service.players.players import PlayerKeys
from hkoji_server.service.time.service_time import ClockAndEntropy

from hkoji.game.entry_kinds.key_changes import Rekey, Revoke
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_new_key, make_recovery, make_revocation, proof_message
from hkoji.rules.events import Seat
from tests.lab.leaks.telling import Person, Telling, chosen, log_in
from tests.lab.leaks.worlds import ADDRESS, TRUTH, Answer, Request


async def change_key(telling: Telling, kind: str, number: int) -> tuple[Seat, Answer]:
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
    keys = PlayerKeys(world.store, ClockAndEntropy(world.clock, world.draws), origin=ADDRESS, code_lifetime=3600)
    code = await keys.revoke_keys(person.name)
    world.keep_secret(code)
    text = make_recovery(at=telling.now(), key=new.public, name=person.name, origin=ADDRESS).text
    sig = Person(person.name, new).sign(text, sshsig.RECOVER)
    await _post(telling, person, "recovery", {"text": text, "sig": sig, "code": code})
