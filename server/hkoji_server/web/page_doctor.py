"""Compares the pages of a service with those of this package: `hkoji doctor --server URL`.

It compares all files that pages load, the policy, and every address from which a page loads anything. It does not
compare the text of a page, which depends on the games. It does not find a page that only one reader is shown.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from http.client import HTTPException, HTTPMessage
from typing import IO, Final, NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hkoji import __version__
from hkoji.doctor_check import DoctorCheck
from hkoji.errors import NetworkError
from hkoji.messages.text import Text, shorten, tell
from hkoji.service_url import parse_url
from hkoji_server.web.static_files import POLICY, SERVICE_WORKER, service_worker, static_files

_SECONDS: Final = 20
_MOST: Final = 2_000_000
"""The bytes of an answer that are read."""
_INVITATION: Final = f"/i/{'0' * 32}"
_GAME: Final = re.compile(r"/g/[0-9a-f]{32}(?![0-9a-f])")
_LOADS: Final = {"script": "src", "link": "href", "use": "href", "img": "src", "image": "href", "source": "src"}
"""The attribute from which an element loads something."""
_NEVER: Final = ("base", "iframe", "frame", "object", "embed", "portal", "style")
"""Elements that no page of this package has."""
_SHOWN: Final = 4
_STOP: Final = tell("do not play in its pages; play with the command, and ask its operator over another channel")


class _Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    body: bytes

    def only(self, name: str) -> str:
        """The value of a header that was sent once; several, which a browser would combine, are no value of ours."""
        return " and ".join(self.headers.get_all(name, []))


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follows none: what another address shows says nothing about this one."""


def examine(url: str) -> Iterator[DoctorCheck]:
    """Yields a check after another of the service at `url`. Raises `UsageError` if that is no address."""
    server = parse_url(url)
    try:
        yield from _compare(server)
    except NetworkError as error:
        yield DoctorCheck("service", "fail", error.message, tell("is the address right, and are you online?"))


def _compare(server: str) -> Iterator[DoctorCheck]:
    import json

    try:
        about = json.loads(_fetch(server, "/v1/service").body)
        version, web = str(about["version"]), about.get("web") is True
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        yield DoctorCheck("service", "fail", tell("{url} does not answer as a service of hkoji", url=server))
        return
    if not web:
        yield _without_pages(server)
    elif version != __version__:
        said = tell(
            "the service has version {theirs}, this program {own}", theirs=shorten(version, 20), own=__version__
        )
        yield DoctorCheck("version", "fail", said, tell("install its version to compare the pages"))
    else:
        pages = _pages(server)
        yield _files(server)
        yield _policy(pages)
        yield _markup(pages)


def _fetch(server: str, path: str) -> _Answer:
    """Returns an answer as a browser would get it, its body uncompressed. Raises `NetworkError`."""
    headers = {"Accept": "text/html,*/*;q=0.8", "Accept-Encoding": "gzip", "User-Agent": f"hkoji/{__version__}"}
    request = Request(server + path, headers=headers)  # noqa: S310 # `parse_url` has refused other schemes
    try:
        try:
            opened = build_opener(_NoRedirect).open(request, timeout=_SECONDS)
        except HTTPError as error:
            opened = error
        with opened:
            body = opened.read(_MOST)
            if opened.headers.get("Content-Encoding") == "gzip":
                body = zlib.decompressobj(wbits=31).decompress(body, _MOST)
            return _Answer(opened.status, opened.headers, body)
    except (OSError, HTTPException, zlib.error) as error:
        raise NetworkError(server, shorten(str(getattr(error, "reason", error)), 120)) from error


def _pages(server: str) -> dict[str, _Answer]:
    """The pages that are looked at, by their paths: the front, an invitation, and a game that the front names."""
    found = {path: _fetch(server, path) for path in ("/", _INVITATION)}
    if game := _GAME.search(found["/"].body.decode(errors="replace")):
        found[game[0]] = _fetch(server, game[0])
    return found


def _without_pages(server: str) -> DoctorCheck:
    scripts = [fault for fault in _Markup(_fetch(server, _INVITATION).body, {}).faults if "data-static" not in fault]
    if scripts:
        said = tell("the service says that it has no pages, but its invitation loads: {faults}", faults=_shown(scripts))
        return DoctorCheck("pages", "fail", said, _STOP)
    return DoctorCheck("pages", "ok", tell("the service has no pages that load anything"))


def _files(server: str) -> DoctorCheck:
    own = static_files()
    expected = {f"{own.base}{name}": file.body for name, file in own.files.items()}
    expected[SERVICE_WORKER] = service_worker()
    other = []
    for path, body in expected.items():
        answer = _fetch(server, path)
        if (answer.status, answer.body) != (200, body) or answer.only("Content-Security-Policy") != POLICY:
            other.append(path.removeprefix(own.base))
    if other:
        said = tell("{count} of {all} files are not those of this package: {names}",
                    count=len(other), all=len(expected), names=_shown(other))  # fmt: skip
        return DoctorCheck("files", "fail", said, _STOP)
    said = tell("{all} files are those of this package, with the hash {hash}", all=len(expected), hash=own.hash)
    return DoctorCheck("files", "ok", said)


def _policy(pages: dict[str, _Answer]) -> DoctorCheck:
    for path, answer in pages.items():
        if answer.status != 200:
            return DoctorCheck("policy", "fail", tell("{path} has status {status}", path=path, status=answer.status))
        given, opener = answer.only("Content-Security-Policy"), answer.only("Cross-Origin-Opener-Policy")
        if (given, opener) != (POLICY, "same-origin"):
            said = tell("the policy of {path} is another: {policy}", path=path, policy=shorten(given or "-", 300))
            return DoctorCheck("policy", "fail", said, _STOP)
    return DoctorCheck("policy", "ok", tell("the pages have the policy of this package"))


def _markup(pages: dict[str, _Answer]) -> DoctorCheck:
    own = static_files()
    known = {f"{own.base}{name}": name for name in own.files}
    for path, answer in pages.items():
        if faults := _Markup(answer.body, known).faults:
            said = tell("{path} loads what this package does not have: {faults}", path=path, faults=_shown(faults))
            return DoctorCheck("markup", "fail", said, _STOP)
    said = tell("{paths} load only files of this package", paths=" ".join(path[:12] for path in pages))
    return DoctorCheck("markup", "ok", said)


def _shown(names: list[str]) -> Text | str:
    more = len(names) - _SHOWN
    shown = ", ".join(shorten(name, 80) for name in names[:_SHOWN])
    return tell("{names} and {n} more", names=shown, n=more) if more > 0 else shown


class _Markup(HTMLParser):
    """Finds in a page all that it loads from other addresses than `known`, and all scripts that stand in it."""

    def __init__(self, page: bytes, known: dict[str, str]) -> None:
        super().__init__()
        self._known = known
        self.faults: list[str] = []
        self.feed(page.decode(errors="replace"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Looks at an element; HTML has the same names in lower and upper case."""
        given = {name.removeprefix("xlink:"): value or "" for name, value in attrs}
        self.faults += [f"{tag} {name}" for name in given if name.startswith("on") or name == "srcdoc"]
        self.faults += [f"{tag} {name}={value}" for name, value in given.items() if _runs(value)]
        if tag in _NEVER or (tag == "meta" and "http-equiv" in given) or (tag == "script" and not given.get("src")):
            self.faults.append(f"<{tag}>")
        elif tag in _LOADS and not self._is_known(tag, given.get(_LOADS[tag], "").partition("#")[0]):
            self.faults.append(f"{tag} {given.get(_LOADS[tag], '')}")
        elif tag == "body" and f"{given.get('data-static', '')}start.js" not in self._known:
            self.faults.append(f"body data-static={given.get('data-static', '')}")

    def _is_known(self, tag: str, address: str) -> bool:
        return address in self._known or (tag in ("use", "image") and not address) or address.startswith("data:image/")


def _runs(value: str) -> bool:
    return re.sub(r"[\0-\x20]", "", value).lower().startswith("javascript:")
