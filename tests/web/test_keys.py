"""The page of the own key: made, saved, brought, replaced, revoked and recovered, as the command does it too."""

from __future__ import annotations

import re
import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.players import digest_of
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings
from hkoji_server.store.sqlite.store import SqliteStore
from playwright.sync_api import Page, expect

from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support import loops, mailboxes
from tests.support.guests import bring_guest
from tests.support.homes import Homes
from tests.support.mail_contract import FAR
from tests.support.rows import a_code
from tests.support.service import HKOJI, Player, Service, begin
from tests.support.visits import Faults, empty

pytestmark = pytest.mark.usefixtures("asked_about_names")

KEPT = """async (store) => {
    const [{ name }] = await indexedDB.databases();
    const database = await new Promise(done => { indexedDB.open(name).onsuccess = event => done(event.target.result) });
    const values = await new Promise(done => {
        database.transaction(store).objectStore(store).getAll().onsuccess = event => done(event.target.result);
    });
    database.close();
    return values.map(value => JSON.stringify(value));
}"""
"""The values of a store of the page, as JSON."""

BRING_UP_TO_DATE = """async game => {
    const { static: base } = document.body.dataset, { visit } = await import(base + 'pages/here.js');
    const { Game } = await import(base + 'client/game.js');
    const { session } = visit({ body: document.body, base, words: {} });
    await session.meet();
    const it = await new Game(session, game).refresh();
    const { actor, legal, seat } = await it.view();
    if (actor === seat) await it.move(legal[0]);
    return session.remarks.map(([key]) => key);
}"""
"""Opens a game with the client of the page, and makes a move if one is owed."""


def said(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.locator("#says")).to_contain_text(text)


def make_key(page: Page, origin: str, name: str) -> None:
    """Makes a key on /me, which shows then how to save it."""
    page.goto(f"{origin}/me")
    page.fill("#me-make input[name=name]", name)
    page.click("#me-make button")
    page.locator("#me-save").wait_for()


def save(page: Page, place: Path) -> Path:
    with page.expect_download() as download:
        page.click("#save-file")
    download.value.save_as(place)
    return place


def registered_key(service: Service, name: str) -> str:
    return str(service.ask("GET", f"/v1/players/{name}").json["key"])


def press(page: Page, deed: str) -> None:
    """Opens what hides a button, and presses it."""
    button = page.locator(f"[data-do={deed}]")
    if not button.is_visible():
        page.locator("details", has=button).locator("summary").click()
    button.click()


def plays_by_mail(service: Service, name: str) -> tuple[str, str]:
    """Somebody plays by mail and has asked for an own key: the held key, and the code of the letter."""
    store, code, address = SqliteStore(service.data / "hkoji.sqlite3"), secrets.token_hex(20), f"{name}@example.org"
    try:
        identity = loops.run(store.identity())
        assert identity is not None
        signer, settings = PrivateKey.from_openssh(identity[0].encode()), Settings(mail="play@hkoji.example")
        players = HeldPlayers(store, ClockAndEntropy(), signer, settings, origin=identity[1])
        loops.run(players.invite(name, address, "en", None))
        box = loops.run(store.mailbox_at(address))
        assert box is not None
        loops.run(mailboxes.accept(store, box.channel, loops.run(players.registration(box))))
        loops.run(store.add_code(a_code(digest_of(code), FAR, name=name)))
        return box.held_key, code
    finally:
        store.close()


@pytest.fixture
def name() -> str:
    return f"bob-{secrets.token_hex(3)}"


@pytest.fixture
def origin(service: Service) -> str:
    return Player(service, "nobody").origin()


@pytest.fixture
def homes(service: Service, tmp_path: Path) -> Homes:
    return Homes(tmp_path / "homes", service)


def test_a_key_file_goes_to_the_command_and_back(
    service: Service, origin: str, name: str, phone: Page, homes: Homes, tmp_path: Path
) -> None:
    make_key(phone, origin, name)
    file = save(phone, tmp_path / f"{name}.key")
    phone.click("#me-register button")
    phone.locator("#me-choices").wait_for()
    phone.set_input_files("[data-do=save-again]", file)
    expect(phone.locator("#me-save")).to_be_hidden()
    key = registered_key(service, name)
    file.chmod(0o600)
    assert subprocess.check_output(["ssh-keygen", "-y", "-f", file], text=True).split()[:2] == key.split()
    assert not [each for each in phone.evaluate(KEPT, "keys") if "seed" in each]  # the copy is proved
    assert homes(name, "init", name, "--key", str(file)).code == 0
    assert homes(name, "key", "--json").json["key"] == key

    unnamed, locked = tmp_path / "unnamed", tmp_path / "locked"
    for copied in (unnamed, locked):
        copied.write_bytes(file.read_bytes())
        copied.chmod(0o600)
    subprocess.check_call(["ssh-keygen", "-q", "-c", "-C", f"{name}@laptop", "-f", unnamed])
    subprocess.check_call(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked], stdout=subprocess.DEVNULL)

    def paste() -> None:
        phone.fill("[data-do=bring-pasted] textarea", file.read_text())
        phone.click("[data-do=bring-pasted] button")

    ways: list[tuple[str, Callable[[], None]]] = [
        ("anna", lambda: phone.set_input_files("[data-do=bring-file]", file)),
        (name, lambda: phone.set_input_files("[data-do=bring-file]", unnamed)),
        ("anna", paste),
    ]
    for filled_in, brings in ways:
        empty(phone)  # another browser
        phone.goto(f"{origin}/me")
        phone.locator("#me-bring").wait_for()  # nobody can choose a file before
        if brings is paste:
            phone.set_input_files("[data-do=bring-file]", locked)
            expect(phone.locator("#bring-locked")).to_contain_text("ssh-keygen -p")
            said(phone, "passphrase")
        phone.fill("[data-do=bring-password] [name=username]", filled_in)  # as a password manager does it
        brings()
        expect(phone.locator("#own-name")).to_have_text(name)
        expect(phone.locator("#me-own a[href='/']")).to_be_visible()  # to the games
        assert not [each for each in phone.evaluate(KEPT, "keys") if "seed" in each]


def test_a_password_manager_carries_the_key(origin: str, name: str, phone: Page) -> None:
    """Until the player has shown that there is a copy, nobody can log out."""
    page = phone
    make_key(page, origin, name)
    form = page.locator("#save-password")
    assert form.locator("input").evaluate_all("all => all.map(each => each.autocomplete)") == [
        "username",
        "new-password",
    ]
    letters = form.locator("[name=password]").input_value()
    assert re.fullmatch("[a-z2-7]{52}", letters)
    page.click("#save-proof summary")
    page.fill("[data-do=save-pasted] textarea", letters[:-2] + "aa")
    page.click("[data-do=save-pasted] button")
    said(page, "another key than yours")
    page.click("#me-register button")
    page.locator("#me-choices").wait_for()
    press(page, "log-out")
    said(page, "First show that you have a copy")
    page.click("[data-do=save-have]")
    said(page, "cannot be copied")

    empty(page)  # another browser
    page.goto(f"{origin}/me")
    fields = page.locator("[data-do=bring-password] input")
    assert fields.evaluate_all("all => all.map(each => each.autocomplete)") == ["username", "current-password"]
    page.locator("#me-bring").wait_for()
    fields.nth(0).fill(f"{name}x")  # nobody's name
    fields.nth(1).fill(letters.upper())
    page.click("[data-do=bring-password] button")
    said(page, "Nothing was kept")
    assert page.evaluate(KEPT, "keys") == []
    fields.nth(0).fill("")
    page.click("[data-do=bring-password] button")
    said(page, "Type the name too")
    fields.nth(0).fill(name)
    page.click("[data-do=bring-password] button")
    expect(page.locator("#own-name")).to_have_text(name)


@pytest.mark.long
def test_a_name_that_somebody_takes_first_is_asked_again(
    service: Service, origin: str, name: str, phone: Page, faults: Faults
) -> None:
    faults.expect(r"409 .*/v1/players")
    make_key(phone, origin, name)
    key = phone.locator("#own-fingerprint").inner_text()
    Player(service, name).register()
    phone.click("#me-register button")
    said(phone, "This name is taken")
    phone.fill("#me-register input[name=name]", f"{name}-2")
    phone.click("#me-register button")
    expect(phone.locator("#own-name")).to_have_text(f"{name}-2")
    assert phone.locator("#own-fingerprint").inner_text() == key


@pytest.mark.long
def test_page_and_command_play_with_one_key_and_replace_it_in_turn(
    service: Service, origin: str, phone: Page, homes: Homes, tmp_path: Path
) -> None:
    page, host = phone, Player(service, f"host-{secrets.token_hex(3)}").register()
    guest = bring_guest(page, service)
    name = guest.name
    game = begin(host, guest, Hanamikoji(first="guest"))
    page.goto(f"{origin}/me")
    page.locator("#me-choices").wait_for()
    press(page, "replace")
    said(page, "Save the new key")
    assert registered_key(service, name) == guest.key.public.text  # nothing has changed yet
    second = save(page, tmp_path / "second.key")
    page.set_input_files("[data-do=save-again]", second)
    said(page, "The new key counts now")
    new = PrivateKey.from_openssh(second.read_bytes()).public.text
    assert registered_key(service, name) == new
    assert page.evaluate(BRING_UP_TO_DATE, game) == []  # and it moves
    (change,) = [line.entry for line in host.lines(game) if line.entry.kind == "rekey"]
    assert change.body["key"] == new

    while (own := host.course(game)).actor == 0:
        host.send(host.make_move(own, own.state.legal_actions()[0]))
    assert homes("new", "init", name, "--key", str(second)).code == 0  # the command goes on with the file of the page
    homes("new", "register", "--server", origin)
    legal = homes("new", "show", game, "--json").json["legal"]
    assert homes("new", "move", game, legal[0]).code == 0
    changed = homes("new", "rekey")
    assert changed.code == 0, changed
    page.goto(f"{origin}/me")
    expect(page.locator("#me-other")).to_be_visible()
    assert registered_key(service, name) != new


@pytest.mark.long
def test_a_revoked_key_is_replaced_by_a_code_of_the_operator(
    service: Service, origin: str, phone: Page, faults: Faults, tmp_path: Path
) -> None:
    faults.expect("403 ")
    guest = bring_guest(phone, service)
    name, old = guest.name, guest.key.public.text
    phone.goto(f"{origin}/me")
    phone.locator("#me-choices").wait_for()
    press(phone, "revoke")
    expect(phone.locator("#me-revoked")).to_be_visible()
    assert service.ask("GET", f"/v1/players/{name}").json["revoked"]
    words = [str(HKOJI), "admin", "revoke", name, "--data", str(service.data)]
    code = re.search(r"\b[0-9a-f]{40}\b", subprocess.check_output(words, text=True))
    assert code is not None
    phone.click("[data-do=make-again]")
    save(phone, tmp_path / "new.key")
    phone.fill("#me-recover input", "0" * 40)
    phone.click("#me-recover button")
    said(phone, "The service does not allow this")
    phone.fill("#me-recover input", code[0])
    phone.click("#me-recover button")
    phone.locator("#me-choices").wait_for()
    assert (
        registered_key(service, name) == PrivateKey.from_openssh((tmp_path / "new.key").read_bytes()).public.text != old
    )


@pytest.mark.long
def test_somebody_who_plays_by_mail_gets_an_own_key_by_the_code_of_a_letter(
    service: Service, origin: str, name: str, phone: Page, tmp_path: Path
) -> None:
    held, code = plays_by_mail(service, name)
    assert registered_key(service, name) == held
    make_key(phone, origin, name)
    save(phone, tmp_path / "key")
    expect(phone.locator("#me-register")).to_be_hidden()
    phone.fill("#me-recover input", code)
    phone.click("#me-recover button")
    phone.locator("#me-choices").wait_for()
    own = PrivateKey.from_openssh((tmp_path / "key").read_bytes()).public.text
    assert service.ask("GET", f"/v1/players/{name}").json["earlier"][0]["key"] == held
    assert registered_key(service, name) == own
