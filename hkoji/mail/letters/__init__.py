"""Letters: what the service writes to players who play by mail, as text and as bytes. No I/O, no clock.

Each kind of letter is a class: its fields are what the letter says, and `draft` says it. The caller has read everything
from the log, the mailbox and the clock. `write_letter` gives the text in a language, and `compose` the message with its
header fields.
"""

from hkoji.mail.letters.composing import Facts, LetterHeaders, compose, write_letter
from hkoji.mail.letters.page import Attachment, Letter

__all__ = ["Attachment", "Facts", "Letter", "LetterHeaders", "compose", "write_letter"]
