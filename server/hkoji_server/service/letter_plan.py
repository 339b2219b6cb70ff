"""What a courier of letters needs: what a letter says, in which language, from whom and to whom."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.mail.letters.composing import LetterHeaders
from hkoji.mail.letters.facts import Facts


class LetterPlan(NamedTuple):
    """A letter that is to be sent now (`hkoji_server.service.letter_facts`).

    `facts`, and a speaker of `language`, are for `write_letter`, and `headers` for `compose`. `envelope` is the address
    that bounces go to. The one recipient is `headers.to`.
    """

    facts: Facts
    language: str
    headers: LetterHeaders
    envelope: str
