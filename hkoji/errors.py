"""All error classes of the project, in one module because they are one tree.

The module is longer than most. A cut would give each class a second address, in a package that names all of them again.

Every failure that a user, a service or a file can cause is a `HkojiError`. It has attributes where code reads its data.
The problems of the service and `--json` read some of them by their names.
A class has no HTTP status and no exit code of its own: services and the command line map classes to those, each in one
table.

*Invalid* means not understood; *illegal* means understood but not allowed. A message says what failed; `hint` says what
to do next. Neither ever holds a card, salt, seed or token that the reader may not see. Texts for players are `Text`
values, which can be shown in their language.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from hkoji.messages.text import Text, quoted, shorten, tell

A_MOVE: Final = tell("a move")


class HkojiError(Exception):
    """The base class. `code` names the problem for programs; it is stable, in lower case with hyphens."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


# --- invalid: not understood ------------------------------------------------------------------------------------


class InvalidError(HkojiError):
    """Input that could not be understood."""

    code = "invalid"


class NotationError(InvalidError):
    """Text that is not a move, or not cards. `text` is the input, `reason` the fault in it."""

    code = "invalid-notation"

    def __init__(self, text: str, reason: str, *, what: str = A_MOVE, hint: str = "") -> None:
        super().__init__(
            tell("{given!r} is not {what}; {reason}", given=shorten(text), what=what, reason=reason), hint=hint
        )
        self.text = text
        self.reason = reason


class MalformedError(InvalidError):
    """Bytes that break a format. `what` names the thing (entry, line, key …), `reason` the rule it breaks."""

    code = "malformed"

    def __init__(self, what: str, reason: str, *, hint: str = "") -> None:
        super().__init__(tell("malformed {what}: {reason}", what=what, reason=reason), hint=hint)
        self.what = what
        self.reason = reason


class WrongValueError(MalformedError):
    """A value that somebody has given, and that cannot be taken. `fault` is the whole message."""

    def __init__(self, what: str, fault: str, *, hint: str = "") -> None:
        super().__init__(what, fault, hint=hint)
        self.message = fault


class PlanTextError(WrongValueError):
    """A plan that is not understood at `line` and `column`, both from 1."""

    def __init__(self, line: int, column: int, reason: str, *, hint: str = "") -> None:
        fault = tell("plan, line {line}, column {column}: {reason}", line=line, column=column, reason=reason)
        super().__init__(tell("plan"), fault, hint=hint)
        self.line = line
        self.column = column


class UnreadableMailError(MalformedError):
    """A mail that breaks a limit or a rule of reading, so that nothing in it counts; `reason` says which."""

    code = "unreadable-mail"
    reason: Text

    def __init__(self, reason: Text) -> None:
        super().__init__(tell("mail"), reason)


class WeakKeyError(InvalidError):
    """A public key that must not be used: it has small order, or its encoding is not the canonical one."""

    code = "weak-key"

    def __init__(self, reason: str) -> None:
        super().__init__(
            tell("unusable Ed25519 key: {reason}", reason=reason),
            hint=tell("make a new key with `hkoji init` or `ssh-keygen`"),
        )


class NotUnderstoodError(InvalidError):
    """A well-formed thing from a later version: neither valid nor forged. `what` is its category, `value` its name."""

    code = "not-understood"

    def __init__(self, what: str, value: str) -> None:
        super().__init__(
            tell("{what} {value!r} is not understood by this version", what=what, value=shorten(value)),
            hint=tell("try a newer version of hkoji"),
        )
        self.what = what
        self.value = value


# --- illegal: understood, not allowed ---------------------------------------------------------------------------


class IllegalError(HkojiError):
    """Input that is understood, but that the rules of the game or of the log do not allow."""

    code = "illegal"


class IllegalActionError(IllegalError):
    """A decision that is not legal now. `action` is canonical notation, `reason` the rule, `shape` what is legal."""

    code = "illegal-action"

    def __init__(self, action: str, reason: str, *, shape: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(tell("{action} is not legal: {reason}", action=action, reason=reason), hint=hint)
        self.action = action
        self.reason = reason
        self.shape = shape

    @property
    def yours(self) -> Text:
        """The reason, said to the player whose decision it is."""
        return self.reason if isinstance(self.reason, Text) else quoted(self.reason)


class MissingCardsError(IllegalActionError):
    """A decision with cards that its hand does not have. `cards` are those, in words."""

    def __init__(self, action: str, cards: str, *, shape: tuple[str, ...] = ()) -> None:
        super().__init__(action, tell("the hand does not have {cards}", cards=cards), shape=shape)
        self.cards = cards

    @property
    def yours(self) -> Text:
        """The reason, said to the player whose hand it is."""
        return tell("you do not have {cards}", cards=self.cards)


class IllegalEventError(IllegalError):
    """An event that cannot happen now, or contradicts what is known. `due` is what must come next."""

    code = "illegal-event"

    def __init__(self, reason: str, *, due: str) -> None:
        super().__init__(reason)
        self.due = due


class UnknownHandError(IllegalError):
    """Legal actions were asked for an actor whose hand this observer does not know."""

    code = "unknown-hand"

    def __init__(self, seat: int) -> None:
        super().__init__(tell("the hand of seat {seat} is not known here, so neither are its legal actions", seat=seat))
        self.seat = seat


class NotYourTurnError(IllegalError):
    """Another seat owes the next entry. `actor` is that seat; None if it is the service, or no one."""

    code = "not-your-turn"

    def __init__(self, message: str, *, actor: int | None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.actor = actor


class GameOverError(IllegalError):
    """The game has ended and takes no more entries."""

    code = "game-over"

    def __init__(self, game: str) -> None:
        short = game[:8]
        super().__init__(
            tell("game {game} is over", game=short), hint=tell("see it with `hkoji show {game}`", game=short)
        )
        self.game = game


class TimeOverError(IllegalError):
    """An entry, a statement about a game, or a guest that has come after the `deadline`.

    `deadline` is None if the log says only that the time was over, and not since when.
    """

    code = "time-over"

    def __init__(self, game: str, deadline: str | None) -> None:
        short = game[:8]
        super().__init__(
            tell("too late: the log of game {game} has a timeout instead of this entry", game=short)
            if deadline is None
            else tell("too late: the time in game {game} ended at {deadline}", game=short, deadline=deadline),
            hint=tell("nothing was accepted; see the game with `hkoji show {game}`", game=short),
        )
        self.game = game
        self.deadline = deadline


class NotOverdueError(IllegalError):
    """A time that is said to be over goes on until `deadline`; None if none runs at all."""

    code = "not-overdue"

    def __init__(self, game: str, deadline: str | None) -> None:
        super().__init__(
            tell("in game {game} no time runs", game=game[:8])
            if deadline is None
            else tell("in game {game} there is time until {deadline}", game=game[:8], deadline=deadline)
        )
        self.game = game
        self.deadline = deadline


class TalkClosedError(IllegalError):
    """A message about a game in which, by `reason`, the players can write nothing now."""

    code = "talk-closed"

    def __init__(self, game: str, reason: str) -> None:
        super().__init__(
            reason, hint=tell("nothing was sent; what was written before: hkoji talk {game}", game=game[:8])
        )
        self.game = game


class KeptDepositError(IllegalError):
    """The service has not released a draw that it keeps as a deposit; whatever comes in its place convicts it."""

    code = "kept-deposit"


class ConflictError(HkojiError):
    """The entry does not follow the head, or names another time of record for it; `seq` and `head` are of the last.

    `reason` says what is wrong, if it is not that the game has moved on.
    """

    code = "conflict"

    def __init__(self, game: str, *, seq: int, head: str, hint: str = "", reason: str = "") -> None:
        super().__init__(
            reason or tell("game {game} has moved on: its last entry is {seq}", game=game[:8], seq=seq),
            hint=hint or tell("look again with `hkoji show {game}`", game=game[:8]),
        )
        self.game = game
        self.seq = seq
        self.head = head


class ExistsError(HkojiError):
    """Something different with that name exists already."""

    code = "exists"

    def __init__(self, what: str, name: str, *, hint: str = "") -> None:
        super().__init__(tell("{what} {name!r} exists already", what=what, name=name), hint=hint)


# --- trust --------------------------------------------------------------------------------------------------------


class SignatureError(HkojiError):
    """A signature that does not verify. `signer` is the expected signer, `reason` the cause of the failure."""

    code = "bad-signature"

    def __init__(self, signer: str, reason: str) -> None:
        super().__init__(tell("the signature is not one of {signer}: {reason}", signer=signer, reason=reason))
        self.signer = signer
        self.reason = reason


class CommitmentError(HkojiError):
    """An opening that does not match its commitment. `seq` and `part` identify it."""

    code = "bad-opening"

    def __init__(self, reason: str, *, seq: int, part: int) -> None:
        super().__init__(tell("opening {part} of entry {seq}: {reason}", part=part, seq=seq, reason=reason))
        self.seq = seq
        self.part = part


class ProofError(HkojiError):
    """A proof of a sealed game does not hold: a card is not held, or a deck was not shuffled. `reason` says which."""

    code = "bad-proof"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TrustError(HkojiError):
    """Data from the service that contradicts what this player has seen, signed or pinned."""

    code = "trust"


class OtherOriginError(TrustError):
    """A service that is reached at `url` says that it is `origin`, and the user has not confirmed that."""

    def __init__(self, url: str, origin: str) -> None:
        super().__init__(
            tell("the service at {url} says its address is {origin}", url=url, origin=origin),
            hint=tell(
                "nothing was signed or kept: somebody who passes your requests on could log in as you; use {origin} "
                "itself, or, if its operator confirms that {url} is that service, add --origin {origin}",
                url=url,
                origin=origin,
            ),
        )
        self.url = url
        self.origin = origin


class NotShownError(TrustError):
    """The player's own cards, or an opening of theirs, are missing here: the service may show them soon."""


class AuditError(HkojiError):
    """A log that fails the audit. `step` is the numbered audit step, `seq` the entry, `signer` the party at fault.

    All three are None for an audit of many logs together.
    """

    code = "audit-failed"

    def __init__(self, step: int | None, reason: str, *, seq: int | None, signer: str | None) -> None:
        super().__init__(reason)
        self.step = step
        self.seq = seq
        self.signer = signer


class LaterVersionError(AuditError):
    """An audit whose only findings are things that a later version may understand: nothing is valid, nothing forged."""

    code = "not-understood"

    def __init__(self, step: int | None, reason: str, *, seq: int | None) -> None:
        super().__init__(step, reason, seq=seq, signer=None)
        self.hint = tell("try a newer version of hkoji")


# --- access -------------------------------------------------------------------------------------------------------


class LoginError(HkojiError):
    """There is no valid login, or no usable key for one."""

    code = "login-required"


class ForbiddenError(HkojiError):
    """A known player who is not allowed to see or do this."""

    code = "forbidden"


class RevokedError(ForbiddenError):
    """A revoked key: the service refuses everything that it signs. `name` is its owner's name."""

    code = "revoked"

    def __init__(self, name: str, fingerprint: str) -> None:
        super().__init__(
            tell("the key {fingerprint} of {name} has been revoked", fingerprint=fingerprint, name=name),
            hint=tell(
                "nothing was changed; the operator of the service can give {name} a code for another key", name=name
            ),
        )


class BlockedError(ForbiddenError):
    """A player who is blocked by the other one, and so may not invite that player or join their game."""

    code = "blocked"


class NotAcceptedError(ForbiddenError):
    """An invitation to a player who does not accept it. Nothing says why not."""

    code = "not-accepted"


class NotFoundError(HkojiError):
    """There is no such thing. `what` is its category, `name` the name in the request."""

    code = "not-found"

    def __init__(self, what: str, name: str, *, hint: str = "") -> None:
        super().__init__(tell("no {what} {name!r}", what=what, name=shorten(name)), hint=hint)


class TooLargeError(HkojiError):
    """Input over a size cap. `limit` is in bytes."""

    code = "too-large"

    def __init__(self, what: str, limit: int, *, hint: str = "") -> None:
        super().__init__(tell("{what} is larger than {limit} bytes", what=what, limit=limit), hint=hint)


class TooManyError(HkojiError):
    """Too many requests, or too many of what `reason` says. `retry_after` is in seconds."""

    code = "too-many-requests"

    def __init__(self, retry_after: int, reason: str | None = None) -> None:
        super().__init__(
            reason or tell("too many requests"), hint=tell("try again in {seconds} s", seconds=retry_after)
        )
        self.retry_after = retry_after


class TooManyGamesError(HkojiError):
    """The player has as many open games or open invitations of one player, or has asked for as many, as is allowed."""

    code = "too-many-games"


class TooManyChannelsError(HkojiError):
    """The player has as many channels for notices as a service allows."""

    code = "too-many-channels"


class NotDeliveredError(HkojiError):
    """A post that its receiver has not taken.

    `reason` is the same whatever went wrong before an answer came: it tells nobody what a service can reach.
    """

    code = "not-delivered"

    def __init__(self, reason: str) -> None:
        super().__init__(tell("nothing could be delivered: {reason}", reason=reason))
        self.reason = reason


class BusyError(HkojiError):
    """The service has no room for another waiting request, or what `reason` says. `retry_after` is in seconds."""

    code = "too-busy"

    def __init__(self, retry_after: int, reason: str | None = None) -> None:
        super().__init__(
            reason or tell("too many clients are waiting at this service already"),
            hint=tell("nothing was changed; try again in {seconds} s", seconds=retry_after),
        )
        self.retry_after = retry_after


class ClockError(HkojiError):
    """The service cannot trust its clock, so it decides nothing that needs the time. `retry_after` is in seconds."""

    code = "clock"

    def __init__(self, reason: str, retry_after: int) -> None:
        super().__init__(
            reason,
            hint=tell(
                "nothing was changed; its operator must set the clock; try again in {seconds} s", seconds=retry_after
            ),
        )
        self.retry_after = retry_after


# --- commands, network, bots, files -------------------------------------------------------------------------------


class UsageError(HkojiError):
    """A command that cannot be carried out as given."""

    code = "usage"


class InterruptionError(HkojiError):
    """A command that the user has stopped with Ctrl-C."""

    code = "interrupted"

    def __init__(self) -> None:
        super().__init__(tell("interrupted; acknowledged moves are kept"))


class CancelledError(HkojiError):
    """A command that the user has stopped, or a wait that has timed out."""

    code = "cancelled"


class NetworkError(HkojiError):
    """The service could not be reached, or the connection broke. Whether a request arrived is not known."""

    code = "network"

    def __init__(self, url: str, reason: str, *, hint: str = "") -> None:
        super().__init__(tell("cannot reach {url}: {reason}", url=url, reason=reason), hint=hint)
        self.url = url
        self.reason = reason


class ServiceError(HkojiError):
    """A problem that has no class of its own, or an answer that is not understood. `status` is the HTTP status."""

    code = "service"

    def __init__(self, status: int, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class BotError(HkojiError):
    """A bot that failed to decide. `bot` is the name by which it was called, `reason` the failure.

    `shape` describes the legal moves, if the bot gave an illegal one.
    """

    code = "bot-failed"

    def __init__(self, bot: str, reason: str, *, shape: tuple[str, ...] = ()) -> None:
        super().__init__(
            tell("the bot {bot} failed: {reason}", bot=bot, reason=reason),
            hint=tell("nothing was sent; the game stands as it was and still waits for this move"),
        )
        self.bot = bot
        self.reason = reason
        self.shape = shape


class SeatedBotError(BotError):
    """A bot that failed in a game of a match.

    `deal`, `table` and `seat` say where it sat; `position` is the game so far as the bot saw it, one line per round.
    """

    def __init__(self, bot: str, reason: str, *, deal: int, table: str, seat: int, position: tuple[str, ...]) -> None:
        HkojiError.__init__(
            self,
            tell("{bot} failed in game {deal}{table}: {reason}", bot=bot, deal=deal, table=table, reason=reason),
            hint=tell(
                "its game so far, in seat {seat}: {position}", seat=seat, position=quoted("\n  ".join(("", *position)))
            ),
        )
        self.bot = bot
        self.reason = reason
        self.shape = ()
        self.deal = deal
        self.table = table
        self.seat = seat
        self.position = position

    # Worker processes send this error through a pipe; by default, pickle would call the class with the message alone.
    def __reduce__(self) -> tuple[object, ...]:
        place = partial(SeatedBotError, deal=self.deal, table=self.table, seat=self.seat, position=self.position)
        return place, (self.bot, self.reason)


class StorageError(HkojiError):
    """A file or database that cannot be read or written as needed."""

    code = "storage"


class OutputError(HkojiError):
    """Standard output that cannot be written: a full disk, or none that is open. `reason` is the system's."""

    code = "output"

    def __init__(self, reason: str) -> None:
        super().__init__(tell("cannot write the output: {reason}; moves that were made are kept", reason=reason))
