"""The rules by which a DKIM signature (RFC 6376) proves who has sent a mail, and to which letter.

docs/spec/mails.md, "DKIM". Everything follows from the mail, the DNS answers, the time T and the token: an audit that
is given them judges as the service did. dkimpy hashes, and verifies signatures; which ones count is decided here. Its
input is bounded first, so that no mail and no answer takes it long. The checks that need neither time nor token nor
cryptography come first, and take time linear in what is read.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

from hkoji.errors import UnreadableMailError, UsageError
from hkoji.extras import install_command
from hkoji.game.agreement import DAY
from hkoji.game.clock import parse_time
from hkoji.mail.dns_answers import DnsAnswers
from hkoji.mail.fields import NO_FIELD, read_media_type, split_header, with_newlines
from hkoji.mail.mail import Mail
from hkoji.messages.text import Text, tell

MOST_NAMES: Final = 100
"""How many names h= may have."""
ALGORITHMS: Final = {b"rsa-sha256": b"rsa", b"ed25519-sha256": b"ed25519"}
"""The algorithms that count, and the type of key that each needs."""

_TAG = re.compile(rb"[A-Za-z][A-Za-z0-9_]*")
_VALUE = re.compile(rb"(?:[\t -~]*\r\n)+")
_FOLDED_TWICE = re.compile(rb"\r\n[ \t]*\r\n")
_SPACE: Final = b" \t\r\n"
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
_LABEL: Final = rb"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rb"%b(?:\.%b)*" % (_LABEL, _LABEL))
_SECONDS = re.compile(rb"[0-9]{1,12}")
_CANONICAL = re.compile(rb"(?:simple|relaxed)(?:/(?:simple|relaxed))?")
_FIELD_NAME = re.compile(rb"[!-9<-~]+")
_LONGEST_NAME: Final = 253
_SIGNATURE: Final = "dkim-signature"
_MUST_BE_SIGNED: Final = frozenset({"from", "subject", "date"})


class MailSignature(NamedTuple):
    """A DKIM-Signature field that could count.

    `field` is its name and its value as they stand in the mail, with CRLF and folded. `tags` are without the spaces
    around values and in base64. `domain` is d=, `key_name` where its key is in DNS, `signed` h= in lower case; `made`
    and `expires` are t= and x=, seconds since 1970.
    """

    field: tuple[bytes, bytes]
    tags: dict[bytes, bytes]
    domain: str
    key_name: str
    signed: tuple[str, ...]
    made: int | None
    expires: int | None

    @property
    def body_relaxed(self) -> bool:
        """Whether spaces in the body count as one."""
        return self.tags.get(b"c", b"").endswith(b"/relaxed")


def read_tags(text: bytes) -> dict[bytes, bytes] | None:
    """Returns the tags of a list, with spaces around values removed; None if it is no such list."""
    tags: dict[bytes, bytes] = {}
    *before, last = text.split(b";")
    for part in (*before, last) if last.strip(_SPACE) else before:
        name, equals, value = part.partition(b"=")
        name = name.strip(_SPACE)
        if not equals or not _TAG.fullmatch(name) or name in tags:
            return None
        tags[name] = value.strip(_SPACE)
    return tags


def read_signature(name: bytes, value: bytes, sender_domain: str) -> MailSignature | None:
    """Returns the signature in a DKIM-Signature field; None if it could not count for mails from that domain.

    `value` is as it stands in the mail, with CRLF at the end of each of its lines.
    """
    # White space with several line ends in it is obsolete, and would take dkimpy long.
    if not _VALUE.fullmatch(value) or _FOLDED_TWICE.search(value):
        return None
    tags = read_tags(value)
    if tags is None or not {b"v", b"a", b"b", b"bh", b"d", b"h", b"s"} <= tags.keys():
        return None
    for each in (b"b", b"bh", b"h"):
        tags[each] = tags[each].translate(None, _SPACE)
    domain, selector = tags[b"d"].lower(), tags[b"s"].lower()
    key_name = selector + b"._domainkey." + domain
    names = tags[b"h"].lower().split(b":")
    if (
        tags[b"v"] != b"1"
        or tags[b"a"] not in ALGORITHMS
        or b"l" in tags
        or tags.get(b"q", b"dns/txt") != b"dns/txt"
        or not _CANONICAL.fullmatch(tags.get(b"c", b"simple/simple"))
        or not _is_base64(tags[b"b"])
        or not _is_base64(tags[b"bh"])
        or not all(_SECONDS.fullmatch(tags[each]) for each in (b"t", b"x") if each in tags)
        or not _HOST.fullmatch(domain)
        or not _HOST.fullmatch(selector)
        or len(key_name) > _LONGEST_NAME
        or len(names) > MOST_NAMES
        or not all(_FIELD_NAME.fullmatch(each) for each in names)
    ):
        return None
    signed = tuple(each.decode("ascii") for each in names)
    made, expires = (int(tags[each]) if each in tags else None for each in (b"t", b"x"))
    if made is not None and expires is not None and expires < made:
        return None
    if not signed_for(domain.decode("ascii"), sender_domain) or not set(signed) >= _MUST_BE_SIGNED:
        return None
    if not _identity_fits(tags.get(b"i"), domain):
        return None
    return MailSignature((name, value), tags, domain.decode("ascii"), key_name.decode("ascii"), signed, made, expires)


def signed_for(domain: str, sender_domain: str) -> bool:
    """Tells whether a domain may sign for mails from `sender_domain`: it is that domain, or a parent of it."""
    return sender_domain == domain or sender_domain.endswith("." + domain)


def key_tags(record: bytes, signature: MailSignature) -> dict[bytes, bytes] | None:
    """Returns the tags of a key in DNS (RFC 6376, 3.6.1); None if it is not one for this signature."""
    tags = read_tags(record)
    if tags is None or (b"v" in tags and (tags[b"v"] != b"DKIM1" or next(iter(tags)) != b"v")):
        return None
    identity = signature.tags.get(b"i", b"@" + signature.domain.encode("ascii")).lower()
    if (
        tags.get(b"k", b"rsa") != ALGORITHMS[signature.tags[b"a"]]
        or not _is_base64(tags.get(b"p", b"").translate(None, _SPACE))
        or (b"h" in tags and b"sha256" not in _listed(tags[b"h"]))
        or not {b"*", b"email"} & _listed(tags.get(b"s", b"*"))
        or (b"s" in _listed(tags.get(b"t", b"")) and identity.rpartition(b"@")[2] != signature.domain.encode("ascii"))
    ):
        return None
    return tags


def is_for_tests(tags: dict[bytes, bytes]) -> bool:
    """Tells whether a key says that its domain is only testing: t=y."""
    return b"y" in _listed(tags.get(b"t", b""))


def _listed(value: bytes) -> set[bytes]:
    return {each.strip(_SPACE) for each in value.split(b":")}


def _identity_fits(identity: bytes | None, domain: bytes) -> bool:
    if identity is None:
        return True
    host = identity.lower().rpartition(b"@")
    return host[1] == b"@" and (host[2] == domain or host[2].endswith(b"." + domain))


def _is_base64(value: bytes) -> bool:
    return len(value) % 4 == 0 and _BASE64.fullmatch(value) is not None


MOST_TRIED: Final = 3
"""How many signatures of a mail are tried."""
LONGEST_RECORD: Final = 4096
"""Bytes of a TXT record that is read."""
SMALLEST_RSA: Final = 1024
LARGEST_RSA: Final = 4096
"""Bits of an RSA key."""
_LARGEST_EXPONENT: Final = 2**32
LATEST_SIGNED: Final = 3600
"""How many seconds after T a signature may say that it was made."""
EARLIEST_SIGNED: Final = 30 * DAY
"""How many seconds before T a signature may say that it was made."""
_EPOCH: Final = parse_time("1970-01-01T00:00:00Z")

READ_ONCE: Final = (
    "from",
    "subject",
    "date",
    "message-id",
    "to",
    "cc",
    "in-reply-to",
    "references",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
)
"""The fields that a mail may have once. A second one could be read in place of the one that was signed."""
_MOST_FIELDS: Final = 500

_TOKEN = re.compile(r"(?<![a-z2-7])([a-z2-7]{26})@", re.IGNORECASE)
_SPACES = re.compile(rb"[ \t]+")
_BOUNDARY_LINE = re.compile(rb"^--(.*)$", re.MULTILINE)

_NONE: Final = tell("it has no DKIM signature of the domain of its From that could count")
_TWICE: Final = tell("a header field that is read stands in it twice")
_FIELDS: Final = tell("it has too many header fields")
_OPEN_TYPE: Final = tell("its Content-Type is not signed, and could be another one")
_NOT_BOUND: Final = tell("it is not bound to the token of this letter")
_EARLY: Final = tell("the signature was made long before the mail came")
_LATE: Final = tell("the signature is said to be from the future")
_EXPIRED: Final = tell("the signature had expired when the mail came")
_NO_RECORD: Final = tell("DNS has no key for the signature")
_RECORDS: Final = tell("DNS has several records for the key of the signature")
_BAD_KEY: Final = tell("the key in DNS is not one that counts")
_TEST: Final = tell("the key in DNS is only for tests")
_FALSE: Final = tell("the signature does not hold")
_SILENT: Final = logging.Logger("dkim", logging.CRITICAL + 1)
"""dkimpy logs what mails and answers say, which anybody may have written."""


class DkimVerdict(NamedTuple):
    """Whether a DKIM signature holds and is bound to the token; `domain` is its d=, and `reason` why none does."""

    holds: bool
    domain: str | None = None
    reason: Text | None = None


def load_dkimpy() -> Any:  # Any: it has no types
    """Returns dkimpy. Raises `UsageError` if it, or what it verifies Ed25519 with, is not installed."""
    try:
        import dkim  # it loads all of DNS, and is installed only where mail is played
        import nacl.signing  # noqa: F401 # without it dkimpy would say that good signatures do not hold
    except ModuleNotFoundError as error:
        raise UsageError(
            tell("DKIM signatures are verified with the package {name}, which is not installed", name=error.name),
            hint=tell("install it with: {command}", command=install_command("mail")),
        ) from error
    return dkim


def key_names(mail: Mail) -> tuple[str, ...]:
    """Returns the names whose TXT records a verdict about a mail needs, each once; none if no signature could count."""
    return tuple(dict.fromkeys(each.key_name for each in signatures_of(mail)))


def signatures_of(mail: Mail) -> tuple[MailSignature, ...]:
    """Returns the signatures of a mail that could count; none if it cannot be read."""
    if all(field.name != _SIGNATURE for field in mail.fields):
        return ()
    try:
        return tuple(_read(mail).signatures)
    except UnreadableMailError:
        return ()


def judge_dkim(mail: Mail, answers: DnsAnswers, *, at: str | None, token: str | None) -> DkimVerdict:
    """Returns whether a mail has a DKIM signature that holds, is of the domain of its From, and is bound to `token`.

    `at` is T, as a time of the log; None if nobody knows it: then t= and x= are not judged. `token` is None for a
    mail that answers no letter. A mail that cannot be read has no signature that holds. Raises `UsageError` if dkimpy
    is not installed.
    """
    now = None if at is None else parse_time(at) - _EPOCH
    reason, domain = _NONE, None
    try:
        signed = _read(mail)
        for each in signed.signatures:
            fault = signed.fault_of(each, answers, now, token)
            if fault is None:
                return DkimVerdict(holds=True, domain=each.domain)
            reason, domain = fault, each.domain
    except UnreadableMailError as error:
        return DkimVerdict(holds=False, reason=error.reason)
    return DkimVerdict(holds=False, domain=domain, reason=reason)


def signed_id(mail: Mail, token: str) -> str:
    """Returns by what a mail to `token` is known that is sent again: 64 hex digits.

    Not every provider signs the Message-ID. Of two mails that differ in this, a signature that counts for one does
    not hold for the other, whatever `h=` and `c=` of it are. Raises `UnreadableMailError`.
    """
    signed = _read(mail)
    date = _SPACES.sub(b" ", b"\n".join(field.value for field in mail.fields if field.name == "date"))
    # As `relaxed` has it: `simple` lets nobody change more.
    lines = b"\n".join(_SPACES.sub(b" ", line).rstrip(b" ") for line in signed.body.split(b"\n")).rstrip(b"\n")
    text = b"\n".join((b"hkoji.signed.v1", token.lower().encode(), date, sha256(lines).hexdigest().encode(), b""))
    return sha256(text).hexdigest()


@lru_cache(maxsize=8)
def _read(mail: Mail) -> _Signed:
    """Returns what is read of a mail's signatures once for all that is asked about them."""
    return _Signed(mail)


class _Signed:
    """A mail, with the signatures that are tried. Raises `UnreadableMailError` if none of them could count."""

    def __init__(self, mail: Mail) -> None:
        if mail.fault is not None:
            raise UnreadableMailError(mail.fault)
        self._mail = mail
        self._written, self.body = split_header(with_newlines(mail.raw))
        if not self._is_as_written():
            raise UnreadableMailError(NO_FIELD)
        if len(mail.fields) > _MOST_FIELDS:
            raise UnreadableMailError(_FIELDS)
        names = [field.name for field in mail.fields]
        if any(names.count(name) > 1 for name in READ_ONCE):
            raise UnreadableMailError(_TWICE)
        self.signatures = self._read_signatures()

    def _is_as_written(self) -> bool:
        """Tells whether the header was read without a repair: what would be repaired is not what was signed."""
        fields = self._mail.fields
        unspaced = all(field.written.startswith(b":", len(field.name)) for field in fields)
        return unspaced and b"\n".join(field.written for field in fields) == self._written.removesuffix(b"\n")

    def _read_signatures(self) -> list[MailSignature]:
        sender = self._mail.header.sender
        if sender is None:
            return []
        domain = sender.rpartition("@")[2]
        fields = (each.written.partition(b":") for each in self._mail.fields if each.name == _SIGNATURE)
        found = (read_signature(name, value.replace(b"\n", b"\r\n") + b"\r\n", domain) for name, _, value in fields)
        return [each for each in found if each is not None][:MOST_TRIED]

    def fault_of(
        self, signature: MailSignature, answers: DnsAnswers, now: int | None, token: str | None
    ) -> Text | None:
        """Returns why a signature does not count; None if it does. `now` is T in seconds since 1970."""
        if token is not None and not self._is_bound(signature, token.lower()):
            return _NOT_BOUND
        if "content-type" not in signature.signed and not self._type_is_clear():
            return _OPEN_TYPE
        if now is not None:
            if signature.made is not None and signature.made > now + LATEST_SIGNED:
                return _LATE
            if signature.made is not None and signature.made < now - EARLIEST_SIGNED:
                return _EARLY
            if signature.expires is not None and signature.expires < now:
                return _EXPIRED
        records = answers.get(signature.key_name, ())
        if len(records) != 1:
            return _RECORDS if records else _NO_RECORD
        tags = None if len(records[0]) > LONGEST_RECORD else key_tags(records[0], signature)
        if tags is None:
            return _BAD_KEY
        if is_for_tests(tags):
            return _TEST
        return self._verify(signature, records[0])

    def _is_bound(self, signature: MailSignature, token: str) -> bool:
        header = self._mail.header
        places = (
            ("to", header.to),
            ("in-reply-to", (header.in_reply_to,)),
            ("references", (header.last_reference,)),
        )
        for name, texts in places:
            if name not in signature.signed:
                continue
            found = next((token for text in texts if text for token in _TOKEN.findall(text)), None)
            if found is not None:
                return bool(found.lower() == token)
        return False

    def _type_is_clear(self) -> bool:
        declared = next((field for field in self._mail.fields if field.name == "content-type"), None)
        kind = read_media_type(declared)
        if declared is None or (kind is not None and kind.name == "text/plain"):
            return True
        if kind is None or not kind.name.startswith("multipart/"):
            return False
        first = _BOUNDARY_LINE.search(self.body)
        boundary = kind.parameter("boundary")
        return first is not None and boundary is not None and first[1].rstrip(b" \t") == boundary.encode("utf-8")

    def _verify(self, signature: MailSignature, record: bytes) -> Text | None:
        """Returns why a signature does not hold by the key in a record; None if it does."""
        dkim = load_dkimpy()
        try:
            key, bits, kind, _ = dkim.evaluate_pk(signature.key_name.encode("ascii"), record)
            if kind == b"rsa" and not _is_sound(key, bits):
                return _BAD_KEY
            verifier = dkim.DKIM(self._for_dkimpy(signature), logger=_SILENT, minkey=SMALLEST_RSA)
            held = verifier.verify_sig(
                dict(signature.tags),
                [name.encode("ascii") for name in signature.signed],
                signature.field,
                lambda *_, **__: record,
            )
        except MemoryError:  # that says nothing about the signature
            raise
        except Exception:  # it raises whatever its libraries raise; a signature that it cannot verify does not hold
            return _FALSE
        return None if held is True else _FALSE

    def _for_dkimpy(self, signature: MailSignature) -> bytes:
        # They are made one in any case; but dkimpy looks at each of many spaces in a row again and again.
        body = _SPACES.sub(b" ", self.body) if signature.body_relaxed else self.body
        return (self._written + b"\n\n" + body).replace(b"\n", b"\r\n")


def _is_sound(key: Any, bits: int) -> bool:  # Any: dkimpy has no types
    exponent = key["publicExponent"]
    return SMALLEST_RSA <= bits <= LARGEST_RSA and 3 <= exponent < _LARGEST_EXPONENT and exponent % 2 == 1
