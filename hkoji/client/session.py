"""What a player can do, as a library: the commands are thin over `Client`.

docs/spec/log.md, "Client rules". Everything that is signed is on disk before it is sent; everything that is received
is verified before it is kept. Not for use by several threads at once; several processes may use one home.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from hkoji.client import verify
from hkoji.client.api import Api
from hkoji.client.home import Home
from hkoji.client.identity import Identity, load
from hkoji.client.transport import Transport
from hkoji.client.vault import Vault
from hkoji.errors import (
    CancelledError,
    ConflictError,
    HkojiError,
    IllegalActionError,
    LoginError,
    NetworkError,
    NotFoundError,
    NotYourTurnError,
    TrustError,
    UsageError,
)
from hkoji.game import bodies
from hkoji.game.course import Course, Stage
from hkoji.game.hidden import Opening, entropy_commit, parse_opening
from hkoji.game.replay import Replay, replay
from hkoji.game.submission import Submission
from hkoji.game.view import replay_own, verify_view
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, encode_base64
from hkoji.log.entry import make_entry
from hkoji.log.keys import PublicKey, parse_public_key
from hkoji.log.line import Line, read_signed, sign_entry
from hkoji.log.statement import View, make_registration, parse_login, parse_view
from hkoji.rules.events import Event, Seat
from hkoji.rules.protocol import Due, Ruleset

_FASTEST_POLL: Final = 0.2
_SLOWEST_POLL: Final = 2.0


class Position(NamedTuple):
    """A game as this player knows it: `seat` is None for a spectator; `legal` is empty when no move is due here."""

    course: Course
    seat: Seat | None
    events: tuple[Event, ...]
    legal: tuple[str, ...]
    replay: Replay


def _silent(_: str) -> None:
    return


class Client:
    """One player's client over the files of `home`. `say` gets short remarks for people."""

    def __init__(
        self,
        home: Home | None = None,
        *,
        entropy: Callable[[int], bytes] = os.urandom,
        say: Callable[[str], None] = _silent,
    ) -> None:
        self.home: Final = home or Home()
        self._entropy = entropy
        self._say = say
        self._identity: Identity | None = None
        self._apis: dict[str, Api] = {}
        self._vaults: dict[str, Vault] = {}
        # Derived from kept files and asked for again and again by long-lived programs; checked by head at each use.
        self._courses: dict[str, Course] = {}
        self._positions: dict[str, tuple[str, View | None, Position]] = {}

    def close(self) -> None:
        """Closes connections."""
        for api in self._apis.values():
            api.transport.close()

    @property
    def identity(self) -> Identity:
        """The player. Raises `LoginError` before `hkoji init`."""
        if self._identity is None:
            self._identity = load(self.home)
        return self._identity

    # --- services -------------------------------------------------------------------------------------------------

    def api(self, server: str) -> Api:
        """The endpoints of a server, by its URL."""
        if server not in self._apis:
            transport = Transport(server)
            if transport.exposed:
                self._say(f"warning: {server} is reached without TLS; others can read your cards on the way")
            self._apis[server] = Api(transport)
        return self._apis[server]

    @property
    def server(self) -> str:
        """The URL of the player's service. Raises `UsageError` before `hkoji register`."""
        server = self.home.config().get("server")
        if not isinstance(server, str):
            raise UsageError("you are not registered at a service", hint="do so with `hkoji register --server URL`")
        return server

    def register(self, server: str) -> dict[str, JsonValue]:
        """Registers at a service, pins its key, and makes it the player's service."""
        identity = self.identity
        url = Transport(server).url
        with self.home.lock():
            service = self.api(url).service()
            key = self._pin_server(url, parse_public_key(str(service["key"])))
            statement = make_registration(
                at=_now(), key=identity.key, name=identity.name, origin=str(service["origin"])
            )
            sig = identity.signer.sign(sshsig.REGISTER, statement.message)
            self.api(url).register(statement.text, encode_base64(sig))
            self.home.update_config(server=url, origin=str(service["origin"]))
        return {"name": identity.name, "server": url, "key": identity.key.text, "server_key": key.text}

    def _pin_server(self, url: str, key: PublicKey) -> PublicKey:
        pins = self.home.pins()
        known = pins.get(url, {}).get("key")
        if known is None:
            pins[url] = {"key": key.text, "players": {}}
            self.home.set_pins(pins)
            self._say(f"the key of {url} is {key.fingerprint}: compare it with what its host tells you")
        elif known != key.text:
            raise TrustError(
                f"{url} shows another key than before: {key.fingerprint}, not {parse_public_key(known).fingerprint}",
                hint="ask its host, by another way, whether the key was changed",
            )
        return key

    def server_key(self, server: str) -> PublicKey:
        """The pinned key of a service; pinned now if it is a new one."""
        known = self.home.pins().get(server, {}).get("key")
        if isinstance(known, str):
            return parse_public_key(known)
        return self._pin_server(server, parse_public_key(str(self.api(server).service()["key"])))

    def pins(self, server: str) -> dict[str, PublicKey]:
        """All pinned keys of a service's world, by name; `server` is its own."""
        pins = self.home.pins().get(server, {})
        found = {name: parse_public_key(key) for name, key in pins.get("players", {}).items()}
        if "key" in pins:
            found["server"] = parse_public_key(pins["key"])
        return found

    def _pin_players(self, server: str, course: Course) -> None:
        pins = self.home.pins()
        players = pins.get(server, {}).get("players", {})
        changed = False
        for name, key in zip(course.setup.names, course.setup.keys, strict=True):
            if name is None or key is None:
                continue
            known = players.get(name)
            if known is None:
                players[name] = key.text
                changed = True
            elif known != key.text:
                raise TrustError(
                    f"{name} plays with another key than before: {key.fingerprint}, "
                    f"not {parse_public_key(known).fingerprint}",
                    hint=f"ask {name}, by another way, whether the key is theirs",
                )
        if changed:
            pins.setdefault(server, {})["players"] = players
            self.home.set_pins(pins)

    def _with_login(self, server: str, call: Callable[[str | None], Any]) -> Any:  # Any: what `call` returns
        """Calls with the kept token; logs in by signature when there is none or it has expired."""
        token = self.home.token(server)
        if token is not None:
            try:
                return call(token)
            except LoginError:
                pass
        return call(self._login(server))

    def _login(self, server: str) -> str:
        api, identity = self.api(server), self.identity
        statement = parse_login(api.challenge())
        origin = self.home.config().get("origin")
        if statement.origin != origin:
            raise TrustError(
                f"the service asks to sign a login for {statement.origin}, and you registered at {origin}",
                hint="register anew if its address has changed: `hkoji register --server URL`",
            )
        sig = identity.signer.sign(sshsig.LOGIN, statement.message)
        token = api.login(identity.name, statement.text, encode_base64(sig))
        self.home.set_token(server, token)
        return token

    # --- lists ----------------------------------------------------------------------------------------------------

    def games(self, *, everybody: bool = False, status: str | None = None) -> list[dict[str, Any]]:  # Any: JSON
        """The own games, or everybody's that are open to join."""
        if everybody:
            return self.api(self.server).games({"status": status})
        self.answer_seeds()
        found = self._with_login(
            self.server, lambda token: self.api(self.server).games({"status": status}, token, mine=True)
        )
        return list(found)

    def waiting(self) -> list[dict[str, Any]]:  # Any: JSON
        """The games whose next entry this player owes, invitations included."""
        self.answer_seeds()
        return list(
            self._with_login(
                self.server, lambda token: self.api(self.server).games({"waiting": "true"}, token, mine=True)
            )
        )

    def answer_seeds(self) -> None:
        """Reveals the own entropy in every game that waits for it."""
        waiting = self._with_login(
            self.server,
            lambda token: self.api(self.server).games({"waiting": "true", "status": "playing"}, token, mine=True),
        )
        for summary in waiting:
            if summary["round"] == 0 and self._vault(summary["game"]).entropy() is not None:
                self.position(summary["game"])

    def find(self, prefix: str) -> str:
        """The full id of a game from a unique prefix. Raises `NotFoundError` or `UsageError`."""
        wanted = prefix.lower()
        if not wanted or wanted.strip("0123456789abcdef") or len(wanted) > 32:
            raise NotFoundError("game", prefix, hint="a game is named by the first digits of its id; see `hkoji games`")
        if len(wanted) == 32:
            return wanted
        found = {game for game in self.home.games() if game.startswith(wanted)}
        if not found and len(wanted) >= 4:
            found = {each["game"] for each in self.api(self.server).games({"prefix": wanted})}
        if not found:
            raise NotFoundError("game", prefix, hint="list games with `hkoji games` or `hkoji games --open`")
        if len(found) > 1:
            names = ", ".join(sorted(game[: len(wanted) + 4] for game in found)[:8])
            raise UsageError(f"{prefix} begins more than one game: {names}", hint="give more digits")
        return found.pop()

    # --- playing --------------------------------------------------------------------------------------------------

    def new(self, ruleset: Ruleset, invite: bodies.Invite | None = None) -> Course:
        """Offers a game and opens it."""
        server, identity = self.server, self.identity
        key = self.server_key(server)
        line = self._with_login(server, lambda token: self.api(server).offer(dict(ruleset.to_json()), token))
        course = verify.follow(None, (line,), key)
        assert course is not None
        if course.setup.ruleset != ruleset:
            raise TrustError("the service offered another game than was asked for")
        vault = self._vault(course.setup.game)
        with self.home.lock():
            vault.begin(server)
            vault.keep_lines((line,))
            commit = self._commit_entropy(vault, course.setup.game, 0)
            self._post(vault, course, bodies.Open(commit, identity.key, invite))
        return self._public(vault)

    def join(self, game: str) -> Course:
        """Joins a game, and reveals the own entropy on the join's receipt."""
        server, identity = self.server_of(game), self.identity
        vault = self._vault(game)
        with self.home.lock():
            vault.begin(server)
            if vault.outbox() is None:
                course = self._fetch(vault, server)
                if course.setup.seat_of(identity.name) is None:
                    commit = self._commit_entropy(vault, game, 1)
                    self._post(vault, course, bodies.Join(commit, identity.key))
            return self._settle(vault, server)

    def _commit_entropy(self, vault: Vault, game: str, seat: Seat) -> str:
        entropy = self._entropy(32).hex()
        vault.keep_entropy(entropy)
        return entropy_commit(game, seat, entropy)

    def position(self, game: str) -> Position:
        """A game as it stands now: fetched, verified, and the own entropy revealed if that is due."""
        server = self.server_of(game)
        vault = self._vault(game)
        with self.home.lock():
            vault.begin(server)
            return self._current(vault, server)

    def stored(self, game: str) -> Position:
        """A game as it was seen last, without asking the service. Raises `NotFoundError` if it never was."""
        vault = self._vault(game)
        if not vault.lines():
            raise NotFoundError("game", game, hint=f"fetch it first with `hkoji show {game[:8]}`")
        return self._position(vault)

    def move(self, game: str, notation: str) -> Position:
        """Makes a move. Everything is checked here first; the service checks it again."""
        server = self.server_of(game)
        vault = self._vault(game)
        with self.home.lock():
            vault.begin(server)
            position = self._current(vault, server)
            submission = self._prepare_move(position, notation)
            self._warn_signed(vault, submission)
            self._send(vault, submission)
            course = self._public(vault)
            if course.actor == position.seat or course.state.round != position.course.state.round:
                self._fetch(vault, server, private=True)  # the move has brought this player new cards
            return self._position(vault)

    def sign(self, game: str, notation: str) -> Submission:
        """Signs a move without sending it, from what was seen last. The openings are kept here."""
        vault = self._vault(game)
        with self.home.lock():
            position = self.stored(game)
            submission = self._prepare_move(position, notation)
            self._warn_signed(vault, submission)
            vault.keep_openings(submission.opening)
            vault.keep_signed(submission)
        return submission

    def submit(self, submission: Submission, server: str | None = None) -> tuple[Line, ...]:
        """Sends a signed move, of whomever it is, and checks its receipt. Works without an identity."""
        game = submission.entry.game
        vault = self._vault(game)
        target = server or vault.server or self.server
        key = self.server_key(target)
        lines = self.api(target).submit(submission)
        verify_receipts(submission, lines, key)
        return lines

    def resign(self, game: str) -> Position:
        """Gives a game up."""
        return self._leave(game, bodies.Resign())

    def cancel(self, game: str) -> Position:
        """Takes back a game that nobody has joined."""
        return self._leave(game, bodies.Cancel())

    def _leave(self, game: str, body: bodies.Body) -> Position:
        server = self.server_of(game)
        vault = self._vault(game)
        with self.home.lock():
            vault.begin(server)
            position = self._current(vault, server)
            if position.course.stage is Stage.OVER:
                raise _over(position.course)
            self._post(vault, position.course, body)
            return self._position(vault)

    def wait(self, game: str, timeout: float | None = None) -> Position:
        """Returns when it is this player's turn or the game is over; raises `CancelledError` after `timeout` s."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FASTEST_POLL
        seen = -2
        while True:
            server = self.server_of(game)
            vault = self._vault(game)
            lines = vault.lines()
            if seen != (lines[-1].entry.seq if lines else -1) or self.api(server).log(game, seen):
                position = self.position(game)
                seen = position.course.seq
                if position.course.stage is Stage.OVER or (
                    position.seat is not None and position.course.actor == position.seat
                ):
                    return position
                pause = _FASTEST_POLL
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise CancelledError(f"still waiting in game {game[:8]}", hint="give a longer --timeout, or none")
            time.sleep(pause if left is None else min(pause, left))
            pause = min(pause * 1.5, _SLOWEST_POLL)

    def log(self, game: str) -> tuple[Line, ...]:
        """The public log, verified."""
        server = self.server_of(game)
        vault = self._vault(game)
        with self.home.lock():
            vault.begin(server)
            self._settle(vault, server)
            return vault.lines()

    # --- the steps ------------------------------------------------------------------------------------------------

    def _vault(self, game: str) -> Vault:
        vault = self._vaults.get(game)
        if vault is None:
            vault = self._vaults[game] = Vault(self.home.game_folder(game))
        return vault

    def _course(self, lines: Sequence[Line]) -> Course | None:
        """The public course of kept lines; goes on from where it was asked for last."""
        if not lines:
            return None
        game = lines[0].entry.game
        known = self._courses.get(game)
        if known is None or known.seq >= len(lines) or lines[known.seq].entry.head != known.head:
            known = None
        course = verify.public_course(lines[known.seq + 1 :], known) if known else verify.public_course(lines)
        assert course is not None
        self._courses[game] = course
        return course

    def server_of(self, game: str) -> str:
        """The URL of the service that keeps a game."""
        return self._vault(game).server or self.server

    def _current(self, vault: Vault, server: str) -> Position:
        self._settle(vault, server)
        return self._position(vault)

    def _settle(self, vault: Vault, server: str) -> Course:
        """Sends what waits to be sent, fetches what is new, and reveals the own entropy if the game waits for it."""
        pending = vault.outbox()
        if pending is not None:
            self._resend(vault, pending)
        course = self._fetch(vault, server, private=True)
        seat = self._seat(course)
        if seat is not None and _SEEDS.get(course.stage) == seat:
            entropy = vault.entropy()
            if (
                entropy is None
                or entropy_commit(course.setup.game, seat, entropy) != course.setup.entropy_commits[seat]
            ):
                raise TrustError(
                    "the entropy that you committed to is not in this home",
                    hint="use the HKOJI_HOME with which you opened or joined the game",
                )
            self._post(vault, course, bodies.Seed(entropy))
            course = self._fetch(vault, server, private=True)
        return course

    def _seat(self, course: Course) -> Seat | None:
        """The own seat: by name and by key. None for a spectator."""
        try:
            identity = self.identity
        except LoginError:
            return None
        seat = course.setup.seat_of(identity.name)
        return seat if seat is not None and course.setup.keys[seat] == identity.key else None

    def _public(self, vault: Vault) -> Course:
        course = self._course(vault.lines())
        assert course is not None
        return course

    def _fetch(self, vault: Vault, server: str, *, private: bool = False) -> Course:
        """Fetches new lines (and with `private` the own cards), verifies them and keeps them. The public course."""
        game = vault.folder.name
        key = self.server_key(server)
        kept = vault.lines()
        course = self._course(kept)
        after = kept[-1].entry.seq if kept else -1
        mine = private and course is not None and self._seat(course) is not None
        shown: dict[str, Any] | None = None  # Any: JSON
        if mine:
            shown = self._with_login(server, lambda token: self.api(server).view(game, after, token))
            verify.check_head(kept, int(shown["seq"]), str(shown["head"]))
            lines = tuple(_read_lines(shown["lines"]))
        else:
            lines = self._lines_after(server, game, kept, after)
        course = verify.follow(course, lines, key)
        if course is None:
            raise NotFoundError("game", game)
        if lines:
            self._pin_players(server, course)
            vault.keep_lines((*kept, *lines))
        if shown is not None:
            self._keep_view(vault, course, shown, key)
        elif private and self._seat(course) is not None:
            return self._fetch(vault, server, private=True)
        return course

    def _lines_after(self, server: str, game: str, kept: tuple[Line, ...], after: int) -> tuple[Line, ...]:
        """New lines of the public log; the last kept one is asked for again, to see that it still stands."""
        lines = self.api(server).log(game, max(after - 1, -1))
        if not kept:
            return lines
        if not lines:
            verify.check_head(kept, -1, "")
        verify.check_head(kept, lines[0].entry.seq if len(lines) == 1 else lines[-1].entry.seq, lines[-1].entry.head)
        if lines[0].entry.head != kept[-1].entry.head:
            verify.check_head(kept, kept[-1].entry.seq, lines[0].entry.head)
        return lines[1:] if after >= 0 else lines

    def _keep_view(self, vault: Vault, course: Course, shown: dict[str, Any], key: PublicKey) -> None:  # Any: JSON
        seat = self._seat(course)
        assert seat is not None
        text, sig = read_signed(shown["view"], "view")
        view = parse_view(text)
        sshsig.verify(sig, key, sshsig.VIEW, view.message, "server")
        verify_view(view, course, seat)
        before = vault.view()
        if before is not None:
            for old, new in zip(before.dealt, view.dealt, strict=False):
                if not new.cards.startswith(old.cards):
                    raise TrustError(f"the service has shown you other cards in round {old.round} before")
        vault.keep_openings(self._own_openings(course, shown.get("openings", [])))
        vault.keep_view(view, sig)

    def _own_openings(self, course: Course, values: list[JsonValue]) -> list[Opening]:
        """Openings that the service has kept for this player; each must open one of the log's own commitments."""
        commits = {(card.seq, card.part): card.commit for card in course.face_down}
        openings = [parse_opening(value) for value in values]
        return [each for each in openings if each.commitment(course.setup.game) == commits.get((each.seq, each.part))]

    def _position(self, vault: Vault) -> Position:
        lines = vault.lines()
        course = self._public(vault)
        seat = self._seat(course)
        view = vault.view() if seat is not None else None
        known = self._positions.get(course.setup.game)
        if known is not None and known[:2] == (course.head, view):
            return known[2]
        position = self._replayed(vault, lines, seat, view)
        self._positions[course.setup.game] = (course.head, view, position)
        return position

    def _replayed(self, vault: Vault, lines: tuple[Line, ...], seat: Seat | None, view: View | None) -> Position:
        if seat is None:
            result = replay(lines)
            if result.stop is not None:
                raise TrustError(f"the log does not hold: {result.stop}") from result.stop
        else:
            result = replay_own(lines, seat, view, vault.openings())
        after = result.course
        assert after is not None
        mine = seat is not None and after.stage is Stage.PLAY and after.actor == seat
        known = after.state.due is not Due.ACT or not _unknown(after, seat)
        return Position(after, seat, result.events, after.state.legal_actions() if mine and known else (), result)

    def _prepare_move(self, position: Position, notation: str) -> Submission:
        course, seat = position.course, position.seat
        if course.stage is Stage.OVER:
            raise _over(course)
        if seat is None:
            raise NotYourTurnError("you do not play in this game", actor=course.actor)
        if course.stage is not Stage.PLAY or course.actor != seat:
            waits = course.setup.names[course.actor] if course.actor is not None else "someone to join"
            raise NotYourTurnError(
                f"it is not your turn: the game waits for {waits}",
                actor=course.actor,
                hint=f"wait for it with `hkoji wait {course.setup.game[:8]}`",
            )
        action = course.state.parse_action(notation)
        if action not in position.legal:
            _refuse(course, action)
        return self._make_move(course, action)

    def _make_move(self, course: Course, action: str) -> Submission:
        ruleset, seq = course.setup.ruleset, course.seq + 1
        hidden = ruleset.hidden(action) if course.state.due is Due.ACT else ()
        openings = tuple(Opening(seq, part, group.cards, self._entropy(32).hex()) for part, group in enumerate(hidden))
        shown = ruleset.public(action) if hidden else action
        commits = tuple(opening.commitment(course.setup.game) for opening in openings)
        return self._sign(course, bodies.Move(shown, commits), openings)

    def _sign(self, course: Course, body: bodies.Body, openings: tuple[Opening, ...] = ()) -> Submission:
        entry = make_entry(
            at=_now(),
            body=body.to_json(),
            by=self.identity.name,
            game=course.setup.game,
            kind=bodies.KINDS[type(body)],
            prev=course.head,
            seq=course.seq + 1,
        )
        return Submission(entry, sign_entry(entry, self.identity.signer), openings)

    def _post(self, vault: Vault, course: Course, body: bodies.Body) -> None:
        self._send(vault, self._sign(course, body))

    def _send(self, vault: Vault, submission: Submission) -> None:
        """Keeps, then sends. Without an answer the submission stays in the outbox, for the next command to send."""
        vault.keep_outbox(submission)
        self._resend(vault, submission)

    def _resend(self, vault: Vault, submission: Submission) -> None:
        server = vault.server or self.server
        try:
            lines = self.api(server).submit(submission)
        except NetworkError:
            raise
        except ConflictError as error:
            verify.check_conflict(vault.lines(), error)
            vault.clear_outbox()
            raise
        except HkojiError:
            vault.clear_outbox()
            raise
        verify_receipts(submission, lines, self.server_key(server))
        kept = vault.lines()
        fresh = tuple(line for line in lines if line.entry.seq > (kept[-1].entry.seq if kept else -1))
        course = verify.follow(self._course(kept), fresh, self.server_key(server))
        if fresh and course is not None:
            self._pin_players(server, course)
            vault.keep_lines((*kept, *fresh))
        vault.clear_outbox()

    def _warn_signed(self, vault: Vault, submission: Submission) -> None:
        other = vault.signed().get(str(submission.entry.seq))
        if other is not None and other != submission.entry.text:
            self._say("warning: you have signed another move for this place before; either may become the move")


_SEEDS: Final = {Stage.GUEST_SEED: 1, Stage.HOST_SEED: 0}


def verify_receipts(submission: Submission, lines: tuple[Line, ...], key: PublicKey) -> None:
    """Checks that `lines` begin with the submission and that the service has signed for it. Raises `TrustError`."""
    if not lines or lines[0].entry.text != submission.entry.text or lines[0].receipt is None:
        raise TrustError("the service's receipt is not for what was sent", hint="send it again")
    receipt = lines[0].receipt
    try:
        sshsig.verify(receipt.sig, key, sshsig.RECEIPT, receipt.receipt.message, "server")
    except HkojiError as error:
        raise TrustError(f"the service's receipt does not hold: {error}") from error
    entry = submission.entry
    if (receipt.receipt.game, receipt.receipt.seq, receipt.receipt.head) != (entry.game, entry.seq, entry.head):
        raise TrustError("the service's receipt is for another entry")


def _read_lines(values: Any) -> Iterator[Line]:  # Any: JSON
    from hkoji.log.line import read_line

    for value in values:
        yield read_line(value)


def _unknown(course: Course, seat: Seat | None) -> bool:
    return seat is None or course.state.hands[seat] >= course.setup.ruleset.pack.unknown


def _refuse(course: Course, action: str) -> None:
    """Raises what is wrong with an action that is not legal."""
    from hkoji.rules.events import Act, Answer, Order, Pick

    kinds: dict[Due, type[Act | Answer | Order | Pick]] = {
        Due.ACT: Act,
        Due.ANSWER: Answer,
        Due.ORDER: Order,
        Due.PICK: Pick,
    }
    assert course.actor is not None
    hint = f"nothing was sent; see your hand and moves with `hkoji show {course.setup.game[:8]}`"
    try:
        course.state.apply(kinds[course.state.due](course.actor, action))
    except IllegalActionError as error:
        error.hint = hint
        raise
    raise IllegalActionError(action, "it is not among the legal moves", shape=course.state.shape(), hint=hint)


def _over(course: Course) -> HkojiError:
    from hkoji.errors import GameOverError

    return GameOverError(course.setup.game)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
