"""Talk in one game: the messages that the two players have signed, verified, kept here, and sent.

docs/spec/log.md, "Talk". The service can leave a message out, but it cannot write one. The messages that it shows are
compared with those that it has shown before, and each message names the last one that its author had seen. A message
is on disk before it is sent, and a retry sends the same bytes. Call everything with the vault locked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final, NamedTuple

from hkoji.client.answers import REFUSALS
from hkoji.client.sending import EntrySender
from hkoji.client.service import utc_now
from hkoji.client.talk_messages import TalkFile, TalkMessage, TalkRequests
from hkoji.errors import ForbiddenError, HkojiError, NotFoundError, TooManyError, TrustError, UsageError
from hkoji.game.course import Course
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.talk import NOTHING_SEEN, TalkStatement, hash_of, make_talk, parse_talk
from hkoji.messages.text import tell

_CLOSED: Final = (*REFUSALS, NotFoundError)
"""The errors after which a message will never be kept by the service."""


class ReadMessage(NamedTuple):
    """A message as its reader may take it.

    `name` is its author. `words` are None if the author has deleted it, and if it is not the author's word: then
    `flaw` says why. `doubt` says what is wrong with its place among the others. `new` means that it was not known here
    before; `at` is the time that the author gives, `received` the service's.
    """

    number: int
    name: str
    received: str
    at: str | None = None
    words: str | None = None
    flaw: str | None = None
    doubt: str | None = None
    mine: bool = False
    new: bool = False


class Conversation(NamedTuple):
    """The messages of a game, in order. `muted` means that the reader does not want to see the opponent's.

    `breach` says how the service contradicts what it has shown before; None if it does not. `pending` are words of the
    reader that the service has not confirmed. `recent` says that the service has confirmed one of theirs since
    they were last read.
    """

    messages: tuple[ReadMessage, ...]
    muted: bool
    breach: str | None = None
    pending: str | None = None
    recent: bool = False

    @property
    def flawed(self) -> int:
        """How many messages are not the word of their supposed authors."""
        return sum(each.flaw is not None for each in self.messages)


class GameTalk:
    """The messages about the game of `sender`, which knows the player and the keys.

    The log must have been brought up to date before: it says whose keys count.
    """

    def __init__(self, sender: EntrySender) -> None:
        self._sender: Final = sender
        self._record: Final = sender.record
        self._requests: Final = TalkRequests(sender.service)
        self._say = sender.say
        self._file: Final = TalkFile(sender.vault)

    def kept(self) -> Conversation:
        """Returns the messages that were verified before, without asking the service."""
        return self._conversation(self._examine(self._course(), self._kept_in_order(), self._file.kept))

    def read(self) -> Conversation:
        """Sends a message that waits, and returns all messages, verified. Those that hold are kept.

        Raises `ForbiddenError` for anybody who does not play in the game.
        """
        course = self._course()
        try:
            self._deliver_pending()
        except _CLOSED as error:
            self._say(tell("the service did not accept the message that waited here: {reason}", reason=error))
        except TooManyError as error:
            self._say(tell("your message still waits here: {reason}", reason=error))
        return self._fetch(course)

    def send(self, words: str) -> Conversation:
        """Signs and sends a message; returns all messages. If the last command broke off with these words, sends those.

        So call `told` when the player knows that it was sent. Until then, and for ten seconds more, the same words are
        the same message: a program that was killed at its very end may be started again.
        Raises `MalformedError` for words that no message may have, `TalkClosedError`, `BlockedError`, `TooManyError`.
        """
        course, player = self._course(), self._sender.player()
        waits = self._file.pending
        last = self._file.last
        if waits is not None:
            again = waits[0].words == words
        else:
            again = last is not None and last.is_repeated(words, time.time())
        try:
            self._deliver_pending()
        except _CLOSED as error:
            if again:
                raise
            self._say(tell("the service did not accept the message that waited here: {reason}", reason=error))
        if not again:
            seen = self._kept_in_order()
            statement = make_talk(
                after=seen[-1].hash if seen else NOTHING_SEEN,
                at=utc_now(),
                game=course.setup.game,
                name=player.name,
                words=words,
            )
            sig = self._sender.signer(course).sign(sshsig.TALK, statement.message)
            self._file.set_pending(statement, encode_base64(sig))
            self._deliver_pending()
        return self._fetch(course)

    def told(self, *, read: bool = False) -> None:
        """Notes that the player has seen what `send`, or `read`, has returned. Asks no service."""
        self._file.tell(None if read else int(time.time()))

    def delete(self, number: int) -> Conversation:
        """Deletes a message of the player at the service and here. Raises `UsageError` for any other message."""
        course, me = self._course(), self._sender.player().name
        before = self._fetch(course)
        found = next((each for each in before.messages if each.number == number), None)
        if found is None or found.name != me:
            raise UsageError(
                tell("message {number} is not one of yours", number=number),
                hint=tell("nothing was deleted; see the numbers with `hkoji talk {game}`", game=course.setup.game[:8]),
            )
        self._requests.delete(course.setup.game, number)
        return self._fetch(course)

    def mute(self, *, muted: bool) -> Conversation:
        """Hides the opponent's messages here, or shows them again. Asks no service."""
        self._course()
        self._file.mute(muted=muted)
        return self.kept()

    # --- the steps ------------------------------------------------------------------------------------------------

    def _course(self) -> Course:
        """Returns the game. Raises `ForbiddenError` for anybody who does not play in it."""
        position = self._record.require().position
        if position.seat is None:
            raise ForbiddenError(
                tell("you are not a player in game {game}", game=position.short),
                hint=tell("only the two players of a game read and write its messages"),
            )
        return position.course

    def _kept_in_order(self) -> list[TalkMessage]:
        return sorted(self._file.kept.values())

    def _deliver_pending(self) -> None:
        """Sends the stored bytes, if there are any. A refusal forgets the message."""
        pending = self._file.pending
        if pending is None:
            return
        statement, sig = pending
        try:
            answer = self._requests.say(statement.game, statement.text, sig)
        except _CLOSED:
            self._file.set_pending(None)
            raise
        if answer.text not in (statement.text, None):
            raise TrustError(
                tell("the service has confirmed another message than the one sent"),
                hint=tell("your message is kept; try again"),
            )
        kept = self._file.kept
        sent = answer._replace(name=statement.name, hash=statement.hash)
        if kept.get(sent.number, sent).hash != sent.hash:
            raise TrustError(
                tell("the service has given your message the number of another, {number}", number=sent.number),
                hint=tell("your message is kept; try again"),
            )
        self._file.confirm(statement, {**kept, sent.number: sent}.values())

    def _fetch(self, course: Course) -> Conversation:
        """Returns what the service shows, verified, and keeps what holds."""
        kept = self._file.kept
        shown = self._requests.messages(course.setup.game)
        if not shown and course.finished and kept:
            # The service deletes all messages some time after the end. Here they stay.
            return self.kept()
        read = self._examine(course, shown, kept)
        breach = _breach(shown, read, kept)
        after = dict(kept)
        for message, answer in zip(read, shown, strict=True):
            before = kept.get(message.number)
            if answer.text is None and before is not None:
                after[message.number] = before._replace(text=None, sig=None)
            elif before is None and message.words is not None and answer.text is not None:
                after[message.number] = answer._replace(hash=hash_of(answer.text))
        self._file.keep(after.values())
        return self._conversation(read, breach)

    def _conversation(self, read: Iterable[ReadMessage], breach: str | None = None) -> Conversation:
        pending, recent = self._file.pending, self._file.last is not None
        return Conversation(tuple(read), self._file.muted, breach, pending[0].words if pending else None, recent)

    def _examine(self, course: Course, shown: Iterable[TalkMessage], kept: dict[int, TalkMessage]) -> list[ReadMessage]:
        """Returns messages with what is wrong with each. Those in `kept` are known."""
        me = self._sender.player().name
        places = {each.hash: each.number for each in kept.values()}
        examined: list[tuple[TalkMessage, TalkStatement | HkojiError | None]] = []
        for each in shown:
            found: TalkStatement | HkojiError | None = None
            if each.text is not None:
                try:
                    found = verified(each, course)
                    places.setdefault(found.hash, each.number)
                except HkojiError as error:
                    found = error
            examined.append((each, found))
        read: list[ReadMessage] = []
        gaps = False  # whether a message was deleted that was never seen here
        for each, found in examined:
            number = each.number
            message = ReadMessage(number, each.name, each.at, mine=each.name == me, new=number not in kept)
            if found is None:
                gaps = gaps or number not in kept
                message = message._replace(new=False)
            elif isinstance(found, HkojiError):
                message = message._replace(flaw=found.message)
            elif places[found.hash] < number:
                message = message._replace(flaw=tell("it repeats message {number}", number=places[found.hash]))
            else:
                doubt = _doubt(number, found, places, gaps=gaps)
                message = message._replace(at=found.at, words=found.words, doubt=doubt)
            read.append(message)
        return _with_gaps(read)


def verified(answer: TalkMessage, course: Course) -> TalkStatement:
    """Returns a message that its author has signed with a key that counts, or has counted, in the game.

    Raises `HkojiError` for one that somebody else has made, or that was made for another game or number.
    """
    assert answer.text is not None
    assert answer.sig is not None
    setup = course.setup
    statement = parse_talk(answer.text)
    seat = setup.seat_of(statement.name)
    if seat is None or statement.name != answer.name:
        raise TrustError(tell("it was written in the name of {name}", name=statement.name))
    if statement.game != setup.game:
        raise TrustError(tell("it was written in game {game}", game=statement.game[:8]))
    blob, failure = decode_base64(answer.sig, "signature"), None
    for key in reversed(setup.all_keys(seat)):
        try:
            sshsig.verify(blob, key, sshsig.TALK, statement.message, statement.name)
        except HkojiError as error:
            failure = failure or error
        else:
            return statement
    assert failure is not None
    raise failure


def _doubt(number: int, statement: TalkStatement, places: dict[str, int], *, gaps: bool) -> str | None:
    """Returns what is wrong with the place of a message; `places` has the numbers of all that are known, by hash.

    With `gaps` one that is not known may be what its author had seen.
    """
    after = 0 if statement.after == NOTHING_SEEN else places.get(statement.after)
    if after is None:
        return None if gaps else tell("a message that its author had seen is missing before it")
    if after >= number:
        return tell("its author had seen message {number}, which stands after it", number=after)
    return None


def _with_gaps(read: list[ReadMessage]) -> list[ReadMessage]:
    """Returns messages with a doubt at each one before which a number is missing."""
    found, expected = [], 1
    for each in read:
        gap = each.number > expected
        doubt = tell("the service does not show every message before it") if gap else each.doubt
        found.append(each._replace(doubt=doubt))
        expected = each.number + 1
    return found


def _breach(shown: Iterable[TalkMessage], read: Iterable[ReadMessage], kept: dict[int, TalkMessage]) -> str | None:
    """Returns how what the service shows contradicts what it has shown before; None if it does not."""
    found = {each.number: (each, answer) for each, answer in zip(read, shown, strict=True)}
    for number, word in sorted(kept.items()):
        if number not in found:
            return tell("the service no longer shows message {number}", number=number)
        message, answer = found[number]
        if message.words is not None and answer.text is not None and hash_of(answer.text) != word.hash:
            return tell("the service has shown another message {number} before", number=number)
    return None
