"""A mail of the service to itself, sent as letters are, by which its operator learns whether and how mail comes in.

One goes to an address with a token, and one to the bare address, so that a lost delimiter can be told from lost mail.
The door knows them by their tokens, which are kept in the database while they are waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from hkoji.mail.addresses import TOKEN_LETTERS, OwnAddress
from hkoji.mail.letters import compose
from hkoji.mail.letters.composing import LetterHeaders
from hkoji.mail.letters.page import Letter
from hkoji.mail.mail import read_mail
from hkoji.mail.tokens import token_digest
from hkoji_server.mail.courier import LetterTaker, SmtpRefusal
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import ProbeMail

_EVENT: Final = "probe"
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
_PACE: Final = 0.25
"""The seconds between two looks."""
_AFTER_THE_OTHER: Final = 10.0
"""For how many seconds the second of two is waited for when the first has come."""
_TEXT: Final = """\
The operator of this service is looking whether mail comes in. Nobody
needs to answer.
"""


@dataclass(slots=True)
class Probe:
    """A mail that was sent to the address `to`. `came` is what came in, `refused` what the mail server answered."""

    to: str
    token: str
    came: ProbeMail | None = None
    refused: str | None = None

    @property
    def bounced(self) -> str | None:
        """The status of the report that came instead; None if none has come."""
        bounce = None if self.came is None else read_mail(self.came.raw).bounce
        return None if bounce is None else bounce.status

    @property
    def arrived(self) -> ProbeMail | None:
        """The mail that came in, unless it was a report."""
        return None if self.bounced is not None else self.came

    @property
    def over(self) -> bool:
        """Whether nothing more is waited for."""
        return self.came is not None or self.refused is not None

    def keeps_token(self, own: OwnAddress) -> bool:
        """Whether an answer to a letter that came as this mail would be known by its token.

        It is if the recipient with which the mail came in still has it, or without a delimiter the Message-ID.
        """
        mail = self.arrived
        if mail is None:
            return False
        header = read_mail(mail.raw).header
        if not own.delimiter:
            found = [own.find_in_id(header.message_id or "")]
        else:
            recipients = (mail.recipient, header.delivered_to, header.x_original_to)
            found = [own.find_in_address(each) for each in recipients if each is not None]
        return any(each is not None and each.token == self.token for each in found)


async def send_probes(
    store: Store,
    sources: ClockAndEntropy,
    submission: LetterTaker,
    own: OwnAddress,
    origin: str,
    *,
    patience: float,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[Probe]:
    """Sends the mails, and waits `patience` seconds for them. The last is to the bare address.

    Raises what `LetterTaker.submit` raises if the mail server takes no mail at all, `StorageError`.
    """
    at = sources.at()
    probes = [Probe(to, _token(sources)) for to in ("", own.mailbox) if to or own.delimiter]
    digests = [token_digest(probe.token) for probe in probes]
    try:
        for probe, digest in zip(probes, digests, strict=True):
            probe.to = probe.to or own.with_token(probe.token)
            await store.add_probe(digest, at)
            try:
                await submission.submit(own.bounce(probe.token), probe.to, _letter(probe, own, origin, at))
            except SmtpRefusal as refusal:
                if not refusal.of_recipient:
                    raise
                probe.refused = str(refusal)
        began, first = sources.elapsed(), None
        while probes[0].arrived is None and not all(probe.over for probe in probes):
            elapsed = sources.elapsed()
            if elapsed - began > patience or (first is not None and elapsed - first > _AFTER_THE_OTHER):
                break
            await pause(_PACE)
            for probe, digest in zip(probes, digests, strict=True):
                probe.came = probe.came or await store.probe(digest)
            if first is None and any(probe.came for probe in probes):
                first = sources.elapsed()
    finally:
        await store.remove_probes(digests)
    return probes


def _token(sources: ClockAndEntropy) -> str:
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in sources.entropy(TOKEN_LETTERS))


def _letter(probe: Probe, own: OwnAddress, origin: str, at: str) -> bytes:
    """Returns a mail with all the fields that letters have, so that it is signed as they are."""
    tagged = own.with_token(probe.token)
    headers = LetterHeaders(
        to=probe.to,
        sender=own.mailbox,
        reply_to=tagged,
        message_id=own.message_id(_EVENT, 0, probe.token),
        at=at,
        event=_EVENT,
        stop_url=f"{origin}/v1/mail/stop/{probe.token}",
        stop_address=tagged,
        in_reply_to=own.message_id(_EVENT, 1, probe.token),
    )
    return compose(Letter("hkoji: does mail come in?", _TEXT), headers)
