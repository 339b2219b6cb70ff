"""The store on PostgreSQL: the contract, on a real server, and what is PostgreSQL's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hkoji_server.store.contract import Store
from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres import PostgresStore, open_postgres

from tests.support.loops import run
from tests.support.store_contract import Opened, StoreContract


@contextmanager
def opened_at(url: str) -> Iterator[PostgresStore]:
    store = run(open_postgres(parse_location(url)))
    try:
        yield store
    finally:
        run(store.close())


class TestPostgres(StoreContract):
    @pytest.fixture
    def opened(self, postgres: str) -> Opened:
        @contextmanager
        def opened() -> Iterator[Store]:
            with opened_at(postgres) as store:
                yield store

        return opened
