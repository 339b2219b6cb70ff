"""How a player takes a seat in a game: by opening the game that was asked for, or by joining one, also by a link.

docs/spec/log.md, "Client rules" and "Invitation by link". Before anything is signed, the game is verified to be the one
that the player means, and to be dealt with the players' part in the shuffle. Only the two clients know the code of a
link. It is in no request, and no error repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.client.held_keys import verify_host
from hkoji.client.kept.game import Vault
from hkoji.client.sending import EntrySender
from hkoji.errors import ConflictError, GameOverError, IllegalError, TrustError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.commitments import ENTROPY_BYTES, entropy_commit, entropy_of_key
from hkoji.game.course import Course, Stage
from hkoji.game.dealer import SEALED_V1, SERVER_V1
from hkoji.game.position import Position
from hkoji.log.canonical import is_hex
from hkoji.log.line import SERVER_NAME, Line
from hkoji.log.link_key import CODE_BYTES, CODE_DIGITS, link_key
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.messages.text import shorten, tell
from hkoji.rules.events import Seat
from hkoji.service_url import parse_url

if TYPE_CHECKING:
    from hkoji.client.sealed_play import SealedPlayer

LONGEST_LINK: Final = 2048
_COMMAND: Final = re.compile(r"hkoji\s+join\s+(.*?)(?:\s+--sealed)?", re.DOTALL)
_ESCAPED_MARK: Final = "%23"
"""A `#` as some mail programs write it. The rest may be the code, which no error repeats."""
_QUOTES: Final = "'\"<>‘’“”"
"""The quotes that may stand around a link, also those into which mail programs turn them."""
_AGAIN: Final = tell("nothing was sent; copy the whole link, as your friend has sent it")
_IN_QUOTES: Final = tell(
    "nothing was sent; give the whole link, in quotes: hkoji join 'https://…'. A shell may take # for the beginning of "
    "a comment"
)
_TAKEN: Final = tell("nothing was sent; find another with `hkoji games --open`")
_JOINED: Final = tell("somebody has already joined this game")
_USED: Final = tell("somebody has already used this link")
_ASK: Final = tell("nothing was sent; a link is good for one guest: ask your friend for a new one")


class InviteLink(NamedTuple):
    """A link: the address of the service, the game, and the code; `sealed` if it is known that the game is sealed."""

    server: str
    game: str
    code: str
    sealed: bool = False

    @property
    def text(self) -> str:
        """The link itself."""
        return f"{self.server}/i/{self.game}#{self.code}"

    @property
    def command(self) -> str:
        """The command that a friend types to join."""
        return f"hkoji join '{self.text}'{' --sealed' if self.sealed else ''}"


def is_link(text: str) -> bool:
    """Returns whether a text that names a game is meant as a link, or as a line with one: no id has these signs."""
    return any(sign in text for sign in ":/# \t\n'\"")


def read_invite_link(text: str) -> InviteLink:
    """Reads a link, or the whole command `hkoji join 'LINK'` that `hkoji new --link` has printed.

    A query before the code is ignored: some programs that pass links on add one. Raises `UsageError` for anything
    else. The error does not repeat the code.
    """
    line = text.strip()
    if (command := _COMMAND.fullmatch(line)) is not None:
        line = command[1]
    line = line.strip().strip(_QUOTES).strip()
    address, mark, code = line.partition("#")
    server, way, game = address.partition("?")[0].rpartition("/i/")
    if len(line) > LONGEST_LINK or not way:
        raise UsageError(
            tell("{text!r} is not the link of an invitation", text=shorten(address.partition(_ESCAPED_MARK)[0])),
            hint=tell("a link looks like https://hanamikoji.example/i/2714…#5b0e…; {hint}", hint=_AGAIN),
        )
    if not is_hex(game, 32):
        raise UsageError(tell("the link names no game: its id is 32 digits of 0-9 and a-f"), hint=_AGAIN)
    server = parse_url(server)
    if not mark or not code:
        raise UsageError(tell("the link has no code: the part after the # is missing"), hint=_IN_QUOTES)
    if not is_hex(code, CODE_DIGITS):
        raise UsageError(
            tell("the code of the link, after the #, is not {digits} digits of 0-9 and a-f", digits=CODE_DIGITS),
            hint=_AGAIN,
        )
    return InviteLink(server, game, code)


def own_code(vault: Vault, entropy: Callable[[int], bytes]) -> str:
    """Returns the code of an own game: the one that is kept, or a fresh one, which is kept from now on."""
    kept = vault.link_code
    if kept is None:
        kept = entropy(CODE_BYTES).hex()
        vault.keep_link_code(kept)
    return kept


def refuse_without_link(course: Course) -> None:
    """Raises `IllegalError` if the game was opened by link. The player has none."""
    if course.setup.link is not None:
        raise IllegalError(
            tell("the game is open only to whoever has its link"),
            hint=tell("nothing was sent; join with the link that the host has sent you"),
        )


def verify_link(course: Course, code: str) -> None:
    """Checks that somebody who knew the code opened the game. The signature of its key in the `open` has been verified.

    Raises `TrustError`.
    """
    link = course.setup.link
    if link is None:
        reason = tell("this link does not match the game, which was not opened by link; it may be mistyped")
    elif link != link_key(code).public:
        reason = tell("this link does not match the game; it may be mistyped")
    else:
        return
    raise TrustError(
        reason,
        hint=tell("nothing was signed; compare the link with your friend, over the channel by which it came"),
    )


class SealedWish(NamedTuple):
    """The wish of a player who opens or joins a sealed game.

    `deposits` says whether draws are deposited; None leaves it to `DepositChoice`. With `new_key` a new sealed key is
    made, although the player may have one on another machine.
    """

    deposits: bool | None = None
    new_key: bool = False


class SealedGameError(IllegalError):
    """A sealed game that a player wants to join who has not asked for one."""

    def __init__(self, course: Course) -> None:
        super().__init__(
            tell("{name} offers a sealed game (beta)", name=course.setup.names[0]),
            hint=tell(
                "nothing was signed; in a sealed game nobody but you sees your cards. Your program must run every day "
                "to release cards, and you must keep a copy of your sealed key. To join, give the same command with "
                "--sealed"
            ),
        )


class SeatTaker:
    """Takes a seat in the game of `sender` for its player. `entropy` returns random bytes.

    `sealed` returns the part that makes entries of a sealed game.
    """

    def __init__(
        self, sender: EntrySender, entropy: Callable[[int], bytes], sealed: Callable[[], SealedPlayer]
    ) -> None:
        self._sender: Final = sender
        self._sealed = sealed
        self._vault: Final = sender.vault
        self._service: Final = sender.service
        self._record: Final = sender.record
        self._entropy = entropy

    def take_offer(self, line: Line, *, sealed: bool = False) -> Position:
        """Keeps a new game's first line; with `sealed` that of a sealed game.

        Raises `TrustError` if the game exists here, or if it is dealt in another way than the player has asked for.
        """
        if self._record.known() is not None:
            raise TrustError(tell("the service offered a game that was there before"), hint=tell("nothing was signed"))
        with self._record.kept_if_refused((), (line,)):
            position = self._record.accept(None, (line,), None).position
        verify_dealer(position.course, sealed=sealed)
        return position

    def open(self, invite: entry_kinds.Invite | None, *, by_link: bool, sealed: SealedWish | None = None) -> None:
        """Sends the `open` of the offered game, unless the game is open already. Raises what `take_offer` raises."""
        self._sender.deliver_pending()
        course = self._record.require().position.course
        if course.stage is not Stage.OPEN:
            return
        verify_dealer(course, sealed=sealed is not None)
        name, key = self._sender.player().name, self._sender.my_key()
        commit = self._commit_entropy(0, course)
        body = entry_kinds.Open(commit, key, invite)
        if by_link:
            link = link_key(own_code(self._vault, self._entropy))
            body = entry_kinds.open_by_link(link, course, entropy_commit=commit, key=key, name=name)
        if sealed is None:
            self._sender.post(course, body)
            return
        entropy = self._vault.entropy(0, commit)
        assert entropy is not None  # it has just been kept
        self._sealed().prepare(sealed.deposits, new_key=sealed.new_key)
        self._sealed().open(course, body, entropy)

    def join(self, agree: Callable[[Course], None], code: str | None, sealed: SealedWish | None = None) -> None:
        """Sends the `join`, unless the player has joined already. Raises what `ClientGame.join` raises."""
        self._sender.player()
        self._sender.deliver_pending()
        known = self._record.refresh()
        course = known.position.course
        if code is not None:
            verify_link(course, code)
        if course.finished:
            raise GameOverError(course.setup.game)
        if known.seat == 0:
            if course.stage is not Stage.JOIN:
                raise IllegalError(
                    tell("you host this game, and {name} has joined it", name=course.setup.names[1]),
                    hint=tell("see it with `hkoji show {game}`", game=course.setup.game[:8]),
                )
            raise IllegalError(tell("you host this game; somebody else has to join it"), hint=tell("nothing was sent"))
        if code is not None:  # the game may have been known here before the link was
            self._service.pins.introduce(SERVER_NAME, course.setup.server_key)
        if known.seat is not None:
            return
        if course.stage is not Stage.JOIN:
            used, hint = (_JOINED, _TAKEN) if code is None else (_USED, _ASK)
            raise ConflictError(course.setup.game, seq=course.seq, head=course.head, hint=hint, reason=used)
        if course.sealed is not None and sealed is None:
            raise SealedGameError(course)
        verify_dealer(course, sealed=sealed is not None)
        invite, me, key = course.setup.invite, self._sender.player(), self._sender.my_key()
        if code is None:
            refuse_without_link(course)
        if isinstance(invite, entry_kinds.Invite) and (reason := invite.refusal(me.name, key)):
            raise IllegalError(reason, hint=_TAKEN)
        verify_host(self._service, course)
        if sealed is not None:
            from hkoji.sealed import sodium

            sodium.require()
        agree(course)
        if sealed is not None:
            self._sealed().prepare(sealed.deposits, new_key=sealed.new_key)
        commit = self._commit_entropy(1, course)
        body = entry_kinds.Join(commit, key)
        if code is not None:
            body = entry_kinds.join_by_link(link_key(code), course, entropy_commit=commit, key=key, name=me.name)
        self._sender.post(course, body)

    def reveal(self, course: Course, seat: Seat) -> bool:
        """Sends the player's `seed`. Returns False, and sends nothing, if neither this folder nor a key here has it."""
        commitment = course.setup.entropy_commits[seat]
        entropy = self._vault.entropy(seat, commitment)
        if entropy is None:
            entry = self._record.require().lines[1 + seat].entry
            key = parse_public_key(str(entry.body["key"]))
            entropy = self._of_key(key) if self._sender.player().signs_for(key) else None
            if entropy is None or entropy_commit(self._vault.game, seat, entropy) != commitment:
                return False
        if course.sealed is not None:
            self._sealed().seed(course, seat, entropy)
        else:
            self._sender.post(course, entry_kinds.Seed(entropy))
        return True

    def _commit_entropy(self, seat: Seat, course: Course) -> str:
        """Returns the commitment to the entropy of the player's key, or of an agent's key to fresh random bytes.

        If the service has refused an entry with random bytes, the next one has the same.
        """
        entropy = self._of_key(self._sender.my_key())
        if entropy is None:
            for entry in self._sender.refused(course):
                commitment = entry.body.get("entropy_commit")
                if isinstance(commitment, str) and self._vault.entropy(seat, commitment) is not None:
                    return commitment
            entropy = self._entropy(ENTROPY_BYTES).hex()
        self._vault.begin(self._service.url, entropy)
        return entropy_commit(self._vault.game, seat, entropy)

    def _of_key(self, key: PublicKey) -> str | None:
        """Returns the entropy of an own key that is in a file; None for an agent's, which may sign differently."""
        from hkoji.log.private_key import PrivateKey  # most commands sign nothing

        signer = self._sender.player().signer_of(key)
        offer = self._record.require().lines[0].entry.head
        return entropy_of_key(signer, self._vault.game, offer) if isinstance(signer, PrivateKey) else None


def verify_dealer(course: Course, *, sealed: bool) -> None:
    """Raises `TrustError` unless the game is dealt by both players (`sealed`), or with a part of both in the shuffle.

    The service names the dealer. With any other dealer than these two it could choose the cards alone.
    """
    dealer, wanted = course.setup.terms.name, SEALED_V1 if sealed else SERVER_V1
    if dealer == wanted:
        return
    if dealer == SERVER_V1:
        raise TrustError(
            tell("this is not a sealed game"),
            hint=tell("nothing was signed; leave --sealed out, or ask for a sealed game"),
        )
    if dealer == SEALED_V1:
        reason = tell("the service has made a sealed game, and you did not ask for one")
    else:
        reason = tell("the game's dealer is {dealer}, which lets the service alone choose the cards", dealer=dealer)
    raise TrustError(reason, hint=tell("nothing was signed; play at a service that offers {dealer}", dealer=wanted))
