"""A sample of `frame`: no mails file and no DNS record of a player makes an honest service look guilty."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hkoji.mail.mails_file import format_mails
from tests.lab.mail.frame import SCHEMES, Framed, framed_world, judge, play_to_end
from tests.support.mail.proved_table import proved_game


@pytest.mark.parametrize("name", ["as providers do", "expires just after T", "two records"])
def test_nobody_is_named(name: str, tmp_path: Path) -> None:
    done = Framed()
    with framed_world(tmp_path / "data", SCHEMES[name]) as world:
        lines, data = play_to_end(world, 2)
    judge(done, name, lines, data, 8, random.Random(name))
    assert done.wrong == []
    assert done.grades == {"word" if name == "two records" else "checked": 1}


def test_a_named_service_would_be_detected() -> None:
    table = proved_game(9, lie=lambda mail: mail._replace(line="resign") if mail.number == 2 else mail)
    done = Framed()
    judge(done, "lying", tuple(table.lines), format_mails([table.mailbox()]), 1, random.Random(1))
    assert any("is named" in each for each in done.wrong)
