"""Letters: what the service writes to players who play by mail, as text and as bytes. No I/O, no clock.

`write_letter` gives the text of `facts` in a language, and `compose` the message with its header fields.
"""

from hkoji.mail.letters.composing import LetterHeaders, compose
from hkoji.mail.letters.facts import Facts
from hkoji.mail.letters.page import Attachment, Letter
from hkoji.mail.letters.writing import write_letter

__all__ = ["Attachment", "Facts", "Letter", "LetterHeaders", "compose", "write_letter"]
