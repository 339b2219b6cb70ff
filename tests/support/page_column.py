"""Gives the logs that attacks leave to the checker of pages, for the column *page* of docs/security.md.

Each log that `hkoji audit` refuses in a test of an attack is given to the checker of pages too, with the same keys. It
does steps 1 to 7, so it finds a lie that only the rules of the game show in none of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from hkoji.audit import log_audit
from hkoji.audit.keyring import ExpectedKeys
from tests.support.docs import DOCS, rows
from tests.support.page_audit import by_page

LOG: Final = "the log"
PARTLY: Final = "partly"
AUDIT: Final = "only the audit"
RULED: Final = {
    "test_a_shorter_log": "test_a_log_that_does_not_hold",
    "test_a_fork_of_what_was_seen": "test_a_log_that_does_not_hold",
    "test_an_entry_left_out": "test_entries_that_are_not_as_they_were",
    "test_another_games_log": "test_another_games_log",
    "test_an_old_receipt_for_the_own_move": "test_a_receipt_that_is_not_for_the_own_entry",
    "test_a_hand_that_changes": "test_a_hand_that_changes",
    "test_a_wrong_hand_from_the_start": "test_a_wrong_hand_from_the_start_is_found_at_the_end",
    "test_anothers_view": "test_a_view_of_another_seat_or_moment",
    "test_a_dealer_that_was_not_asked_for": "test_a_dealer_that_was_not_asked_for",
    "test_another_key_of_a_player": "test_another_key_of_a_known_player",
    "test_another_key_of_the_service": "test_another_key_of_the_service_is_another_service",
    "test_a_login_for_another_service": "test_a_login_for_another_place_is_not_signed",
    "test_an_address_that_redirects": "test_a_redirect_is_not_followed",
    "test_a_relay_of_another_service": "test_another_origin_than_the_address",
    "test_your_own_seat_given_away": "test_the_own_seat_given_away",
    "test_an_opponents_seat_given_away": "test_a_key_that_only_the_service_vouches_for",
    "test_a_known_player_said_to_be_held": "test_a_known_player_said_to_be_held",
    "test_a_move_that_is_kept_back": "test_a_move_that_was_held_back_convicts",
    "test_another_host_of_a_link": "test_a_game_behind_a_link_that_another_code_has_opened",
    "test_an_agreement_changed_behind_a_link": "test_a_game_that_changes_after_it_was_shown",
}
"""The tests of `tests/web/test_attacks.py` that try an attack against the page, by the test of the attack."""
_ENOUGH: Final = 12
"""How many logs of a test are checked; some try hundreds that are alike."""


class Heard:
    """The refused logs of each test, with the keys that were expected."""

    def __init__(self) -> None:
        self.test = ""
        self._works: dict[str, list[tuple[bytes, ExpectedKeys, Any]]] = defaultdict(list)  # Any: private to the audit

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Notes each log that is audited within the block."""
        parse = log_audit._parse

        def noted(log: str | bytes, pins: ExpectedKeys) -> Any:  # Any: private to the audit
            made = parse(log, pins)
            self._works[self.test].append((log if isinstance(log, bytes) else log.encode(), dict(pins), made[0]))
            return made

        with patch.object(log_audit, "_parse", noted):
            yield

    def verdicts(self) -> dict[str, str]:
        """The word of the column for each test that left a log which does not hold."""
        found: dict[str, set[bool]] = defaultdict(set)
        refused = [(test, log, pins) for test in self._works for log, pins in self._refused(test)]
        said = by_page("node", ((log, pins) for _, log, pins in refused))
        for (test, _, _), verdict in zip(refused, said, strict=True):
            found[test].add(bool(verdict.found))
        return {test: LOG if seen == {True} else AUDIT if seen == {False} else PARTLY for test, seen in found.items()}

    def _refused(self, test: str) -> list[tuple[bytes, ExpectedKeys]]:
        """Some of its logs, equally many of those that the rules refuse and of all others."""
        kinds: dict[bool, dict[bytes, ExpectedKeys]] = {True: {}, False: {}}
        for log, pins, work in self._works[test]:
            if work.findings:
                kinds[all(each.step > log_audit.AuditStep.DEAL for each in work.findings)].setdefault(log, pins)
        return [each for logs in kinds.values() for each in list(logs.items())[: _ENOUGH // 2]]


def column() -> Mapping[str, str]:
    """The column of the page, by the name of the test."""
    return {cells[5].strip("`"): cells[6] for cells in rows((DOCS / "security.md").read_text(), "attack")}
