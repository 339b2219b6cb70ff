"""The part of the store's contract that is about play by mail: mailboxes, held keys, tokens, and mails that have come.

The values that its methods take and return are in `mail_values`.

- *What `add_incoming` has returned is on disk*, and stays there until it is closed or the operator removes it. The same
  mail is kept once. Of the mails of one name with one Message-ID only the first is kept, for ever. And of those that
  have the same signed text (`note_signed`) only the first is obeyed.
- *A mail is closed together with its answers.* So after a crash it is either processed again or has been answered.
- *An append that a mail has led to needs the mail* (`Append.mail`): in its transaction the mail is still `new`. So
  what was set aside, and no longer holds up timeouts and heads, does not get into a log with its early time.
- *Nothing old is kept late*: as of a decision, the time of a mail is at most `OLDEST` seconds old when it is kept.
- *A mailbox belongs to one address, and a name to one player.* The name of an invited mailbox is reserved while its
  invitation stands: nobody else can register it.

Times are texts of the log. Addresses are compared in lower case.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from hkoji_server.store.mail_values import (
    SET_ASIDE,
    AskedMailbox,
    HeldRegistration,
    ImapPlace,
    IncomingMail,
    KeptCertificate,
    KeptHeldKey,
    KeptMail,
    KeyCode,
    Mailbox,
    MailboxMove,
    MailDraft,
    MailEvidence,
    MailQueue,
    NewAnswer,
    NewMail,
    NewMailbox,
    ProbeMail,
    ReplyToken,
    WaitingMail,
)
from hkoji_server.store.time_contract import BeatStore


class ArrivalStore(BeatStore, Protocol):
    """The methods of a store by which a mail comes in."""

    async def reply(self, digest: str) -> ReplyToken | None:
        """Returns what is known of a token."""

    async def mailbox_at(self, address: str) -> Mailbox | None:
        """Returns the mailbox with an address, in any case of its letters."""

    async def add_incoming(self, new: NewMail) -> KeptMail:
        """Keeps a mail, once. Raises `StaleDecisionError` if it was received too long ago, or another outage is known.

        Then nothing has changed, and the caller reads clock and outages again.
        """

    async def note_bounce(self, channel: str, digest: str, at: str, *, since: str, enough: int) -> bool:
        """Notes that a letter to a mailbox did not arrive, once for each `digest`.

        If that makes `enough` since that time, the letters of the mailbox are `paused` from `at` on, and earlier ones
        no longer count. Returns whether this has paused them.
        """

    async def take_probe(self, digest: str, mail: ProbeMail) -> bool:
        """Keeps a mail of the service to itself, the first that comes. `digest` is that of its token.

        Returns False, and keeps nothing, if nobody waits for it.
        """


class MailStore(ArrivalStore, Protocol):
    """The methods of a store that are about play by mail."""

    async def mail_secret(self) -> str:
        """Returns the 64 hex digits from which tokens are made. They are made when they are first asked for."""

    # --- mailboxes and held keys ----------------------------------------------------------------------------------

    async def invite_mailbox(self, new: NewMailbox) -> KeptCertificate:
        """Adds an invited mailbox, or gives an earlier one with this address its new name, key and certificate.

        Reserves the name. The same invitation by the same player, for which no game is open, changes nothing; returns
        the certificate that it has already. Without a game the operator's has a row `invited` of the outbox.

        Changes nothing but the number of the player's attempts if it raises: `ExistsError` if the name is a player's or
        reserved; `TooManyError` if the player has tried to invite `MOST_INVITED_A_DAY`; `ForbiddenError`, always the
        same, if the mailbox plays here, is blocked, has an open invitation, or left `MOST_UNANSWERED` unanswered.
        """

    async def ask_mailbox(self, new: AskedMailbox) -> Mailbox:
        """Adds a mailbox in state `asked`, and a row `confirm` of the outbox. Returns it.

        If its owner is asked the same for this name already, since less than a day, nothing changes, and the earlier
        mailbox is returned. Another mailbox of this name whose owner is asked the same makes way. Raises what
        `invite_mailbox` raises, `ExistsError` only if a name is asked for (`REGISTERS`).
        """

    async def own_mailbox(self, name: str) -> Mailbox | None:
        """Returns the mailbox of a player, also while its owner is `asked`, if it is not in use yet."""

    async def mailbox(self, channel: str) -> Mailbox | None:
        """Returns a mailbox by the id of its channel."""

    async def mailbox_of(self, name: str, now: str) -> Mailbox | None:
        """Returns the mailbox of a mail player, or of whoever is invited under that name now."""

    async def mailbox_of_key(self, key: str) -> Mailbox | None:
        """Returns the mailbox for whose letters a held key is used, also an earlier key of it."""

    async def may_invite(self, name: str, host: str, now: str) -> bool:
        """Returns whether `host` may open a game for the player `name`: not if somebody else has reserved the name, or
        a game has been opened with that invitation."""

    async def accept_mailbox(self, channel: str, registration: HeldRegistration) -> None:
        """Registers the owner of an invited mailbox under its held key, and makes it `active`, in one transaction.

        If it is `active` already, under that key, nothing changes. Changes nothing if it raises: `NotFoundError` for
        another mailbox, `ForbiddenError` in any other state or for another name or key, `ExistsError` if the name or
        the key is a player's.
        """

    async def note_answered(self, channel: str, at: str) -> None:
        """Notes that the owner of an invited mailbox has answered: its invitation stands no longer, and the name is
        free, unless the owner has accepted. None of the mailbox's invitations counts as unanswered any more."""

    async def change_mailbox(self, mailbox: Mailbox, was: Mailbox | None = None, *, letter: str | None = None) -> bool:
        """Replaces what is kept of a mailbox, by its channel, and the events of its channel as its state demands.

        With `was`, from which `mailbox` was made, only what differs is replaced, and a state that has been changed
        since then stays. When it is locked, or gets another address, the code that a letter has brought to it is void.
        With `letter`, a letter of that event to it is written, without a game and with the time of its state as `seq`.
        Returns False if there is no such mailbox.
        """

    async def erase_mailbox(self, channel: str) -> bool:
        """Removes a mailbox with its channel, letters, tokens, mails and evidence; held keys and certificates stay.

        The salts of its certificates and the address they commit to go. Returns False if there is none.
        """

    async def held_key(self, key: str) -> KeptHeldKey | None:
        """Returns a held key by its public text."""

    async def held_keys(self, name: str, address: str) -> tuple[str, ...]:
        """Returns the public texts of all keys that the service holds for a name, certified for a mailbox."""

    async def add_held_key(self, held: KeptHeldKey, certificate: KeptCertificate) -> None:
        """Keeps another held key and its certificate."""

    async def certificates(self, key: str) -> tuple[KeptCertificate, ...]:
        """Returns the certificates of a held key, the newest first."""

    # --- tokens ---------------------------------------------------------------------------------------------------

    async def add_reply(self, reply: ReplyToken) -> None:
        """Keeps a token that goes out with a letter. Of a known one only `made` changes, if it is later."""

    async def change_reply(self, reply: ReplyToken, was: str | None = None) -> bool:
        """Replaces `expires`, `spent` and `answers` of a token. Returns False if it is not known.

        With `was`, only as long as that is its `answers`; otherwise nothing is changed, and it returns False.
        """

    async def spend_replies(self, channel: str, game: str, now: str, *, until: str) -> None:
        """Notes that the tokens of a game that went to a mailbox are no longer good, because the game is over.

        Those of the purpose `game` are good `until` then, unless that was noted before.
        """

    # --- mails that have come -------------------------------------------------------------------------------------

    async def incoming(self, number: int) -> IncomingMail | None:
        """Returns a mail by its number."""

    async def waiting_mails(self, limit: int) -> tuple[WaitingMail, ...]:
        """Returns the mails that are to be processed now: of each name the oldest, those that came first first."""

    async def oldest_unprocessed_mail(self) -> str | None:
        """Returns when the oldest mail came that is still to be processed; None if there is none."""

    async def note_signed(self, number: int, signed: str) -> bool:
        """Notes by what a mail is known that is sent again, as `hkoji.mail.dkim_rules.signed_id` has it.

        Returns False, and notes nothing, if another mail of the same name is known by it.
        """

    async def count_try(self, number: int, now: str) -> int:
        """Notes that a mail is being processed, before that is done. Returns how often that was so, with this time."""

    async def set_aside(self, number: int, result: str = SET_ASIDE, answers: Sequence[NewAnswer] = ()) -> bool:
        """Sets a `new` mail aside, if no append that needs it is under way, or when that has ended.

        Returns False, and changes nothing, if it is not `new`.
        """

    async def close_incoming(
        self,
        number: int,
        result: str,
        *,
        answers: Sequence[NewAnswer] = (),
        replies: Sequence[ReplyToken] = (),
        mailbox: Mailbox | None = None,
        was: Mailbox | None = None,
        move: MailboxMove | None = None,
        code: KeyCode | None = None,
    ) -> bool:
        """Closes a `new` mail in one transaction: its bytes go, and its answers are written into the outbox.

        A `code` is kept as by `add_code`, but only for a player whose valid key the service holds.
        Of `replies` that are known, `expires`, `spent` and `answers` are replaced, and the others are added. A
        `mailbox` is changed as by `change_mailbox`, which gets `was`. With `move`, another mailbox gets its address
        first. Returns False, and changes nothing, if the mail is not `new`. Raises `StaleDecisionError` if what `move`
        names cannot be moved any more.
        """

    # --- letters --------------------------------------------------------------------------------------------------

    async def drop_waiting(self, game: str, event: str, channel: str) -> int:
        """Deletes the notices of one event of a game to a channel that were not sent. Returns how many there were."""

    async def count_letter(
        self, channel: str, now: str, *, per_day: int, per_hour: int
    ) -> Literal["counted", "day", "hour"]:
        """Counts a letter to a mailbox; counts nothing if that would be one too many of the day or the hour.

        `per_day` letters a UTC day go to one mailbox, and `per_hour` an hour to all together. Returns which it is.
        """

    async def mail_queue(self, now: str) -> MailQueue:
        """Returns what waits. Letters that are to be sent later than `now`, such as reminders, do not."""

    # --- mails of the service to itself -------------------------------------------------------------------------------

    async def add_probe(self, digest: str, at: str) -> None:
        """Begins to wait for a mail of the service to itself. Others that were waited for an hour ago are forgotten."""

    async def probe(self, digest: str) -> ProbeMail | None:
        """Returns a mail of the service to itself; None as long as it has not come."""

    async def remove_probes(self, digests: Collection[str]) -> None:
        """Waits for these mails no longer, and forgets what has come."""

    # --- a mailbox that is read by IMAP -------------------------------------------------------------------------------

    async def imap_place(self, mailbox: str) -> ImapPlace | None:
        """Returns up to which mail a mailbox has been read; None if it never was."""

    async def keep_imap_place(self, mailbox: str, place: ImapPlace) -> None:
        """Notes up to which mail a mailbox has been read, in the place of what was noted."""

    # --- drafts and evidence --------------------------------------------------------------------------------------

    async def add_draft(self, draft: MailDraft, evidence: MailEvidence | None = None) -> MailDraft:
        """Keeps a draft, and in the same transaction the mail that it commits to.

        Returns it, or the draft that is kept for this game and source already; then nothing is kept.
        """

    async def drafts(self, game: str) -> tuple[MailDraft, ...]:
        """Returns the drafts of a game."""

    async def drafts_with_entropy(self, after: tuple[str, str], limit: int) -> tuple[MailDraft, ...]:
        """Returns drafts that have entropy, in order of game and source, beginning after that game and source."""

    async def forget_entropy(self, game: str, source: str) -> None:
        """Forgets the entropy of a draft, because its `seed` is on record or never will be."""

    async def drop_draft(self, game: str, source: str, submission: str, commit: str, *, closed: bool = False) -> None:
        """Removes a draft and its evidence, unless another process has put another submission in its place.

        With `closed`, only if its mail is not being processed any more.
        """

    async def remove_drafts(self, game: str, sources: Collection[str]) -> None:
        """Removes drafts whose entries are on record, and with them their entropy."""

    async def evidence(self, game: str, name: str) -> tuple[MailEvidence, ...]:
        """Returns the mails of a player that are kept as evidence for a game, by the commitments."""

    # --- what is no longer needed ---------------------------------------------------------------------------------

    async def remove_old_mail(self, now: str, *, spent_before: str, ended_before: str, most: int) -> int:
        """Removes what is over, at most `most` rows of each kind, and returns how many rows.

        Tokens that are spent or have expired before `spent_before`; drafts of games that are over; evidence for games
        that ended before `ended_before`; counts of letters of earlier days; invited mailboxes whose invitation stands
        no longer and is too old to count.
        """
