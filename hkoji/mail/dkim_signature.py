"""DKIM-Signature fields and the keys for them: lists of tags (RFC 6376, 3.2), and which of them could count at all.

docs/spec/mails.md, "DKIM". Whatever needs neither time nor token nor cryptography is decided here. Every function takes
time linear in what it reads.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

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
