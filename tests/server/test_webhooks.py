"""Posts to webhooks: their bytes, their signature as ssh-keygen verifies it, and the effect of each answer."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hkoji_server.service.games.notice_rules import EVENTS, NoticeEvent
from hkoji_server.service.notices.couriers import Gone, Later, Notice
from hkoji_server.service.notices.guarded_post import GuardedPoster
from hkoji_server.service.notices.posting import LONGEST_WAIT
from hkoji_server.service.notices.webhook import WebhookCourier, code_post, notice_post
from hkoji_server.service.players.channel_settings import FORMATS, ChannelSettings
from hkoji_server.service.players.limits import POSTS, RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.sqlite.rates import SqliteRates
from hkoji_server.store.tables import Channel
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import NotDeliveredError, SignatureError
from hkoji.log import sshsig
from hkoji.log.canonical import decode, decode_base64, encode
from hkoji.log.private_key import PrivateKey
from hkoji.rules.registry import RULESETS
from tests.support.loops import run
from tests.support.receiver import Received, Receiver, answers, receiver
from tests.support.rows import a_kept_channel
from tests.support.service_in_process import Clock, drawn

ROOT = Path(__file__).parents[2]
KEY = PrivateKey.from_seed(b"k" * 32)
CHANNEL = "5f0c9a1e77b2d430"
KEYS = ["deadline", "event", "game", "head", "id", "opponent", "seq", "text", "url", "v"]

names = st.from_regex(r"[a-z0-9][a-z0-9_-]{1,31}", fullmatch=True)
hexes = st.text("0123456789abcdef", min_size=64, max_size=64)
times = st.sampled_from([None, "2026-11-23T12:00:00Z"])
notices = st.builds(
    Notice,
    id=st.integers(0, 99).map(lambda seq: f"{'ab' * 16}.{seq}.turn.{CHANNEL}"),
    event=st.sampled_from([NoticeEvent(name) for name in EVENTS]),
    player=names,
    game=hexes.map(lambda each: each[:32]),
    seq=st.integers(0, 99),
    head=hexes,
    opponent=st.none() | names,
    ruleset=st.sampled_from([encode(dict(kind().to_json())) for kind in RULESETS.values()]),
    deadline=times,
    url=st.just("https://hanamikoji.example/v1/games/x"),
    channels_off=st.just((CHANNEL,)),
)


def a_notice(seq: int = 7) -> Notice:
    return Notice(
        id=f"{'27' * 16}.{seq}.turn.{CHANNEL}",
        event=NoticeEvent.TURN,
        player="alice",
        game="27" * 16,
        seq=seq,
        head="9f" * 32,
        opponent="bob",
        ruleset='{"first":"host","max_rounds":0,"name":"hanamikoji","tiebreak":"geisha","version":1}',
        deadline="2026-11-23T12:00:00Z",
        url=f"https://hanamikoji.example/v1/games/{'27' * 16}",
    )


# --- bytes ------------------------------------------------------------------------------------------------------------


def test_a_post_in_full() -> None:
    assert json.loads(notice_post(a_notice(), "json").body) == {
        "deadline": "2026-11-23T12:00:00Z",
        "event": "turn",
        "game": "27" * 16,
        "head": "9f" * 32,
        "id": f"{'27' * 16}.7.turn.{CHANNEL}",
        "opponent": "bob",
        "seq": 7,
        "text": "alice: it is your turn in game 27272727 (hanamikoji) against bob, until 2026-11-23T12:00:00Z.",
        "url": f"https://hanamikoji.example/v1/games/{'27' * 16}",
        "v": 1,
    }


@given(notices)
def test_the_body_is_canonical_and_says_no_more_than_the_notice(notice: Notice) -> None:
    post = notice_post(notice, "json")
    value = decode(post.body.decode(), "post")
    assert isinstance(value, dict)
    assert list(value) == KEYS
    fields = {**notice._asdict(), "event": notice.event.value, "text": value["text"], "v": 1}
    assert value == {name: fields[name] for name in KEYS}
    assert str(value["text"]).startswith(f"{notice.player}: ")
    assert notice_post(notice, "json") == post


@given(notices, st.sampled_from(FORMATS[1:]))
def test_chats_get_the_text_and_the_address_alone(notice: Notice, form: str) -> None:
    whole = json.loads(notice_post(notice, "json").body)
    (name, text), *more = json.loads(notice_post(notice, form).body).items()
    assert (name, more) == ({"slack": "text", "discord": "content"}[form], [])
    assert text == f"{whole['text']} {whole['url']}"
    assert len(text) < 2000  # Discord's limit


def test_words_that_slack_would_take_for_a_command_are_escaped() -> None:
    channel = a_channel("https://hook.example/", form="slack")
    said = json.loads(code_post(channel, "k7wq2m9xpd", "https://x.example/?a=1&b=<!channel>", "slack").body)["text"]
    assert "https://x.example/?a=1&amp;b=&lt;!channel&gt;" in said
    assert "<" not in said


# --- sending ----------------------------------------------------------------------------------------------------------


def a_channel(target: str, *, form: str = "json") -> Channel:
    settings = ChannelSettings(format=form).text
    created = "2026-11-20T12:00:00Z"
    return a_kept_channel(CHANNEL, "alice", "webhook", target, ("turn",), settings, created, confirmed=created)


@dataclass
class Post:
    """A courier, its receiver on loopback, and the clock."""

    courier: WebhookCourier
    hook: Receiver
    clock: Clock

    def send(self, notice: Notice, form: str = "json") -> None:
        run(self.courier.send(a_channel(f"http://127.0.0.1:{self.hook.port}/in", form=form), notice))

    @property
    def ids(self) -> list[str]:
        return [each.headers["webhook-id"] for each in self.hook.posts]


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    clock = Clock()
    sources = ClockAndEntropy(clock, drawn("webhooks"), clock.elapsed)
    limits = RateLimits(SqliteRates(tmp_path / "limits", lambda: clock().timestamp()))
    poster = GuardedPoster(private=True)
    try:
        with receiver() as hook:
            yield Post(WebhookCourier(poster, KEY, sources, limits, origin="http://inside"), hook, clock)
    finally:
        limits.close()


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_notice_that_was_taken(status: int, post: Post) -> None:
    post.hook.behave = answers(status)
    post.send(a_notice())
    assert [each.body for each in post.hook.posts] == [notice_post(a_notice(), "json").body]


def test_the_same_notice_has_the_same_id_and_body_in_retries(post: Post) -> None:
    post.hook.turns = [answers(500), answers(500)]
    for _ in range(2):
        with pytest.raises(NotDeliveredError, match="500"):
            post.send(a_notice())
        post.clock.pass_by(60)
    post.send(a_notice())
    assert post.ids == [a_notice().id] * 3
    assert len({each.body for each in post.hook.posts}) == 1
    sent = [int(each.headers["webhook-timestamp"]) for each in post.hook.posts]
    assert sent == [sent[0], sent[0] + 60, sent[0] + 120]


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 429, 500, 503])
def test_any_other_answer_means_that_it_has_to_be_sent_again(status: int, post: Post) -> None:
    post.hook.behave = answers(status, Location="/elsewhere")
    with pytest.raises(NotDeliveredError, match=str(status)):
        post.send(a_notice())
    assert len(post.hook.posts) == 1


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("asked", "seconds"), [("7", 7), ("999999", LONGEST_WAIT)])
def test_a_receiver_can_ask_to_wait_but_not_for_ever(status: int, asked: str, seconds: int, post: Post) -> None:
    post.hook.behave = answers(status, Retry_After=asked)
    with pytest.raises(Later) as raised:
        post.send(a_notice())
    assert raised.value.seconds == seconds


def test_a_receiver_that_is_gone_gets_nothing_more(post: Post) -> None:
    post.hook.behave = answers(410)
    with pytest.raises(Gone, match="410"):
        post.send(a_notice())
    assert post.ids == [a_notice().id]


def test_a_channel_gets_only_so_many_in_an_hour(post: Post) -> None:
    for seq in range(POSTS.count):
        post.send(a_notice(seq), form="slack")
    with pytest.raises(Later) as raised:
        post.send(a_notice(99))
    assert 0 < raised.value.seconds <= POSTS.seconds / POSTS.count
    assert len(post.hook.posts) == POSTS.count
    post.clock.pass_by(raised.value.seconds)
    post.send(a_notice(99))
    assert post.ids[-1] == a_notice(99).id


def test_an_address_that_is_no_longer_allowed_is_not_posted_to(post: Post) -> None:
    """The operator has taken the setting back since the channel was made."""
    courier = WebhookCourier(GuardedPoster(), KEY, ClockAndEntropy(), RateLimits(), origin="http://inside")
    target = f"http://127.0.0.1:{post.hook.port}/in"
    with pytest.raises(Exception, match="https"):
        run(courier.send(a_channel(target), a_notice()))
    assert post.hook.connections == 0
    assert courier.show_target(target) == f"http://127.0.0.1:{post.hook.port}/..."


# --- signatures -------------------------------------------------------------------------------------------------------


def message_of(received: Received) -> bytes:
    headers = received.headers
    return f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + received.body


def test_each_post_is_signed_by_the_service(post: Post) -> None:
    for form in FORMATS:
        post.send(a_notice(), form=form)
    for received in post.hook.posts:
        blob = decode_base64(received.headers["hkoji-signature"], "signature")
        sshsig.verify(blob, KEY.public, sshsig.NOTICE, message_of(received), "server")
        for other in (received._replace(body=received.body + b" "), changed(received, "webhook-timestamp", "0")):
            with pytest.raises(SignatureError):
                sshsig.verify(blob, KEY.public, sshsig.NOTICE, message_of(other), "server")


def changed(received: Received, name: str, value: str) -> Received:
    return received._replace(headers={**received.headers, name: value})


def commands_of_the_page() -> str:
    """The commands with which docs/spec/http.md verifies a post."""
    page = (ROOT / "docs" / "spec" / "http.md").read_text()
    found = re.search(r"((?:^    .*\n)*^    ssh-keygen -Y verify .*-n hkoji\.notice\.v1.*\n)", page, re.M)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("damage", ["", "webhook-id", "webhook-timestamp", "body", "key"])
def test_the_commands_of_the_page_verify_a_post(damage: str, post: Post, tmp_path: Path) -> None:
    assert shutil.which("ssh-keygen")
    post.send(a_notice())
    received = post.hook.posts[0]
    headers = dict(received.headers)
    if damage.startswith("webhook"):
        headers[damage] += "1"
    (tmp_path / "body").write_bytes(received.body + (b" " if damage == "body" else b""))
    key = PrivateKey.from_seed(b"o" * 32) if damage == "key" else KEY
    environment = {
        "PATH": "/usr/bin:/bin",
        "ID": headers["webhook-id"],
        "TIMESTAMP": headers["webhook-timestamp"],
        "SIGNATURE": headers["hkoji-signature"],
        "KEY": key.public.text,
    }
    command = ["sh", "-euc", commands_of_the_page()]
    done = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode == 0) is not bool(damage), done
    if not damage:
        assert 'Good "hkoji.notice.v1" signature' in done.stdout
