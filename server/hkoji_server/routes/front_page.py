"""The page at `/`: what this service is, and where to begin. For a browser in HTML, for everything else as plain text.

It says only what `/v1/service` says too. It is in both languages.
"""

from __future__ import annotations

from html import escape
from string import Template
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from hkoji_server.routes.invitation_page import HTML_PAGE
from hkoji_server.settings import Registration

_MAY_REGISTER: Final[dict[Registration, tuple[str, str]]] = {
    "open": ("Anybody can register here.", "Qui può registrarsi chiunque."),
    "code": (
        "To register here you need a code from the operator.",
        "Per registrarti qui ti serve un codice del gestore.",
    ),
    "closed": ("Nobody can register here now.", "Qui per ora nessuno può registrarsi."),
}
_TEXT: Final = Template("""\
hkoji: two people play Hanamikoji or Geisha's Road by correspondence.

This is the service $origin. You play with the program hkoji, in a terminal. $english
Install hkoji (Python 3.11 or later; the operator knows where to get it), then type:

    hkoji init NAME
    hkoji register --server $origin
    hkoji games --open

For programs: $origin/v1/service and $origin/openapi.json

--

hkoji: si gioca in due, per corrispondenza, a Hanamikoji o Geisha's Road.

Questo è il servizio $origin. Si gioca con il programma hkoji, in un terminale. $italian
Installa hkoji (Python 3.11 o successivo; il gestore sa dove trovarlo), poi scrivi i comandi qui sopra.
""")
_BODY: Final = Template("""<h1>hkoji</h1>
<p>Two people play Hanamikoji or Geisha’s Road by correspondence. This is the service <code>$origin</code>. You play
with the program hkoji, in a terminal. $english</p>
<p>Install hkoji (Python 3.11 or later; the operator knows where to get it), then type:</p>
<pre>hkoji init NAME
hkoji register --server $origin
hkoji games --open</pre>
<p>For programs: <a href="/v1/service">/v1/service</a> and <a href="/openapi.json">/openapi.json</a></p>
<div lang="it">
<p>Si gioca in due, per corrispondenza, a Hanamikoji o Geisha’s Road. Questo è il servizio <code>$origin</code>. Si
gioca con il programma hkoji, in un terminale. $italian</p>
<p>Installa hkoji (Python 3.11 o successivo; il gestore sa dove trovarlo), poi scrivi i comandi qui sopra.</p>
</div>""")


def make_front_router(*, origin: str, registration: Registration) -> APIRouter:
    """Returns the router of the page."""
    router = APIRouter()
    english, italian = _MAY_REGISTER[registration]
    text = _TEXT.substitute(origin=origin, english=english, italian=italian)
    page = HTML_PAGE.format(body=_BODY.substitute(origin=escape(origin), english=english, italian=italian))

    @router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def front_page(request: Request) -> Response:
        """A page for people who open the service's address in a browser, or with curl."""
        vary = {"Vary": "Accept"}
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(page, headers=vary)
        return PlainTextResponse(text, headers=vary)

    return router
