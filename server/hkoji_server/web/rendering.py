"""Turns values into HTML: the language of a reader, the templates, the answers with their headers, and errors.

Jinja2 escapes every value. It is loaded with the first page, so that a service which nobody opens in a browser neither
starts later nor holds it in memory.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NewType
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji.mail.letters.page import TIE, Page
from hkoji.manual.catalogues import LOCALE, load_speaker
from hkoji.messages.text import ENGLISH, LANGUAGES, Speaker, Text, assemble
from hkoji_server.routes.plain import names_tag, read_header, wants_page
from hkoji_server.routes.problems import MEDIA_TYPE
from hkoji_server.web.static_files import POLICY, accepted, accepts_gzip, static_files

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES: Final = Path(__file__).with_name("templates")
HTML: Final = "text/html; charset=utf-8"
_KNOWN: Final = ("at", "side", "eyes", "after")
_LEVEL: Final = 5
_LONG_AGO: Final = "1970-01-01T00:00:00Z"
"""As long ago as this, people say the year of a time too."""
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "Accept-Language, Accept-Encoding",
}
_BARE: Final = {"Cache-Control": "no-cache", "Vary": "Accept-Language, Accept-Encoding"}
"""The headers of a page without scripts and style. It gets the policy of all answers, which lets it load nothing."""


CompressedPage = NewType("CompressedPage", bytes)
"""A page that gzip has compressed."""


class Reader(NamedTuple):
    """The language of a request, and whether its address names it: then the links of the page name it too.

    `path` and `query` are those of the request; of its query only what pages know.
    """

    language: str
    named: bool = False
    path: str = "/"
    query: tuple[tuple[str, str], ...] = ()

    @property
    def say(self) -> Speaker:
        """The speaker of the language."""
        return _speaker(self.language)

    def time(self, time: str) -> str:
        """Returns a time of the log for people: `Wed 25 Nov 2026 10:00 UTC`."""
        return Page(self.say).moment(time, _LONG_AGO).replace(TIE, "\u00a0")

    def link(self, path: str, /, **query: object) -> str:
        """Returns an address on this service, with those values of its query that are not None."""
        given = {name: value for name, value in query.items() if value is not None}
        if self.named:
            given["lang"] = self.language
        return f"{path}?{urlencode(given)}" if given else path

    def other(self, language: str) -> str:
        """Returns the address of the same page in another language."""
        return f"{self.path}?{urlencode([*self.query, ('lang', language)])}"


_speaker = lru_cache(maxsize=len(LANGUAGES))(load_speaker)


def reader_of(request: Request) -> Reader:
    """Returns the reader of a request: `lang` of its query, else the language that its browser prefers."""
    given = request.query_params
    named = given.get("lang")
    query = tuple((name, given[name]) for name in _KNOWN if name in given)
    path = quote(request.url.path)
    if named in LANGUAGES:
        return Reader(named, True, path, query)
    return Reader(preferred(request.headers.get("accept-language", "")), False, path, query)


def preferred(header: str) -> str:
    """Returns that of the languages which an `Accept-Language` prefers; English if it has none of them."""
    best, most = ENGLISH, 0.0
    for name, weight in accepted(header).items():
        code = name.partition("-")[0]
        if code in LANGUAGES and weight > most:
            best, most = code, weight
    return best


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )


def rendered(template: str, reader: Reader, /, *, web: bool = True, **values: object) -> str:
    """Returns a page as HTML. With `web` it loads style and scripts; else it loads nothing.

    Templates have `t`, which marks an English text and gives it in the reader's language, with its values or the form
    for a number `n`; `say`, which does so with a message; and `link`, which makes an address of a path and a query.
    """

    def text(one: str, many: str = "", /, n: int = 1, **given: object) -> str:
        return reader.say(Text(one, {"n": n, **given}, many, n))

    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            t=text,
            say=reader.say,
            link=reader.link,
            other=reader.other,
            time=reader.time,
            lang=reader.language,
            languages=LANGUAGES,
            web=web,
            static=static_files().base if web else "",
        )
    )


def html(
    request: Request,
    body: str | CompressedPage,
    status: int = 200,
    *,
    tag: str | None = None,
    web: bool = True,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Returns a page, compressed if the client takes that. `tag` is its ETag; by default a hash of the page."""
    common = {**(_HEADERS if web else _BARE), **(headers or {})}
    page = compressed(body) if isinstance(body, str) else body
    if status == 200:
        tag = tag or sha256(page).hexdigest()[:32]
        # A compressed page means the same, but is not the same bytes: the tag is weak.
        common["ETag"] = f'W/"{tag}"'
        if names_tag(request.scope, f'"{tag}"'):
            return Response(status_code=304, headers=common)
    if accepts_gzip(request):
        return Response(page, status, {**common, "Content-Encoding": "gzip"}, HTML)
    return Response(gzip.decompress(page), status, common, HTML)


def compressed(body: str) -> CompressedPage:
    """Returns a page as it is kept and sent. Equal pages have equal bytes."""
    return CompressedPage(gzip.compress(body.encode(), _LEVEL, mtime=0))


def edition(*parts: object) -> str:
    """Returns the tag of a page that is made of these values: another version of the product has others."""
    return sha256("\n".join(map(repr, (_version(), *parts))).encode()).hexdigest()[:32]


@cache
def _version() -> str:
    digest = sha256(static_files().hash.encode())
    for path in sorted((*TEMPLATES.glob("*.html"), *LOCALE.rglob("*.mo"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def unchanged(request: Request, tag: str) -> Response | None:
    """Returns the answer 304 if the client has the page with this tag; else None."""
    if not names_tag(request.scope, f'"{tag}"'):
        return None
    return Response(status_code=304, headers={**_HEADERS, "ETag": f'W/"{tag}"'})


_KEPT: Final = (b"retry-after", b"allow", b"connection")
"""The headers of an error that its page has too."""
_FAILED: Final = {"detail": "the service failed; nothing acknowledged is lost", "hint": "try again later"}


class ErrorPages:
    """ASGI middleware: turns the problem documents of the service into pages, where a browser has asked for one.

    So each error has one wording and one status.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not wants_page(read_header(scope, b"accept") or ""):
            await self._app(scope, receive, send)
            return
        begun, start, body = False, None, b""

        async def take(message: Message) -> None:
            nonlocal begun, start, body
            begun = True
            if dict(message.get("headers", ())).get(b"content-type", b"").decode() == MEDIA_TYPE:
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")

        try:
            await self._app(scope, receive, take)
        except Exception:
            if not begun:
                start = {"status": 500, "headers": ()}
            raise  # the HTTP server logs it
        finally:
            if start is not None:
                page = _page(Request(scope), start, json.loads(body) if body else _FAILED)
                await page(scope, receive, send)


def _page(request: Request, start: Message, problem: dict[str, Any]) -> Response:  # Any: JSON
    reader, parts = reader_of(request), problem.get("parts", {})
    text, hint = (reader.say(assemble(problem.get(name, ""), parts.get(name))) for name in ("detail", "hint"))
    body = rendered("error.html", reader, page="error", text=text, hint=hint, links=())
    kept = {name.decode(): value.decode() for name, value in start["headers"] if name in _KEPT}
    return html(request, body, start["status"], headers={**kept, "Cache-Control": "no-store"})
