"""The service over real HTTP on PostgreSQL keeps the promises that it keeps on SQLite, by the same tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.test_service import (  # noqa: F401 # pytest finds them here too, with the service below
    players,
    test_a_login_challenge_is_good_once_and_for_its_signer,
    test_a_whole_game,
    test_abuse_is_refused_and_changes_nothing,
    test_lists_show_what_is_mine_what_waits_and_what_is_open,
    test_only_who_asked_for_an_offer_opens_it,
    test_the_same_entry_again_gets_the_first_receipt,
    test_weak_keys_and_false_registrations_are_refused,
)
from tests.support.cluster import Cluster
from tests.support.service import Service, serving


@pytest.fixture(scope="module")
def service(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    name = cluster.create("migrated")
    with serving(tmp_path_factory.mktemp("service") / "data", database=cluster.url(name), forked=True) as running:
        yield running
    cluster.drop(name)
