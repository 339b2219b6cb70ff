"""The statements of one service about one game: its entries, receipts, views and signed heads, in any log.

docs/spec/evidence.md, "Judgement". A statement is anything with a valid signature by the service's key, and what
follows from it: a statement about an entry covers all entries before, because each names the hash of the one before. An
honest service puts one entry in a place, gives one receipt for it, never lets receipts go back in time, records nothing
long before a head that it has signed, and signs nothing after the end. This module knows neither rules nor cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hkoji.audit.checks import verify_head_time, verify_receipt_time, verify_same_receipt
from hkoji.audit.evidence_file import EntryTree
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.log import sshsig
from hkoji.log.game_statements import HeadStatement, SignedHead
from hkoji.log.line import SERVER_NAME, Entry, Line, Receipt, SignedReceipt
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import SignedView
from hkoji.messages.text import tell


class StatementFault(NamedTuple):
    """Why a statement of the service convicts it, with the entry that it is about."""

    entry: int
    reason: str


class ServiceStatements:
    """All statements of the service with a given key: about `entries`, and the `views` and `heads` that it signed."""

    def __init__(
        self,
        key: PublicKey,
        game: str,
        entries: EntryTree,
        views: Iterable[SignedView],
        heads: Iterable[SignedHead] = (),
    ) -> None:
        self._key: Final = key
        self._entries: Final = entries
        self._said: Final[dict[int, dict[str, str]]] = {}
        self._named: Final[dict[tuple[int, str], str]] = {}
        """The entries, by number and head, that a view or head names itself, with which of the two."""
        self._misplaced: Final[list[StatementFault]] = []
        self.receipts: Final[dict[str, Receipt]] = {}
        """By their exact text."""
        self.views: Final[dict[str, SignedView]] = {}
        """By their exact text."""
        self.heads: Final[dict[str, HeadStatement]] = {}
        """By their exact text."""
        self.strange: int = 0
        """The number of signatures in the name of the service that are not by its key, or not about this game."""
        for entry in entries:
            for line in entries.lines(entry.head):
                self._read_line(game, line)
        for shown in views:
            view = shown.view
            if view.game == game and self._signed(shown.sig, sshsig.VIEW, view.message):
                self.views[view.text] = shown
                self._name(view.seq, view.head, tell("a view that it has signed"))
            else:
                self.strange += 1
        for signed in heads:
            head = signed.statement
            if head.game == game and self._signed(signed.sig, sshsig.HEAD, head.message):
                self.heads[head.text] = head
                self._name(head.seq, head.head, tell("a head that it has signed"))
            else:
                self.strange += 1

    @property
    def any(self) -> bool:
        """Whether there are any statements."""
        return bool(self._said)

    def has(self, seq: int, head: str) -> bool:
        """Whether a statement covers an entry."""
        return head in self._said.get(seq, {})

    def names(self, seq: int, head: str) -> bool:
        """Whether a view or a head names the entry itself. Then nothing that belongs to it, as a credit, follows it."""
        return (seq, head) in self._named

    def receipt(self, entry: Entry) -> SignedReceipt | None:
        """A valid receipt for an entry; None if there is none."""
        for line in self._entries.lines(entry.head):
            given = line.receipt
            if given and given.receipt.text in self.receipts:
                receipt = given.receipt
                if (receipt.seq, receipt.head) == (entry.seq, entry.head):
                    return given
        return None

    def faults(self) -> list[StatementFault]:
        """The places where the statements contradict each other. Of a fork, only the first place is listed."""
        return (
            self._misplaced[:1]
            or self._forks()
            or [
                *(self._receipts() or self._times_that_differ()),
                *self._behind_heads(),
                *self._named_before_credit(),
                *self._after_the_end(),
            ]
        )

    # --- reading --------------------------------------------------------------------------------------------------

    def _read_line(self, game: str, line: Line) -> None:
        entry, given = line.entry, line.receipt
        if entry.by == SERVER_NAME:
            if self._signed(line.sig, sshsig.SERVER, entry.message):
                self._say(entry.seq, entry.head, tell("its own entry"))
            else:
                self.strange += 1
        if given is None:
            return
        receipt = given.receipt
        if receipt.game == game and self._signed(given.sig, sshsig.RECEIPT, receipt.message):
            self.receipts[receipt.text] = receipt
            self._say(receipt.seq, receipt.head, tell("its receipt of {at}", at=receipt.at))
        else:
            self.strange += 1

    def _signed(self, sig: bytes, namespace: str, message: bytes) -> bool:
        try:
            sshsig.verify(sig, self._key, namespace, message, SERVER_NAME)
        except HkojiError:
            return False
        return True

    def _name(self, seq: int, head: str, source: str) -> None:
        self._named.setdefault((seq, head), source)
        self._say(seq, head, source)

    def _say(self, seq: int, head: str, source: str) -> None:
        """Records a statement about an entry, and so about all entries before, which it covers by their hashes."""
        while seq >= 0:
            said = self._said.setdefault(seq, {})
            if head in said:
                return
            said[head] = source
            entry = self._entries.find(head)
            if entry is None:
                return
            if entry.seq != seq:
                reason = tell("{source} puts entry {entry} in place {seq}", source=source, entry=entry.seq, seq=seq)
                self._misplaced.append(StatementFault(seq, reason))
                return
            seq, head, source = seq - 1, entry.prev, tell("an entry after it")

    # --- contradictions -------------------------------------------------------------------------------------------

    def _forks(self) -> list[StatementFault]:
        for seq, said in sorted(self._said.items()):
            if len(said) > 1:
                one, other, *_ = said.values()
                reason = tell(
                    "has put two different entries in place {seq}, by {one} and by {other}",
                    seq=seq,
                    one=one,
                    other=other,
                )
                return [StatementFault(seq, reason)]
        return []

    def _receipts(self) -> list[StatementFault]:
        before: Receipt | None = None
        for receipt in sorted(self.receipts.values(), key=lambda each: each.seq):
            if before is not None:
                try:
                    if receipt.seq == before.seq:
                        verify_same_receipt(receipt, before)
                    verify_receipt_time(receipt, before)
                except HkojiError as error:
                    return [StatementFault(receipt.seq, error.message)]
            before = receipt
        return []

    def _times_that_differ(self) -> list[StatementFault]:
        """The first entry with two times of record, or with one before that of an earlier entry.

        The service states a time in a receipt, as the time of an entry of its own, and in the `seen` of the entry after
        it, if that has its word.
        """
        last, before = -1, ""
        for seq, at in sorted(set(self._times())):
            if seq == last:
                reason = tell(
                    "has stated two times of record for entry {seq}, {one} and {other}", seq=seq, one=before, other=at
                )
                return [StatementFault(seq, reason)]
            if at < before:
                reason = tell(
                    "has recorded entry {seq} at {at}, and an earlier one at {before}", seq=seq, at=at, before=before
                )
                return [StatementFault(seq, reason)]
            last, before = seq, at
        return []

    def _behind_heads(self) -> Iterator[StatementFault]:
        """The first entry that was recorded long before a head which does not have it.

        Of the heads with a number the one with the latest time says the most, and so does, of all before an entry, the
        one that is latest.
        """
        heads = sorted(self.heads.values(), key=lambda head: (head.seq, head.at))
        latest: HeadStatement | None = None
        for seq, at in sorted(self._times()):
            while heads and heads[0].seq < seq:
                head = heads.pop(0)
                latest = head if latest is None or head.at > latest.at else latest
            if latest is not None:
                try:
                    verify_head_time(latest, seq, at)
                except HkojiError as error:
                    yield StatementFault(seq, error.message)
                    return

    def _named_before_credit(self) -> Iterator[StatementFault]:
        """The first credit or release of its own right after an entry that a view or head names: they come at once."""
        for entry in sorted(self._entries, key=lambda each: each.seq):
            source = self._named.get((entry.seq - 1, entry.prev))
            body = self._entries.body(entry)
            released = isinstance(body, entry_kinds.Release) and entry.by == SERVER_NAME
            at_once = released or isinstance(body, entry_kinds.Credit)
            if source is not None and at_once and self.has(entry.seq, entry.head):
                reason = tell(
                    "a {kind} follows entry {seq}, which was the last one by {source}",
                    kind=entry.kind,
                    seq=entry.seq - 1,
                    source=source,
                )
                yield StatementFault(entry.seq, reason)
                return

    def _times(self) -> Iterator[tuple[int, str]]:
        """The times of record that the service has stated, each with the number of its entry."""
        for receipt in self.receipts.values():
            yield receipt.seq, receipt.at
        for entry in self._entries:
            if self.has(entry.seq, entry.head):
                if entry.by == SERVER_NAME:
                    yield entry.seq, entry.at
                if entry.seen is not None:
                    yield entry.seq - 1, entry.seen

    def _after_the_end(self) -> Iterator[StatementFault]:
        last = max(self._said, default=0)
        for entry in self._entries:
            if entry.by != SERVER_NAME or not self.has(entry.seq, entry.head):
                continue
            match self._entries.body(entry):
                case entry_kinds.End(_, _, None):
                    end = entry.seq + 1
                case entry_kinds.End() | entry_kinds.Unseal():
                    end = entry.seq
                case _:
                    continue
            if end < last:
                reason = tell(
                    "it has signed a statement about entry {last}, and the game ended with entry {end}",
                    last=last,
                    end=end,
                )
                yield StatementFault(last, reason)
                return
