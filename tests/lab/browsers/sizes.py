"""Every page in both languages and schemes, with texts of every size, on a phone and at a desk; axe-core."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from hkoji.messages.text import LANGUAGES
from tests.support.visits import DESK, Faults, close, visit
from tests.web.test_access import (
    LARGE,
    NARROW,
    PAGES,
    SMALL,
    Site,
    assert_fits,
    assert_legible,
    broken_rules,
    open_all,
    screen,
    site,
)

__all__ = ["screen", "site"]
each_page = pytest.mark.parametrize("name", PAGES)
each_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture
def at_a_desk(chromium: Browser, faults: Faults) -> Iterator[Page]:
    faults.expect(r"404 .*/g/0{32}")
    page = visit(chromium, faults, DESK)
    yield page
    close(page.context)


@each_page
@each_language
def test_a_phone(screen: Page, site: Site, name: str, language: str) -> None:
    open_all(screen, site, name, language)
    assert_legible(screen)
    assert broken_rules(screen, {}) == []
    for size in (150, 200):
        assert_fits(screen, size, SMALL)


@each_page
@each_language
def test_a_desk(at_a_desk: Page, site: Site, name: str, language: str) -> None:
    open_all(at_a_desk, site, name, language)
    for size in (100, 200):
        assert_fits(at_a_desk, size, LARGE)
    assert_fits(at_a_desk, 100, NARROW)
