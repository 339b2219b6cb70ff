"""The proxy that the environment names for a server: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.

curl and Python read these variables, and so does this client. Names in lower case count before those in upper case.
HTTP_PROXY is left out where REQUEST_METHOD is set: in a CGI program a request's header `Proxy` would set it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from hkoji.errors import UsageError
from hkoji.messages.text import tell
from hkoji.service_url import is_host

_PORT: Final = 80
_FORM: Final = tell("a proxy looks like http://proxy.example:3128; `no_proxy` names the hosts that need none")


class HttpProxy(NamedTuple):
    """A proxy, the variable that names it, and the headers that log in to it."""

    host: str
    port: int
    headers: dict[str, str]
    variable: str


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str]) -> HttpProxy | None:
    """Returns the proxy for a server; None if there is to be none. Raises `UsageError` for one that cannot be used."""
    for name in (f"{scheme}_proxy", "all_proxy"):
        variable, value = _variable(name, environ)
        if value:
            return None if _is_excepted(host, port, _variable("no_proxy", environ)[1]) else _read(variable, value)
    return None


def _variable(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Returns the name that is set, and its value; in lower case also an empty value counts."""
    upper = name.upper()
    if name in environ or (upper == "HTTP_PROXY" and "REQUEST_METHOD" in environ):
        return name, environ.get(name, "").strip()
    return upper, environ.get(upper, "").strip()


def _read(variable: str, value: str) -> HttpProxy:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not value.isascii() or not (":" in host or is_host(host)):
        raise UsageError(tell("{variable} is not the address of a proxy", variable=variable), hint=_FORM)
    if parts.scheme != "http":
        scheme = parts.scheme
        raise UsageError(
            tell("{variable} names a proxy by {scheme}, which hkoji cannot use", variable=variable, scheme=scheme),
            hint=_FORM,
        )
    headers = {}
    if parts.username is not None:
        from base64 import b64encode

        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    return HttpProxy(host, port or _PORT, headers, variable)


def _is_excepted(host: str, port: int, names: str) -> bool:
    """Returns whether `no_proxy` names a host: by its name or a domain above it, an address, a network, or `*`."""
    host = host.lower().rstrip(".")
    return any(_covers(name, host, port) for name in re.split(r"[,\s]+", names.lower()) if name)


def _covers(name: str, host: str, port: int) -> bool:
    if name == "*":
        return True
    if "/" in name:
        from ipaddress import ip_address, ip_network

        try:
            return ip_address(host) in ip_network(name, strict=False)
        except ValueError:
            return False
    suffix = f":{port}"
    if name.count(":") == 1 or name.startswith("["):
        name = name.removesuffix(suffix)
    name = name.removeprefix("[").removesuffix("]").lstrip(".").rstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))
