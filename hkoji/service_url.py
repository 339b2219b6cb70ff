"""The rule for the address of a service: players' programs and the service itself check it by this one."""

from __future__ import annotations

import re
from typing import Final

from hkoji.errors import UsageError
from hkoji.messages.text import Text, tell

PORTS: Final = {"http": 80, "https": 443}
"""The usual ports."""
OWN_HOSTS: Final = re.compile(r"localhost|::1|127(?:\.[0-9]{1,3}){3}")
"""The hosts that are this machine."""
_LONGEST: Final = 256
"""The longest origin that a statement can contain."""
_URL: Final = re.compile(
    r"(https?)://(?:\[([0-9a-f:.]+)(%[\w.~-]+)?\]|([^/?#@:\[\]]+))(?::0*([0-9]{1,5}))?(/(?:(?![?#])[!-~])*)?",
    re.ASCII | re.IGNORECASE,
)
_HOST: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*", re.ASCII | re.IGNORECASE)
_LONGEST_HOST: Final = 253
_FORM: Final = tell(
    "an address looks like https://hanamikoji.example, or with a port from 1 to 65535, like "
    "https://hanamikoji.example:8443; it has at most {most} characters",
    most=_LONGEST,
)
_NO_HOST: Final = tell(
    "no host can have this name: a name has at most {most} characters, and each part between its dots has 1 to 63 of "
    "a-z, 0-9, - and _",
    most=_LONGEST_HOST,
)


def parse_url(text: str) -> str:
    """Returns a server's URL in canonical form: scheme, host in lower case, port if it is not the usual one, path.

    Raises `UsageError` for anything but an http or https URL without user, query and fragment. Its hint says what is
    right. A colon after the host needs a port, and nobody can be reached at port 0.
    """
    return "".join(_split(text))


def parse_origin(text: str) -> str:
    """Returns the address of a service's own in the form of `parse_url`, which players sign. Raises `UsageError` too.

    It has no path, because a service answers at its root. Players may reach it by a proxy that adds one.
    """
    url, path = _split(text)
    if path:
        raise _refusal(text, tell("it has no path, because a service answers at its root: give {url}", url=url))
    return url


def _split(text: str) -> tuple[str, str]:
    """Returns an address up to its path, and its path without a slash at the end."""
    found = _URL.fullmatch(text)
    if found is None:
        raise _refusal(text, _FORM)
    scheme, six, zone, host, port, path = found.groups("")
    if host and not is_host(host):
        raise _refusal(text, _NO_HOST)
    scheme, number = scheme.lower(), int(port or PORTS[scheme.lower()])
    shown = host.lower() or f"[{six.lower()}{zone}]"
    url = f"{scheme}://{shown}" + ("" if number == PORTS[scheme] else f":{number}")
    if not 0 < number < 65536 or (six and not _is_ipv6(six)) or len(url) > _LONGEST:
        raise _refusal(text, _FORM)
    return url, path.rstrip("/")


def is_host(name: str) -> bool:
    """Returns whether a host can have this name. It may end with a dot; an IPv4 address is one, too."""
    name = name.removesuffix(".")
    return len(name) <= _LONGEST_HOST and _HOST.fullmatch(name) is not None


def _is_ipv6(text: str) -> bool:
    from ipaddress import IPv6Address

    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _refusal(text: str, hint: Text) -> UsageError:
    return UsageError(tell("{text!r} is not the address of a server", text=text), hint=hint)


def same_address(url: str, origin: str) -> bool:
    """Returns whether the origin that a service states is its address `url`, as `parse_url` returns it."""
    try:
        return parse_url(origin) == url
    except UsageError:
        return False


def lets_browsers_play(origin: str) -> bool:
    """Returns whether a browser makes keys for pages of an origin: those of its own machine, others only by https."""
    found = _URL.fullmatch(origin)
    return found is not None and (found[1] == "https" or OWN_HOSTS.fullmatch(found[2] or found[4]) is not None)
