"""Eight tabs of one browser hold one stream of news, which another takes over when the tab that holds it is closed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.support.service import Player, Service
from tests.web.test_tabs import hold_one_stream

pytestmark = pytest.mark.usefixtures("asked_about_names")


def test_eight_tabs_hold_one_stream(service: Service, host: Player, phone: Page) -> None:
    hold_one_stream(phone, service, host, 8)
