"""The tab, the service and the connection are killed at each step: never two entries for a place, and none is lost."""

from __future__ import annotations

import json
import random
import secrets
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from hkoji.log.line import parse_entry
from tests.support.page_player import PagePlayer, RefusedByPageError, TabKilledError, page_player
from tests.support.service import Player, Service, start
from tests.web.test_join import invite


def signed_for(page: PagePlayer) -> dict[tuple[str, int], set[str]]:
    """The texts of all entries that a player has ever sent, by their place."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for line in (page.folder / "sent.jsonl").read_text().splitlines():
        path, body = json.loads(line)
        if path.endswith("/entries"):
            entry = parse_entry(json.loads(body)["entry"])
            found[entry.game, entry.seq].add(entry.text)
    return found


def back(page: PagePlayer, game: str) -> None:
    """The player opens the page again after the tab was killed."""
    page.close()
    page.do("meet")
    page.game(game, "refresh")


def reply(host: Player, game: str) -> None:
    """The host moves as long as it is the host's turn."""
    while (own := host.course(game)).actor == 0:
        answer = host.send(host.make_move(own, own.state.legal_actions()[0]))
        assert answer.status == 201, answer


def until_taken(page: PagePlayer, link: str, name: str) -> str:
    """Opens the page of a link again and again, until the player has a seat. Makes a key only if there is none."""
    me = page.do("meet")["me"]
    if me is None:
        page.do("key", name=name)
    page.session("register")
    return page.join(link)


def kill_at_steps_of_a_join(service: Service, folder: Path, steps: Iterable[int]) -> None:
    """Kills a tab at each of these steps of a join; they lead beyond the last one."""
    host = Player(service, f"host-{secrets.token_hex(3)}").register()
    for number in steps:
        link, name = invite(host), f"guest-{number}-{secrets.token_hex(2)}"
        with page_player(host.origin(), folder / str(number)) as page:
            page.do("die", at=number)
            try:
                game = until_taken(page, link, name)
            except TabKilledError:
                game = until_taken(page, link, name)
            else:
                break
            lines = host.lines(game)
            assert [line.entry.kind for line in lines] == ["offer", "open", "join", "seed"]
            assert {line.entry.by for line in lines[2:]} == {name}
            assert all(len(texts) == 1 for texts in signed_for(page).values())
    assert number > 12


def test_a_tab_is_killed_in_a_join(service: Service, tmp_path: Path) -> None:
    """At some steps from the first to the last; tests/lab/browsers/kills.py has each of them."""
    kill_at_steps_of_a_join(service, tmp_path, range(2, 100, 4))


def test_a_tab_is_killed_at_each_step_of_a_move(service: Service, tmp_path: Path) -> None:
    host, chance = Player(service, "host-of-moves").register(), random.Random(3)
    with page_player(host.origin(), tmp_path / "page") as page:
        page.arrive("guest-of-moves")
        game = page.join(invite(host))
        host.seed(game)
        killed = 0
        for number in range(1, 60):
            reply(host, game)
            view = page.game(game, "view")
            if view["status"] != "playing":
                game = page.join(invite(host))
                host.seed(game)
                continue
            before = page.do("state", game=game)
            page.do("die", at=number)
            with suppress(TabKilledError):
                page.game(game, "move", chance.choice(view["legal"]))
                break
            killed += 1
            back(page, game)
            after = page.do("state", game=game)
            assert after["raw"][: len(before["raw"])] == before["raw"]
            assert page.do("list", store="outbox") == []
            assert len(signed_for(page)[game, before["last"]["seq"] + 1]) <= 1
        assert killed >= 4
        assert all(len(texts) == 1 for texts in signed_for(page).values())


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_service_is_killed_at_each_request_of_a_move(tmp_path: Path, when: str) -> None:
    data = tmp_path / "data"
    service = start(data, forked=True)
    try:
        port, host = service.port, Player(service, "alice").register()
        with page_player(host.origin(), tmp_path / "page") as page:
            page.arrive("bob")
            game = page.join(invite(host))
            host.seed(game)
            for request in range(1, 20):
                reply(host, game)
                view = page.game(game, "view")
                page.do("cut", request=request, when=when)
                try:
                    page.game(game, "move", view["legal"][0])
                except RefusedByPageError as error:
                    if error.key != "problem-no-answer":
                        raise
                else:
                    break
                service.kill()
                service = host.service = start(data, port=port, forked=True)
                page.game(game, "refresh")
                lines = host.lines(game)
                if len(lines) == view["seq"] + 1:  # nothing was signed before the connection was cut
                    assert not signed_for(page)[game, len(lines)]
                else:
                    assert lines[view["seq"] + 1].entry.text in signed_for(page)[game, view["seq"] + 1]
                assert page.do("list", store="outbox") == []
            assert request >= 3
            assert all(len(texts) == 1 for texts in signed_for(page).values() if texts)
    finally:
        service.stop()


def test_a_refused_entry_is_not_signed_again_unasked(service: Service, tmp_path: Path) -> None:
    """The same key plays elsewhere meanwhile: the page shows the new head, and signs nothing."""
    host = Player(service, "host-twice").register()
    with page_player(host.origin(), tmp_path / "one") as one, page_player(host.origin(), tmp_path / "two") as two:
        seed = secrets.token_hex(32)
        one.arrive("guest-twice", seed)
        two.arrive("guest-twice", seed)
        game = one.join(invite(host))
        host.seed(game)
        reply(host, game)
        view = one.game(game, "view")
        other = two.game(game, "view")
        assert (view["hand"], view["legal"]) == (other["hand"], other["legal"])
        one.do("cut", request=2, when="before")  # its move is kept, and does not go out
        with pytest.raises(RefusedByPageError, match="no-answer"):
            one.game(game, "move", view["legal"][0])
        two.game(game, "move", view["legal"][1])
        one.game(game, "refresh")
        assert one.do("state", game=game)["last"] == two.do("state", game=game)["last"]
        assert one.do("list", store="outbox") == []
        assert ["place-taken", {"entry": view["seq"] + 1}] in one.do("remarks")
        assert len(signed_for(one)[game, view["seq"] + 1]) <= 1
