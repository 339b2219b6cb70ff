"""A player whose key a browser has too: it was brought there by the page's own client, and its copy is proved."""

from __future__ import annotations

import secrets

from playwright.sync_api import Error, Locator, Page

from hkoji.game.agreement import Agreement, TimeControl
from hkoji.log.private_key import PrivateKey
from hkoji.rules.protocol import Ruleset
from tests.support.service import Player, Service, begin

DAYS = Agreement(TimeControl(259_200, 1_209_600, 0, 1_209_600), rated=True)
"""Three days for a turn, and a reserve of fourteen days."""

_BRING = """async ([name, seed]) => {
  const { Session } = await import(document.body.dataset.static + 'client/session.js');
  const session = new Session({ origin: location.origin, check: null });
  await session.meet();
  await session.keepKey(Uint8Array.from(seed), name);
  await session.registered(session.me.text);
  await session.proveCopy();
}"""


def bring_guest(page: Page, service: Service) -> Player:
    """Registers a player of a new name, and brings the key to the browser of a page."""
    seed = secrets.token_bytes(32)
    guest = Player(service, f"guest-{secrets.token_hex(3)}", PrivateKey.from_seed(seed)).register()
    page.goto(f"{service.url}/rules/hanamikoji")
    page.evaluate(_BRING, [guest.name, list(seed)])
    return guest


def seated(page: Page, host: Player, guest: Player, ruleset: Ruleset, agreement: Agreement = DAYS) -> str:
    """A game in which the page has the guest's seat, up to the first decision. Returns the game."""
    game = begin(host, guest, ruleset, agreement)
    page.goto(f"{host.origin()}/g/{game}?side=guest")
    part(page, "more").wait_for(state="attached")
    return game


def part(page: Page, role: str) -> Locator:
    """The element of a page that has this role in the page's own scripts."""
    return page.locator(f"[data-role={role}]")


def load_anew(page: Page) -> None:
    """Loads a page again, and waits until it has shown the player's part."""
    try:
        page.reload()
    except Error:  # it was just loading itself anew
        page.wait_for_load_state()
        page.reload()
    part(page, "more").wait_for(state="attached")
