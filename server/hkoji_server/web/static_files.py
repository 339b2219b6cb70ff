"""The files that pages load: style, art, scripts and words, at `/static/HASH/NAME`, and the service worker at `/sw.js`.

One hash over all of them is in the address, so a browser may keep each for ever: another version has other addresses.
They are read and compressed once, when the first is asked for or the first page is made. The service worker shows a
push while no page is open. A browser keeps one for a whole origin and asks for it again, so its address has no hash.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES, Text
from hkoji.show import art

FOLDER: Final = Path(__file__).with_name("static")
WORDS: Final = FOLDER.with_name("words.json")
"""The texts of scripts in English, by key."""
PATH: Final = "/static/{hash}/{name:path}"
SERVICE_WORKER: Final = "/sw.js"
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types hkoji",
        "manifest-src 'self'",
    )
)
"""The policy of each page. A worker has the one that its script came with."""
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_KEPT: Final = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
_WEIGHT: Final = re.compile(r"[0-9]+(\.[0-9]*)?")
_CSS_COMMENT: Final = re.compile(rb"/\*.*?\*/", re.DOTALL)


class StaticFile(NamedTuple):
    """A file as it is kept and sent: `packed` by gzip, where that is shorter."""

    media_type: str
    content: bytes
    packed: bool

    @property
    def body(self) -> bytes:
        """The file for a client that takes no gzip."""
        return gzip.decompress(self.content) if self.packed else self.content


class StaticFiles(NamedTuple):
    """All files by name, and the hash over names and contents."""

    hash: str
    files: Mapping[str, StaticFile]

    @property
    def base(self) -> str:
        """The beginning of the address of each file."""
        return f"/static/{self.hash}/"


@cache
def static_files() -> StaticFiles:
    """Returns the files of this version."""
    found = dict(sorted(_contents()))
    digest = sha256()
    for name, body in found.items():
        digest.update(f"{name}\n{len(body)}\n".encode() + body)
    return StaticFiles(digest.hexdigest()[:16], {name: _prepared(name, body) for name, body in found.items()})


def _contents() -> Iterator[tuple[str, bytes]]:
    for path in FOLDER.rglob("*"):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            yield path.relative_to(FOLDER).as_posix(), _shortened(path.suffix, body)
    yield art.FILE.name, art.FILE.read_bytes()
    yield "icon.svg", art.icon().encode()
    for language in LANGUAGES:
        yield (
            f"words.{language}.json",
            json.dumps(words_in(language, "page"), ensure_ascii=False, separators=(",", ":")).encode(),
        )


def words_in(language: str, part: str) -> dict[str, str | list[str]]:
    """Returns the texts of scripts by key: those of a `page`, or of the service `worker`. Values stand in braces.

    A text that depends on a number is a list of two: the one for 1, and the one for all others.
    """
    say = load_speaker(language)
    return {
        key: say(Text(text)) if isinstance(text, str) else [say(Text(text[0], None, text[1], n)) for n in (1, 2)]
        for key, text in json.loads(WORDS.read_bytes())[part].items()
    }


def _shortened(suffix: str, body: bytes) -> bytes:
    """Style and scripts without indents and comments: they are for readers of the repository, not for browsers."""
    if suffix == ".css":
        return b"".join(line.strip() + b"\n" for line in _CSS_COMMENT.sub(b"", body).splitlines() if line.strip())
    if suffix != ".js":
        return body
    from rjsmin import jsmin  # as Jinja2: a service that nobody opens in a browser does not load it

    return bytes(jsmin(body))


def _prepared(name: str, body: bytes) -> StaticFile:
    packed = gzip.compress(body, 9, mtime=0)
    shorter = len(packed) < len(body)
    return StaticFile(_TYPES[Path(name).suffix], packed if shorter else body, shorter)


async def send_static(request: Request) -> Response:
    """Answers with a file, or with 404 for one of another version, which nobody may keep."""
    made = static_files()
    found = made.files.get(request.path_params["name"])
    if found is None or request.path_params["hash"] != made.hash:
        return Response("no such file\n", 404, {"Cache-Control": "no-store"}, "text/plain")
    headers = {**_KEPT, "Content-Security-Policy": POLICY}
    if found.packed and accepts_gzip(request):
        return Response(found.content, 200, {**headers, "Content-Encoding": "gzip"}, found.media_type)
    return Response(found.body, 200, headers, found.media_type)


async def send_service_worker(_: Request) -> Response:
    """Answers with the service worker."""
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
    return Response(service_worker(), headers=headers, media_type="text/javascript")


@cache
def service_worker() -> bytes:
    """Returns the script of the service worker, with the sentences that it shows."""
    made = static_files()
    texts = {language: words_in(language, "worker") for language in LANGUAGES}
    values = f"self.TEXTS = {json.dumps(texts, ensure_ascii=False)};\nself.BASE = {json.dumps(made.base)};\n"
    return values.encode() + made.files["sw.js"].body


def accepts_gzip(request: Request) -> bool:
    """Returns whether the client takes a body that `gzip` has compressed."""
    return accepted(request.headers.get("accept-encoding", "")).get("gzip", 0) > 0


def accepted(header: str) -> dict[str, float]:
    """Returns the weight of each name in a header such as `Accept-Language`: RFC 9110, 12.4.2. Names are lower case."""
    weights = {}
    for part in header.lower().split(","):
        name, _, parameter = part.replace(" ", "").partition(";")
        key, _, weight = parameter.partition("=")
        weights[name] = (float(weight) if _WEIGHT.fullmatch(weight) else 0.0) if key == "q" else 1.0
    return weights
