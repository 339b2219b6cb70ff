"""The rules of the log format that a log can break, each in one function.

The format is in docs/spec/log.md; each function names its section there. The audit of a log, the audit of evidence,
the client's incremental check and the referee call these functions. A `verify_` function returns None or raises an
error, whose text is the finding. To add a rule, add a function here and call it in the step of `log_audit` that it
belongs to. The rules for what a `credit` or `annul` contains stand beside this module, in `credit_checks`.

`Course.apply` and the kinds of entry (hkoji/game/entry_kinds/) contain the rules of play: who may append what and when,
and which moves are legal. They cannot import this module, which stands above them. So the rules that they share with
the audit stand in modules below it, also in one function each:

    Canonical text, Files     hkoji/log/canonical.py, line.py
    Entries (the chain)       hkoji/log/line.py
    Keys (weak keys)          hkoji/log/public_key.py
    Signatures (their form)   hkoji/log/sshsig.py
    Held keys (mails)         hkoji/game/held_keys.py
    Kinds (bodies)            hkoji/game/entry_kinds/
    Other keys (`old`)        hkoji/game/course.py
    Commitments               hkoji/game/commitments.py (entropy, cards), hkoji/game/dealer.py (seed)
    Deal (chance)             hkoji/game/entry_kinds/setting_up.py, `ChanceBody.verify`

Three rules also have a second form, which works on other data. `Course` refuses the wrong author of a new key, and an
`end` that leaves cards closed, before the audit's later steps see them. `hkoji.audit.contradictions` finds two receipts
and forks between many logs, of which it has only short claims.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from hkoji.errors import CommitmentError, HkojiError, IllegalError, MalformedError, SignatureError
from hkoji.game.clock import parse_time
from hkoji.game.commitments import Opening
from hkoji.game.entry_kinds import Join, Lapse, Open
from hkoji.game.entry_kinds.key_changes import KeyChange, Rekey, Revoke, changed_name, proofs
from hkoji.game.entry_kinds.setting_up import link_statement
from hkoji.game.entry_kinds.time import LapseReason
from hkoji.game.setup import LinkInvite
from hkoji.log import sshsig
from hkoji.log.game_statements import HeadStatement
from hkoji.log.line import SERVER_NAME, Entry, Line, Receipt, SignedReceipt, entry_namespace
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import any_of, tell

# --- keys ---------------------------------------------------------------------------------------------------------


def verify_expected_key(name: str, key: PublicKey, expected: Collection[PublicKey], *, vouched: bool = False) -> None:
    """Checks that a key which the log names for `name` is one of those `expected`. If none is expected, any key passes.

    `vouched` says that the key came by a `revoke`. "Audit", step 3. Raises `HkojiError`.
    """
    if not expected or key in expected:
        return
    fingerprints = any_of(sorted(each.fingerprint for each in expected))
    if vouched:
        raise HkojiError(
            tell(
                "the server alone says that {fingerprint} is now the key of {name}; expected is {expected}",
                fingerprint=key.fingerprint,
                name=name,
                expected=fingerprints,
            )
        )
    raise HkojiError(
        tell(
            "the log names {fingerprint} as the key of {name}; expected is {expected}",
            fingerprint=key.fingerprint,
            name=name,
            expected=fingerprints,
        )
    )


def verify_first_key(name: str, named: Collection[str]) -> None:
    """Checks that an offer, `open` or `join` names the first key of `name`; `named` are the names that have one.

    "Audit", step 3. Raises `HkojiError`.
    """
    if name in named:
        raise HkojiError(tell("the log names a key of {name} twice", name=name))


def verify_key_changer(entry: Entry, body: KeyChange) -> None:
    """Checks that a player has written a `rekey`, or the service a `revoke` of a player's key.

    "Other keys". Raises `HkojiError`.
    """
    name = changed_name(entry, body)
    if (entry.by == SERVER_NAME) != isinstance(body, Revoke) or name == SERVER_NAME:
        raise HkojiError(tell("{by} may not change the key of {name}", name=name, by=entry.by))


def verify_key_named(name: str, key: PublicKey | None) -> None:
    """Checks that the log has named a key for an author. "Audit", step 4. Raises `SignatureError`."""
    if key is None:
        raise SignatureError(name, tell("the log names no key for that name"))


# --- signatures ---------------------------------------------------------------------------------------------------


class SignatureCheck(NamedTuple):
    """One signature to verify: the SSHSIG blob that `key` made of `message` in `namespace`, as the log claims.

    `signer` is the name of its owner. The check is a value, so that an audit can hand it to another thread.
    """

    sig: bytes
    key: PublicKey
    namespace: str
    message: bytes
    signer: str

    def verify(self) -> None:
        """Raises `SignatureError` if the signature does not verify."""
        sshsig.verify(*self)


def signature_checks(
    entry: Entry, sig: bytes, key: PublicKey, body: object, link: PublicKey | None
) -> tuple[SignatureCheck, ...]:
    """The signatures of an entry: by its author, and by the keys that a change of keys or an invitation by link names.

    `key` is the author's valid key at this entry, `body` the parsed body, and `link` the key of the link by which the
    game was opened before, if it was. "Signatures", "Other keys" and "Invitation by link". Raises `SignatureError` if
    a `join` lacks the signature of the link, or has one and there is no link.
    """
    own = SignatureCheck(sig, key, entry_namespace(entry), entry.message, entry.by)
    if isinstance(body, Open | Join):
        return (own, *_link_checks(entry, body, link))
    if not isinstance(body, Rekey | Revoke):
        return (own,)
    name = changed_name(entry, body)
    inner = (SignatureCheck(each.sig, each.key, each.namespace, each.message, name) for each in proofs(entry, body))
    return (own, *inner)


def _link_checks(entry: Entry, body: Open | Join, link: PublicKey | None) -> tuple[SignatureCheck, ...]:
    """The signature of the link: the one that the invitation of an `open` names, or the one that a `join` must have."""
    if isinstance(body, Open):
        if not isinstance(body.invite, LinkInvite):
            return ()
        sig, link, namespace = body.invite.sig, body.invite.link, sshsig.INVITE
    else:
        if link is None and body.link_sig is None:
            return ()
        if link is None:
            raise SignatureError(_THE_LINK, tell("the game was not opened by link"))
        if body.link_sig is None:
            raise SignatureError(_THE_LINK, tell("it is missing, and only somebody who has the link can join the game"))
        sig, namespace = body.link_sig, sshsig.JOIN
    return (SignatureCheck(sig, link, namespace, link_statement(entry, body).message, _THE_LINK),)


_THE_LINK: Final = tell("the link")


def verify_signatures(entry: Entry, sig: bytes, key: PublicKey, body: object, link: PublicKey | None = None) -> None:
    """Verifies all signatures of an entry, as `signature_checks` lists them. Raises `SignatureError`."""
    for check in signature_checks(entry, sig, key, body, link):
        check.verify()


# --- receipts -----------------------------------------------------------------------------------------------------


def require_receipt(line: Line) -> SignedReceipt:
    """The receipt of a line that must have one. "Receipts". Raises `MalformedError`."""
    if line.receipt is None:
        raise MalformedError(tell("line"), tell("it has no receipt"))
    return line.receipt


def verify_receipts_complete(line: Line) -> None:
    """Checks that a line has a receipt where other lines of its file have one. "Files". Raises `MalformedError`."""
    if line.receipt is None:
        raise MalformedError(tell("log"), tell("some entries have a receipt and this one has none"))


def receipt_signature(signed: SignedReceipt, server: PublicKey) -> SignatureCheck:
    """The signature of a receipt: the service's. "Receipts"."""
    return SignatureCheck(signed.sig, server, sshsig.RECEIPT, signed.receipt.message, SERVER_NAME)


def verify_receipt_entry(receipt: Receipt, entry: Entry) -> None:
    """Checks that a receipt is for `entry`. "Receipts". Raises `IllegalError`."""
    if (receipt.game, receipt.seq, receipt.head) != (entry.game, entry.seq, entry.head):
        raise IllegalError(tell("the receipt is for another entry"))


def verify_receipt(signed: SignedReceipt, entry: Entry, server: PublicKey) -> None:
    """Checks that `signed` is the service's receipt for `entry`. Raises `SignatureError` or `IllegalError`."""
    receipt_signature(signed, server).verify()
    verify_receipt_entry(signed.receipt, entry)


def verify_receipt_time(receipt: Receipt, before: Receipt) -> None:
    """Checks that the time of record does not go back from one receipt to a later one. "Receipts".

    Raises `IllegalError`.
    """
    if receipt.at < before.at:
        raise IllegalError(tell("the receipt's time {at} is before {last}", at=receipt.at, last=before.at))


def verify_same_receipt(receipt: Receipt, other: Receipt) -> None:
    """Checks that two receipts for one entry are the same: the service gives one. "Receipts". Raises `IllegalError`."""
    if receipt != other:
        raise IllegalError(tell("the service has given two receipts for entry {seq}", seq=receipt.seq))


# --- heads ------------------------------------------------------------------------------------------------------------

HEAD_SECONDS: Final = 120
"""How many seconds before the time of a head an entry after it may still have been recorded."""


def verify_head_time(head: HeadStatement, seq: int, at: str) -> None:
    """Checks that entry `seq`, recorded at `at`, may follow the last entry that a head names.

    A head says that no later entry has a time of record more than `HEAD_SECONDS` before its own time. "Signed heads".
    Raises `IllegalError`.
    """
    if seq > head.seq and parse_time(head.at) - parse_time(at) > HEAD_SECONDS:
        raise IllegalError(
            tell(
                "it has recorded entry {seq} at {at}, and has signed that entry {last} was the last at {then}",
                seq=seq,
                at=at,
                last=head.seq,
                then=head.at,
            )
        )


# --- commitments --------------------------------------------------------------------------------------------------


def verify_new_salt(opening: Opening, used: set[str]) -> None:
    """Checks that no earlier opening of the game has this salt, and adds it to those `used`.

    A salt that has been opened no longer protects other commitments. "Commitments". Raises `CommitmentError`.
    """
    if opening.salt in used:
        raise CommitmentError(tell("its salt has been used before"), seq=opening.seq, part=opening.part)
    used.add(opening.salt)


def verify_all_opened(closed: Iterable[tuple[int, int]]) -> None:
    """Checks that an `end` leaves no cards face down; `closed` lists the groups that still are, by (seq, part).

    "Audit", step 6. Raises `CommitmentError`.
    """
    for seq, part in closed:
        raise CommitmentError(tell("the end leaves it closed"), seq=seq, part=part)


# --- times --------------------------------------------------------------------------------------------------------


def verify_seen(entry: Entry, at: str | None, seen_before: str | None) -> None:
    """Checks that `seen` is the time of record of the entry before, and does not go back.

    `at` is that time, None if it is not known, and `seen_before` is the `seen` of the entry before. "Time of record".
    Raises `IllegalError`.
    """
    if at is not None and entry.seen != at:
        raise IllegalError(
            tell("it says that the time of record before it is {seen}, and it is {at}", seen=entry.seen, at=at)
        )
    if entry.seen is not None and seen_before is not None and entry.seen < seen_before:
        raise IllegalError(
            tell("the time of record goes back from {before} to {seen}", before=seen_before, seen=entry.seen)
        )


def verify_own_time(entry: Entry, receipt: Receipt | None, *, same: bool) -> None:
    """Checks the time of an entry of the service: it is that of its receipt, and not before `seen`.

    `same` says that the entry belongs to the one before it, so that it has the same time of record. "Time of record".
    Raises `IllegalError`.
    """
    if receipt is not None and entry.at != receipt.at:
        raise IllegalError(tell("the time of its receipt, {at}, is not its own, {own}", at=receipt.at, own=entry.at))
    if entry.seen is not None and (entry.at < entry.seen or (same and entry.at != entry.seen)):
        raise IllegalError(
            tell("its time, {at}, does not fit that of the entry before, {seen}", at=entry.at, seen=entry.seen)
        )


def verify_joined_in_time(expires: str | None, at: str) -> None:
    """Checks that a guest has joined, with the time of record `at`, before the offer expired. Raises `IllegalError`."""
    if expires is not None and at > expires:
        raise IllegalError(tell("the guest joined at {at}, and the offer expired at {expires}", at=at, expires=expires))


def verify_lapse(body: Lapse, at: str, expires: str | None, *, invited: bool) -> None:
    """Checks that an open game has expired before `at`, or that a player was `invited` by name, who may decline.

    "How an open game ends". Raises `IllegalError`.
    """
    if body.reason == LapseReason.EXPIRED and (expires is None or at <= expires):
        raise IllegalError(tell("the offer has not expired at {at}", at=at))
    if body.reason == LapseReason.DECLINED and not invited:
        raise IllegalError(tell("nobody was invited by name, so nobody can decline"))


def verify_over(at: str, deadline: str) -> None:
    """Checks that a timeout comes after the deadline. "Timeouts". Raises `IllegalError`."""
    if at <= deadline:
        raise IllegalError(
            tell("the timeout is of {at}, and there was time until {deadline}", at=at, deadline=deadline)
        )


def verify_in_time(at: str, deadline: str) -> None:
    """Checks that what has the time of record `at` came before the deadline. "Timeouts". Raises `IllegalError`."""
    if at > deadline:
        raise IllegalError(tell("it came at {at}, and there was time until {deadline}", at=at, deadline=deadline))
