"""The tests of play by mail that every store must pass: mailboxes, tokens, mails that have come, evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from hkoji_server.service.games.notice_rules import NoticeEvent
from hkoji_server.service.mail.tokens import LetterIds, LetterThread, read_thread
from hkoji_server.service.notices.couriers import Notice
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import NewNotice
from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_tables import MailEvidence
from hkoji_server.store.mail_values import (
    EVENTS_OF,
    MOST_INVITED_A_DAY,
    MOST_TRIES,
    MOST_UNANSWERED,
    MOST_WAITING,
    NO_GAME,
    OTHER_BYTES,
    PROBE_SECONDS,
    RESERVED_SECONDS,
    SET_ASIDE,
    UNASKED_DAYS,
    ClosedMailError,
    ImapPlace,
    KeptMail,
    LetterLimits,
    LetterRows,
    Mailbox,
    MailQueue,
    NewAnswer,
    NewMail,
    ProbeMail,
    ReplyToken,
    WaitingSum,
)
from hkoji_server.store.notices import LeasedNotice, WaitingNotice
from hkoji_server.store.time_contract import OLDEST, StaleDecisionError

from hkoji.errors import ExistsError, ForbiddenError, NotFoundError, TooManyError
from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds
from hkoji.log.private_key import PrivateKey
from hkoji.mail.addresses import OwnAddress
from tests.support import mailboxes
from tests.support.leases import read_due
from tests.support.loops import run
from tests.support.rows import a_certificate, a_held_key, a_player, a_retired_key, an_entropy, an_evidence, replace
from tests.support.table import AT
from tests.support.time_contract import FIRST, MOMENT, SECOND, THIRD, Clocked
from tests.support.times import log_time, now
from tests.support.waiting_contract import new_game, next_line

FAR = "2027-06-01T00:00:00Z"
YEAR = 365 * DAY


def key_text(number: int) -> str:
    """A public key."""
    return PrivateKey.from_seed(bytes([number]) * 32).public.text


def invitation(name: str = "bob", address: str = "", number: int = 1, **changes: Any) -> NewMailbox:
    """An invitation by alice under a name, with the key of that number."""
    key = key_text(number)
    address = address or f"{name.title()}@Example.org"
    box = Mailbox(f"channel-{number}", name, address, key, "en", "invited", FIRST)
    certificate = a_certificate(f'{{"at":"{FIRST}","key":"{key}"}}', key, address.lower(), f"{number:064x}")
    made = NewMailbox(box, "{}", "alice", a_held_key(key, name, f"private {number}"), certificate)
    return replace(made, **changes)


def later(new: NewMailbox, at: str, **changes: Any) -> NewMailbox:
    """The same at another time."""
    return replace(new, mailbox=replace(new.mailbox, since=at), **changes)


def with_mailbox(store: Store, name: str = "bob", number: int = 1) -> Mailbox:
    """A store with the mailbox of a player who has accepted, and alice and the service."""
    run(store.add_identity("key", "http://service"))
    run(store.add_player(a_player("alice", key_text(200), FIRST, "text", "sig")))
    return add_mailbox(store, name, number)


def add_mailbox(store: Store, name: str, number: int) -> Mailbox:
    """The mailbox of one more player who has accepted."""
    new = invitation(name, number=number, by=f"host{number}")
    run(store.invite_mailbox(new))
    box = new.mailbox
    run(mailboxes.accept(store, box.channel, a_player(name, box.held_key, FIRST, "text", "sig")))
    found = run(store.mailbox(box.channel))
    assert found is not None
    return found


def mail(box: Mailbox, number: int, **changes: Any) -> NewMail:
    """A mail of the owner of a mailbox, received now."""
    made = NewMail(
        digest=f"{number:064x}",
        via="lmtp",
        raw=b"From: bob\r\n\r\n1e\xff\r\n",
        received=now(),
        name=box.name,
        channel=box.channel,
        game="ab" * 16,
        message_id=f"<{number}@example.org>",
        reply="cd" * 32,
        outages=0,
    )
    return replace(made, **changes)


def outbox(store: Store) -> list[tuple[str, int, str, str]]:
    """Game, number, event and channel of all letters; nobody may hold any afterwards."""
    return sorted(each[:4] for each in run(read_due(store, ("mail",), FAR)))


def with_letters(
    store: Store, number: int, *, box: Mailbox | None = None, seed: int = 1
) -> tuple[Mailbox, tuple[WaitingNotice, ...]]:
    """A mailbox, and so many letters to it about turns of one game that wait to be sent."""
    box = box or with_mailbox(store)
    table = new_game(store, seed)
    notices = tuple(NewNotice(table.game, seq, "turn", box.name, FIRST) for seq in range(1, number + 1))
    run(store.append(replace(next_line(table, 0), notices=notices)))
    return box, tuple(WaitingNotice(table.game, each.seq, "turn", box.channel, FIRST, FIRST, 0) for each in notices)


def notice_of(waiting: WaitingNotice) -> Notice:
    """A notice as those get it who plan its letter."""
    event = NoticeEvent(waiting.event)
    return Notice("", event, "bob", waiting.game, waiting.seq, "", None, "", None, "")


def plan_in(
    thread: LetterThread, waiting: WaitingNotice, made: str, *, answers: str | None = None
) -> tuple[LetterIds, LetterRows]:
    """The ids of a letter with the token `made`, and its rows."""
    ids, row = thread.add(OwnAddress("play@hkoji.example"), notice_of(waiting), made, answers, "")
    return ids, LetterRows(thread.new.made, row, None if thread.kept is None else thread.kept.answers, ())


def planned(store: Store, box: Mailbox, waiting: WaitingNotice, at: str = FIRST, **changes: Any) -> LetterRows:
    """The rows of a letter as it is planned now."""
    thread = run(read_thread(store, box, waiting.game, at))
    return replace(plan_in(thread, waiting, "a" * 26)[1], **changes)


def counts(store: Store, box: Mailbox, waiting: WaitingNotice, limits: LetterLimits, at: str = FIRST) -> bool:
    """Leases a letter that counts, if the limits allow that."""
    return isinstance(
        run(store.lease_letter(waiting, FAR, planned(store, box, waiting, at, limits=limits))), LeasedNotice
    )


def waiting_there(store: Store, box: Mailbox) -> tuple[str | None, WaitingNotice | None]:
    """When the first letter is to be sent, and the first one to a mailbox."""
    return run(store.next_notice(("mail",))), run(store.due_notice(box.channel, FAR))


def token(number: int, **changes: Any) -> ReplyToken:
    """A token of bob's."""
    made = ReplyToken(f"{number:064x}", "channel-1", "bob", "ab" * 16, "7", "turn", "", FIRST)
    return replace(made, **changes)


def evidence(number: int, **changes: Any) -> MailEvidence:
    """A mail of bob's that is kept."""
    made = an_evidence(
        f"{number:064x}", "ab" * 16, "cd" * 32, "bob", b"raw\xff", b"dns", "5a" * 32, "00", "turn", "", "token", 1
    )
    return replace(made, **changes)


class MailContract:
    """The promises of the areas of the store that are about play by mail."""

    def test_the_secret_of_tokens_is_made_once(
        self, store: Store, opened: Callable[[], AbstractContextManager[Store]]
    ) -> None:
        run(store.add_identity("key", "http://service"))

        async def both() -> tuple[str, ...]:
            return tuple(await asyncio.gather(*(store.mail_secret() for _ in range(4))))

        secrets = {*run(both()), run(store.mail_secret())}
        assert len(secrets) == 1
        (secret,) = secrets
        assert len(bytes.fromhex(secret)) == 32
        with opened() as other:
            assert run(other.mail_secret()) == secret
            assert run(other.identity()) == ("key", "http://service")

    # --- invitations ----------------------------------------------------------------------------------------------

    def test_an_invitation_is_kept_and_reserves_its_name(self, store: Store) -> None:
        new = invitation()
        assert run(store.invite_mailbox(new)) == new.certificate
        box = run(store.mailbox("channel-1"))
        assert box == new.mailbox
        found = (
            run(store.mailbox_of("bob", FIRST)),
            run(store.mailbox_at("BOB@example.ORG")),
            run(store.mailbox_of_key(new.mailbox.held_key)),
        )
        assert found == (box, box, box)
        assert run(store.held_key(new.mailbox.held_key)) == new.held
        assert run(store.certificates(new.mailbox.held_key)) == (new.certificate,)
        stolen = a_player("bob", key_text(9), FIRST, "text", "sig")
        with pytest.raises(ExistsError):
            run(store.add_player(stolen))
        assert run(store.player("bob")) is None
        assert outbox(store) == []  # the letter is that of the entry that opens the game
        # Its time is over, and no game has been opened.
        assert run(store.mailbox_of("bob", add_seconds(FIRST, RESERVED_SECONDS))) is None
        assert run(store.add_player(replace(stolen, registered=add_seconds(FIRST, RESERVED_SECONDS)))) is None

    def test_an_invitation_without_its_game_can_be_repeated_by_the_same_player_only(self, store: Store) -> None:
        new = invitation()
        run(store.invite_mailbox(new))
        again = later(invitation(number=2), add_seconds(FIRST, 60))
        for _ in range(MOST_INVITED_A_DAY + 1):  # repetitions are not counted
            assert run(store.invite_mailbox(again)) == new.certificate
        assert run(store.held_key(again.mailbox.held_key)) is None
        assert run(store.mailbox_at("bob@example.org")) == new.mailbox
        for other in (
            replace(again, by="carol"),
            replace(again, by=None),
            replace(again, mailbox=replace(again.mailbox, name="bobby")),
        ):
            with pytest.raises((ExistsError, ForbiddenError)):
                run(store.invite_mailbox(other))
        assert run(store.mailbox_at("bob@example.org")) == new.mailbox

    def test_a_host_who_invites_opens_one_game_and_nobody_else_does(self, store: Store) -> None:
        run(store.invite_mailbox(later(invitation(), now())))
        at = now()
        assert run(store.may_invite("bob", "alice", at))
        assert not run(store.may_invite("bob", "carol", at))
        assert run(store.may_invite("dave", "carol", at))
        table = new_game(store, 1)
        opened = {"status": "open", "host": "alice", "guest": None, "invite": "bob", "updated": at}
        run(store.append(next_line(table, 0, **opened)))
        assert not run(store.may_invite("bob", "alice", at))
        # The name is reserved as long as the game is open.
        assert run(store.mailbox_of("bob", FAR)) is not None
        run(store.append(next_line(table, 1, **{**opened, "status": "cancelled"})))
        assert run(store.mailbox_of("bob", FAR)) is None
        assert run(store.may_invite("bob", "carol", FAR))

    def test_the_letter_of_the_entry_that_opens_a_game_goes_to_an_invited_mailbox(self, store: Store) -> None:
        run(store.invite_mailbox(invitation()))
        table = new_game(store, 1)
        told = [NewNotice(table.game, 1, event, "bob", FIRST) for event in ("invited", "turn")]
        run(store.append(replace(next_line(table, 0, invite="bob"), notices=tuple(told))))
        assert outbox(store) == [(table.game, 1, "invited", "channel-1")]

    def test_a_letter_goes_out_if_the_operator_invites(self, store: Store) -> None:
        new = replace(invitation(), by=None)
        run(store.invite_mailbox(new))
        assert outbox(store) == [("", 0, "invited", "channel-1")]
        stands = add_seconds(FIRST, UNASKED_DAYS * DAY - 1)
        assert run(store.mailbox_of("bob", stands)) == new.mailbox
        assert run(store.mailbox_of("bob", add_seconds(stands, 1))) is None

    def test_a_name_of_a_player_is_not_invited_whatever_the_address(self, store: Store) -> None:
        with_mailbox(store)
        run(store.add_player(a_player("carol", key_text(201), FIRST, "text", "sig")))
        errors = []
        for number, (name, address) in enumerate(
            [("bob", "bob@example.org"), ("bob", "else@example.org"), ("carol", "bob@example.org")]
        ):
            with pytest.raises(ExistsError) as raised:
                run(store.invite_mailbox(later(invitation(name, address, number=5 + number), SECOND)))
            errors.append(str(raised.value).replace("carol", "bob"))
        assert len(set(errors)) == 1
        assert run(store.mailbox_at("else@example.org")) is None

    def test_a_mailbox_that_cannot_be_invited_is_refused_in_one_way(self, store: Store) -> None:
        with_mailbox(store)  # bob plays
        run(store.invite_mailbox(invitation("carol", number=2, by="zoe")))  # an open invitation
        blocked = invitation("dave", number=3, by="zoe")
        run(store.invite_mailbox(blocked))
        assert run(store.change_mailbox(replace(blocked.mailbox, state="blocked")))
        at = FIRST
        for number in range(MOST_UNANSWERED):
            run(store.invite_mailbox(later(invitation("erin", number=4 + number, by=f"host{number}"), at)))
            at = add_seconds(at, RESERVED_SECONDS)
        errors = set()
        for number, name in enumerate(("bob", "carol", "dave", "erin")):
            with pytest.raises(ForbiddenError) as raised:
                run(store.invite_mailbox(later(invitation("frank", f"{name}@example.org", 20 + number), FIRST)))
            errors.add((str(raised.value), raised.value.hint))
            assert run(store.held_key(key_text(20 + number))) is None
        assert [text for text, _ in errors] == ["this mailbox cannot be invited now"]
        assert run(store.mailbox_of("frank", FIRST)) is None
        # Of a year ago they do not count.
        run(store.invite_mailbox(later(invitation("erin", number=30), add_seconds(at, YEAR))))

    def test_addresses_that_differ_behind_a_plus_are_one_mailbox_for_limits_and_for_who_wants_no_letters(
        self, store: Store
    ) -> None:
        def invited(address: str, number: int) -> bool:
            new = invitation(f"name{number}", address, 100 + number, by=f"host{number}")
            try:
                run(store.invite_mailbox(new))
            except ForbiddenError:
                assert run(store.mailbox_at(address)) is None
                return False
            return True

        tags = ("erin+1@example.org", "Erin@example.org", "erin+2@example.org", "erin+3@example.org")
        assert [invited(each, number) for number, each in enumerate(tags)] == [True] * MOST_UNANSWERED + [False]
        # Another person, or another domain.
        for number, other in enumerate(("erin1@example.org", "er@example.org", "erin+4@other.org"), 10):
            assert invited(other, number)
        assert invited("dave+x@example.org", 20)
        dave = run(store.mailbox_at("dave+x@example.org"))
        assert dave is not None
        assert run(store.change_mailbox(replace(dave, state="blocked")))
        assert [invited(f"dave{tag}@example.org", 21 + n) for n, tag in enumerate(("", "+y", "+"))] == [False] * 3
        assert invited("daves@example.org", 30)

    def test_a_player_invites_at_most_five_mailboxes_a_day_and_refusals_count(self, store: Store) -> None:
        with_mailbox(store)
        run(store.invite_mailbox(invitation("carol", number=2)))
        for number in range(1, MOST_INVITED_A_DAY):
            new = invitation(f"name{number}", "bob@example.org", 10 + number)
            with pytest.raises(ForbiddenError):
                run(store.invite_mailbox(later(new, add_seconds(FIRST, number))))
        last = invitation("frank", number=20)
        with pytest.raises(TooManyError):
            run(store.invite_mailbox(later(last, add_seconds(FIRST, DAY - 1))))
        assert run(store.mailbox_at("frank@example.org")) is None
        run(store.invite_mailbox(later(last, add_seconds(FIRST, DAY))))
        assert run(store.mailbox_at("frank@example.org")) is not None

    def test_an_invitation_that_was_answered_does_not_count_and_frees_the_name(self, store: Store) -> None:
        at = FIRST
        for number in range(MOST_UNANSWERED + 2):
            new = later(invitation(number=1 + number, by=f"host{number}"), at)
            assert run(store.invite_mailbox(new)) == new.certificate
            run(mailboxes.answer(store, new.mailbox.channel, at))
            assert run(store.mailbox_of("bob", at)) is None
            at = add_seconds(at, 1)
        assert run(store.mailbox("channel-1")) is None  # another one has its place
        assert run(store.held_key(key_text(1))) is not None  # a log may have it

    # --- accepting, and changes -----------------------------------------------------------------------------------

    def test_accepting_registers_the_name_with_the_held_key(self, store: Store) -> None:
        new = invitation()
        run(store.invite_mailbox(new))
        made = a_player("bob", new.mailbox.held_key, FIRST, "text", "sig")
        for wrong in (replace(made, name="bobby"), replace(made, key=key_text(9))):
            with pytest.raises(ForbiddenError):
                run(mailboxes.accept(store, "channel-1", wrong))
        with pytest.raises(NotFoundError):
            run(mailboxes.accept(store, "channel-2", made))
        assert run(store.player("bob")) is None
        for _ in range(2):
            run(mailboxes.accept(store, "channel-1", made))
            assert run(store.player("bob")) == made
            box = run(store.mailbox_of("bob", FAR))
            assert box == replace(new.mailbox, state="active")
        (channel,) = run(store.channels("bob"))
        assert (channel.kind, channel.target, channel.event_names) == ("mail", "Bob@Example.org", EVENTS_OF["active"])
        assert channel.works

    def test_a_mailbox_that_does_not_wait_for_an_answer_cannot_accept(self, store: Store) -> None:
        new = invitation()
        run(store.invite_mailbox(new))
        run(store.change_mailbox(replace(new.mailbox, state="blocked")))
        with pytest.raises(ForbiddenError):
            run(mailboxes.accept(store, "channel-1", a_player("bob", new.mailbox.held_key, FIRST, "text", "sig")))
        assert run(store.player("bob")) is None

    @pytest.mark.parametrize("state", ["stopped", "locked", "active"])
    def test_a_mailbox_is_changed_with_the_events_of_its_channel(self, store: Store, state: Any) -> None:
        box = with_mailbox(store)
        changed = replace(
            box, address="New@Example.org", held_key="other", lang="it", state=state, since=SECOND, orders=False,
            cards=False, dkim_seen=3, counter=2, paused=SECOND, heard=THIRD,
        )  # fmt: skip
        assert run(store.change_mailbox(changed))
        assert run(store.mailbox_of("bob", FAR)) == changed
        assert run(store.mailbox_at("bob@example.org")) is None
        (channel,) = run(store.channels("bob"))
        assert (channel.target, channel.event_names) == ("New@Example.org", EVENTS_OF[state])
        assert not run(store.change_mailbox(replace(box, channel="none")))

    def test_a_change_leaves_what_others_have_changed_since(self, store: Store) -> None:
        was = with_mailbox(store)
        locked = replace(was, state="locked", since=SECOND, paused=SECOND)
        assert run(store.change_mailbox(locked, was))
        assert run(store.change_mailbox(replace(was, lang="it", heard=THIRD), was))
        both = replace(locked, lang="it", heard=THIRD)
        assert run(store.mailbox(was.channel)) == both
        # Nor does a state that was to be reached from another one.
        assert run(store.change_mailbox(replace(was, state="stopped", since=THIRD, cards=False), was))
        assert run(store.mailbox(was.channel)) == replace(both, cards=False)
        assert run(store.channels("bob"))[0].event_names == EVENTS_OF["locked"]

    def test_letters_go_on_when_a_held_key_is_revoked(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.revoke_key(a_retired_key(box.held_key, "bob", SECOND, revoked=True)))
        assert [each.id for each in run(store.channels("bob"))] == [box.channel]

    def test_an_earlier_held_key_leads_to_the_mailbox(self, store: Store) -> None:
        box = with_mailbox(store)
        other = a_held_key(key_text(2), "bob", "private")
        newest = a_certificate(f'{{"at":"{SECOND}"}}', box.held_key, "bob@example.org", "5a")
        run(store.add_held_key(a_held_key(box.held_key, "bob", "private 1"), newest))
        assert next(each.text for each in run(store.certificates(box.held_key))) == newest.text
        run(store.add_held_key(other, replace(newest, text=f'{{"at":"{THIRD}"}}', key=other.key)))
        run(store.change_mailbox(replace(box, held_key=other.key)))
        for key in (box.held_key, other.key):
            found = run(store.mailbox_of_key(key))
            assert found is not None
            assert found.held_key == other.key
        assert run(store.mailbox_of_key("unknown")) is None

    def test_an_erased_mailbox_is_gone_and_keys_stay(self, store: Store) -> None:
        box = with_mailbox(store)
        run(mailboxes.keep_reply(store, token(1)))
        kept = run(store.add_incoming(mail(box, 1)))
        assert kept.number is not None
        run(
            store.close_incoming(
                Closing(kept.number, answers=(NewAnswer("", box.channel, FIRST),), evidence=evidence(1))
            )
        )
        waiting = run(store.add_incoming(mail(box, 2))).number
        assert waiting is not None
        assert run(store.erase_mailbox(box.channel))
        assert run(store.mailbox_at("bob@example.org")) is None
        assert (run(store.channels("bob")), outbox(store)) == ((), [])
        assert run(store.evidence("ab" * 16, "bob")) == ()
        assert run(store.reply(token(1).digest)) is None
        (certificate,) = run(store.certificates(box.held_key))
        assert (certificate.mailbox, certificate.salt) == ("", "")
        assert run(store.held_key(box.held_key)) is not None
        assert run(store.player("bob")) is not None
        for number in (kept.number, waiting):
            left = run(store.incoming(number))
            assert left is not None
            assert (left.raw, left.name, left.message_id, left.state) == (b"", "", "", "done")
        assert run(store.oldest_unprocessed_mail()) is None
        assert not run(store.erase_mailbox(box.channel))
        # No number is used twice.
        other = with_mailbox(store, "carol", 2)
        assert run(store.add_incoming(mail(other, 3))).number == waiting + 1

    # --- tokens ---------------------------------------------------------------------------------------------------

    def test_a_token_stays_as_it_was_kept_first(self, store: Store) -> None:
        box = with_mailbox(store)
        kept = token(1, expires=SECOND)
        run(mailboxes.keep_reply(store, kept))
        run(mailboxes.keep_reply(store, replace(kept, name="carol", answers='{"a":1}')))
        assert run(store.reply(kept.digest)) == kept
        changed = replace(kept, expires=None, spent=THIRD, answers='{"a":2}')
        run(store.add_incoming(mail(box, 1)))
        run(store.close_incoming(Closing(1, replies=(replace(changed, name="carol", purpose="yes"),))))
        assert run(store.reply(kept.digest)) == changed

    def test_a_token_that_goes_out_again_says_when(self, store: Store) -> None:
        for made, known in ((SECOND, SECOND), (FIRST, SECOND), (THIRD, THIRD)):
            run(mailboxes.keep_reply(store, token(1, made=made, spent=None if made == SECOND else made)))
            assert run(store.reply(token(1).digest)) == token(1, made=known)

    # --- letters --------------------------------------------------------------------------------------------------

    def test_a_letter_is_leased_with_all_its_rows(self, store: Store) -> None:
        box, waiting = with_letters(store, 2)
        letter = planned(store, box, waiting[0], tokens=(token(1), token(2)))
        leased = run(store.lease_letter(waiting[0], SECOND, letter))
        assert leased == waiting[0]._replace(not_before=SECOND, tries=1)
        assert isinstance(leased, LeasedNotice)
        assert run(store.due_notice(box.channel, FIRST)) == waiting[1]
        assert run(store.reply(letter.thread.digest)) == letter.thread
        assert [run(store.reply(token(number).digest)) for number in (1, 2)] == [token(1), token(2)]
        assert run(store.delete_notice(leased, sent=True))

    @pytest.mark.parametrize("refused", ["notice", "thread", "day", "hour"])
    def test_of_a_letter_that_is_not_leased_nothing_is_written(self, store: Store, refused: str) -> None:
        box, (first, second) = with_letters(store, 2)
        limits = LetterLimits("a", 1, 1 if refused == "hour" else 9)
        if refused in ("day", "hour"):
            assert counts(store, box, first, limits._replace(counter="a" if refused == "day" else "b"))
        letter = planned(store, box, second, tokens=(token(1),), limits=limits, ends=THIRD, shows=9)
        if refused == "notice":
            assert run(store.lease_notice(second, SECOND)) is not None
        elif refused == "thread":
            assert isinstance(run(store.lease_letter(first, SECOND, planned(store, box, first))), LeasedNotice)
        before = waiting_there(store, box), run(store.reply(letter.thread.digest))
        found = run(store.lease_letter(second, THIRD, letter))
        assert found == (refused if refused in ("day", "hour") else "changed")
        assert (waiting_there(store, box), run(store.reply(letter.thread.digest))) == before
        assert run(store.reply(token(1).digest)) is None
        if refused in ("notice", "thread"):  # and it was not counted
            (other,) = with_letters(store, 1, box=box, seed=2)[1]
            assert counts(store, box, other, limits)

    def test_a_letter_that_several_processes_plan_at_once_is_sent_by_one(
        self, store: Store, opened: Callable[[], AbstractContextManager[Store]]
    ) -> None:
        box, waiting = with_letters(store, 4)

        async def send(backend: Store, one: WaitingNotice, made: str, at: str) -> LetterIds | None:
            """Plans a letter until it is leased, or another process has leased it."""
            for _ in range(100):
                thread = await read_thread(backend, box, one.game, at)
                if thread.versions(notice_of(one)):
                    return None
                ids, letter = plan_in(thread, one, made)
                if isinstance(await backend.lease_letter(one, SECOND, letter), LeasedNotice):
                    return ids
            raise AssertionError

        with opened() as other:

            async def race() -> list[LetterIds | None]:
                made = ("abcdefghijklmnopqrstuvwxy" + each for each in "abcd" * 4)
                return await asyncio.gather(
                    *(
                        send(backend, each, next(made), f"2026-12-0{number}T00:00:00Z")
                        for each in waiting
                        for number, backend in enumerate((store, other) * 2, 1)
                    )
                )

            found = run(race())
        ids = [[each for each in found[at : at + 4] if each is not None] for at in range(0, 16, 4)]
        assert [len(each) for each in ids] == [1, 1, 1, 1]
        flat = [one for each in ids for one in each]
        assert len({each.message_id for each in flat}) == 4
        # Each letter stands behind another one, the first behind none.
        assert {each.in_reply_to for each in flat} <= {None, *(each.message_id for each in flat)}
        assert len({each.in_reply_to for each in flat}) == 4
        # After a crash it is planned again, perhaps when the game has moved on: it is the same.
        for one, first in zip(waiting, flat, strict=True):
            thread = run(read_thread(store, box, one.game, THIRD))
            assert plan_in(thread, one, "b" * 26, answers="<x@y>")[0] == first

    def test_letters_are_counted_by_mailbox_and_day_and_in_all_by_hour(self, store: Store) -> None:
        box, waiting = with_letters(store, 12)
        left = iter(waiting)

        def count(channel: str, at: str) -> bool:
            return counts(store, box, next(left), LetterLimits(channel, 3, 5), at)

        day, hour = "2026-11-21T23:59:59Z", "2026-11-21T22:00:00Z"
        assert [count("a", hour), count("a", day), count("a", day), count("a", day)] == [True, True, True, False]
        assert [count("b", day) for _ in range(3)] == [True, True, True]  # five in that hour, with those of a
        assert not count("c", day)
        assert count("c", hour)
        assert count("a", "2026-11-22T00:00:00Z")

    def test_of_letters_that_are_planned_from_the_same_thread_one_is_leased(
        self, store: Store, opened: Callable[[], AbstractContextManager[Store]]
    ) -> None:
        box, waiting = with_letters(store, 24)
        with opened() as other:

            async def race(some: Sequence[WaitingNotice]) -> list[object]:
                thread = await read_thread(store, box, some[0].game, FIRST)
                letters = [plan_in(thread, each, f"{each.seq:026}")[1] for each in some]
                tried = zip((store, other) * 4, some, letters, strict=True)
                return await asyncio.gather(*(each.lease_letter(one, SECOND, rows) for each, one, rows in tried))

            for at in (0, 8, 16):  # at first there is no row of the thread
                found = run(race(waiting[at : at + 8]))
                assert sum(isinstance(each, LeasedNotice) for each in found) == 1
                assert found.count("changed") == 7

    def test_no_more_letters_are_counted_than_allowed_also_of_those_that_are_leased_at_once(
        self, store: Store, opened: Callable[[], AbstractContextManager[Store]]
    ) -> None:
        box = with_mailbox(store)
        waiting = [with_letters(store, 1, box=box, seed=seed)[1][0] for seed in range(1, 9)]
        limits = LetterLimits("a", 3, 9)
        run(store.add_identity("key", "origin"))
        letters = [planned(store, box, each, limits=limits) for each in waiting]
        with opened() as other:

            async def race() -> list[object]:
                tried = zip((store, other) * 4, waiting, letters, strict=True)
                return await asyncio.gather(*(each.lease_letter(one, SECOND, rows) for each, one, rows in tried))

            found = run(race())
        assert sum(isinstance(each, LeasedNotice) for each in found) == 3
        assert found.count("day") == 5

    def test_with_the_letter_about_its_end_the_tokens_of_a_game_are_good_no_longer(self, store: Store) -> None:
        box, (waiting,) = with_letters(store, 1)
        kept = {
            "turn": token(1, game=waiting.game),
            "game": token(2, game=waiting.game, purpose="game"),
            "game, noted": token(3, game=waiting.game, purpose="game", expires=SECOND),
            "spent": token(4, game=waiting.game, spent=AT),
            "other game": token(5),
            "other mailbox": token(6, game=waiting.game, channel="other"),
        }
        for each in kept.values():
            run(mailboxes.keep_reply(store, each))
        letter = planned(store, box, waiting, ends=THIRD)
        assert isinstance(run(store.lease_letter(waiting, SECOND, letter)), LeasedNotice)
        now_kept = {name: run(store.reply(each.digest)) for name, each in kept.items()}
        expected = {
            **kept,
            "turn": replace(kept["turn"], spent=letter.at),
            "game": replace(kept["game"], expires=THIRD),
        }
        assert now_kept == expected

    def test_a_letter_that_shows_the_turn_drops_the_waiting_notices_of_it(self, store: Store) -> None:
        box, waiting = with_letters(store, 3)
        (other,) = with_letters(store, 1, box=box, seed=2)[1]
        table = new_game(store, 3)
        run(store.append(replace(next_line(table, 0), notices=(NewNotice(table.game, 1, "remind1", "bob", FIRST),))))
        letter = planned(store, box, waiting[0], shows=waiting[1].seq)
        assert isinstance(run(store.lease_letter(waiting[0], SECOND, letter)), LeasedNotice)
        left = {each[:3] for each in outbox(store)}
        # The turn that began after it was planned stays, and so does every other notice.
        assert left == {
            (waiting[2].game, waiting[2].seq, "turn"),
            (other.game, other.seq, "turn"),
            (table.game, 1, "remind1"),
        }

    # --- mails that have come -------------------------------------------------------------------------------------

    def test_a_mail_is_kept_once(self, store: Store, opened: Callable[[], AbstractContextManager[Store]]) -> None:
        box = with_mailbox(store)
        new = mail(box, 1)
        assert run(store.add_incoming(new)) == KeptMail("added", 1)
        with opened() as other:
            assert run(other.add_incoming(replace(new, via="pipe"))) == KeptMail("repeated", 1)
            kept = run(other.incoming(1))
        assert kept is not None
        assert (kept.raw, kept.via, kept.state, kept.tries, kept.result) == (new.raw, "lmtp", "new", 0, "")
        assert (kept.digest, kept.received, kept.name, kept.channel) == (new.digest, new.received, "bob", box.channel)
        assert (kept.game, kept.message_id, kept.reply) == (new.game, new.message_id, new.reply)
        run(store.close_incoming(Closing(1, result='{"x":1}')))
        assert run(store.add_incoming(new)) == KeptMail("repeated", 1)
        closed = run(store.incoming(1))
        assert closed is not None
        assert (closed.raw, closed.state, closed.result) == (b"", "done", '{"x":1}')
        assert run(store.incoming(2)) is None

    def test_the_first_mail_with_a_message_id_counts_for_ever_and_one_letter_says_so(self, store: Store) -> None:
        box, other = with_mailbox(store), with_mailbox(store, "carol", 2)
        first = mail(box, 1)
        run(store.add_incoming(first))
        run(store.close_incoming(Closing(1)))
        assert run(store.add_incoming(replace(mail(box, 2), message_id=first.message_id))) == KeptMail("other bytes", 2)
        assert run(store.add_incoming(replace(mail(box, 2), message_id=first.message_id))) == KeptMail("repeated", 2)
        third = replace(mail(box, 3), message_id=first.message_id)
        assert run(store.add_incoming(third)) == KeptMail("other bytes", None)
        assert outbox(store) == [(first.game, 2, "answer", box.channel)]
        noted = run(store.incoming(2))
        assert noted is not None
        assert (noted.state, noted.result, noted.raw) == ("done", OTHER_BYTES, b"")
        assert run(store.waiting_mails(10)) == ()
        # Others may have that Message-ID.
        assert run(store.add_incoming(replace(mail(other, 4), message_id=first.message_id))).outcome == "added"

    def test_of_a_name_at_most_five_mails_wait(self, store: Store) -> None:
        box, other = with_mailbox(store), with_mailbox(store, "carol", 2)
        for number in range(MOST_WAITING):
            assert run(store.add_incoming(mail(box, number))).outcome == "added"
        assert run(store.add_incoming(mail(box, 90))) == KeptMail("full", None)
        assert run(store.add_incoming(mail(box, 0))) == KeptMail("repeated", 1)
        assert run(store.add_incoming(mail(other, 91))).outcome == "added"
        run(store.close_incoming(Closing(1)))
        assert run(store.add_incoming(mail(box, 90))).outcome == "added"
        assert run(store.add_incoming(mail(box, 92))) == KeptMail("full", None)

    def test_mails_that_come_at_once_get_numbers_of_their_own_and_five_wait(self, store: Store) -> None:
        box, other = with_mailbox(store), with_mailbox(store, "carol", 2)

        async def all_at_once() -> list[KeptMail]:
            mails = [mail(each, number * 2 + place) for number in range(8) for place, each in enumerate((box, other))]
            return await asyncio.gather(*map(store.add_incoming, mails))

        kept = run(all_at_once())
        numbers = [each.number for each in kept if each.outcome == "added"]
        assert sorted(numbers, key=str) == sorted(range(1, 2 * MOST_WAITING + 1), key=str)
        assert len([each for each in kept if each.outcome == "full"]) == 6

    def test_a_mail_for_no_mailbox_is_not_kept(self, store: Store) -> None:
        box = with_mailbox(store)
        with pytest.raises(NotFoundError):
            run(store.add_incoming(mail(box, 1, channel="none")))
        assert run(store.incoming(1)) is None

    def test_a_mail_that_was_received_long_ago_is_not_kept(self, clocked: Clocked) -> None:
        with clocked(MOMENT) as (store, show):
            box = with_mailbox(store)
            new = mail(box, 1, received=log_time(MOMENT))
            show(MOMENT + timedelta(seconds=OLDEST + 1))
            with pytest.raises(StaleDecisionError):
                run(store.add_incoming(new))
            assert run(store.incoming(1)) is None
            show(MOMENT + timedelta(seconds=OLDEST))
            assert run(store.add_incoming(new)).outcome == "added"
            # A mail that is kept may be repeated at any time.
            show(MOMENT + timedelta(days=2))
            assert run(store.add_incoming(new)).outcome == "repeated"

    def test_mails_are_processed_in_order_one_of_a_name(self, store: Store) -> None:
        box, other = with_mailbox(store), with_mailbox(store, "carol", 2)
        assert run(store.oldest_unprocessed_mail()) is None
        times = [now(), now(), now()]
        for number, (each, at) in enumerate(zip((box, box, other), times, strict=True)):
            run(store.add_incoming(mail(each, number, received=at)))
        assert [each.number for each in run(store.waiting_mails(10))] == [1, 3]
        assert [each.number for each in run(store.waiting_mails(1))] == [1]
        assert run(store.oldest_unprocessed_mail()) == times[0]
        assert run(store.count_try(1, FIRST)) == 1
        assert run(store.count_try(1, SECOND)) == 2
        waiting = run(store.waiting_mails(10))[0]
        assert (waiting.name, waiting.received, waiting.tries, waiting.tried) == ("bob", times[0], 2, FIRST)
        run(store.close_incoming(Closing(1)))
        assert [each.number for each in run(store.waiting_mails(10))] == [2, 3]
        assert run(store.count_try(1, THIRD)) == 0

    def test_the_first_try_of_a_mail_is_kept_with_it_where_it_is_processed(self, store: Store) -> None:
        run(store.add_incoming(mail(with_mailbox(store), 1, tries=1)))
        assert [(each.tries, each.tried) for each in run(store.waiting_mails(10))] == [(1, None)]
        assert run(store.count_try(1, FIRST)) == 2
        assert [(each.tries, each.tried) for each in run(store.waiting_mails(10))] == [(2, FIRST)]

    def test_a_mail_that_is_set_aside_holds_nothing_up_and_keeps_its_bytes(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.add_incoming(mail(box, 1)))
        for _ in range(MOST_TRIES):
            run(store.count_try(1, FIRST))
        assert run(store.set_aside(1, answers=[NewAnswer("", box.channel, FIRST)]))
        assert not run(store.set_aside(1))
        assert outbox(store) == [("", 1, "answer", box.channel)]
        assert (run(store.waiting_mails(10)), run(store.oldest_unprocessed_mail())) == ((), None)
        aside = run(store.incoming(1))
        assert aside is not None
        assert (aside.state, aside.result, aside.raw) == ("failed", SET_ASIDE, mail(box, 1).raw)
        with pytest.raises(ClosedMailError):
            run(store.close_incoming(Closing(1)))

    # --- letters --------------------------------------------------------------------------------------------------

    def test_the_owner_of_a_mailbox_is_asked_the_same_once(self, store: Store) -> None:
        with_mailbox(store)
        new = Mailbox("asked", "alice", "Alice@Example.org", "", "en", "asked", FIRST, confirm="on.1")
        for channel in ("asked", "again"):
            asked = run(store.ask_mailbox(NewMailbox(replace(new, channel=channel), "{}", "alice")))
            assert asked == new
        assert outbox(store) == [("", 0, "confirm", "asked")]
        # Another address of the player takes its place. That of somebody who plays here cannot be asked.
        other = replace(new, channel="other", address="alice@example.net")
        assert run(store.ask_mailbox(NewMailbox(other, "{}", "alice"))) == other
        assert run(store.mailbox("asked")) is None
        with pytest.raises(ForbiddenError):
            run(store.ask_mailbox(NewMailbox(replace(new, address="bob@example.org"), "{}", "alice")))
        assert outbox(store) == [("", 0, "confirm", "other")]

    def test_a_name_that_is_asked_for_is_reserved_for_a_day(self, store: Store) -> None:
        with_mailbox(store)
        new = Mailbox("asked", "carol", "carol@example.org", key_text(231), "en", "asked", FIRST, confirm="register.1")
        run(store.ask_mailbox(NewMailbox(new, "{}", "carol@example.org")))
        for name in ("carol", "alice"):
            taken = replace(new, channel="other", name=name, address="dave@example.org", held_key=key_text(232))
            with pytest.raises(ExistsError):
                run(store.ask_mailbox(NewMailbox(taken, "{}", "dave@example.org")))
        assert run(store.mailbox_of("carol", add_seconds(FIRST, DAY - 1))) == new
        assert run(store.mailbox_of("carol", add_seconds(FIRST, DAY))) is None

    # --- what is no longer needed ---------------------------------------------------------------------------------

    def test_finished_work_is_removed_and_nothing_else(self, store: Store) -> None:
        box = with_mailbox(store)
        going = new_game(store, 1, status="playing")
        ended = new_game(store, 2, status="finished", updated=FIRST)
        lately = new_game(store, 3, status="finished", updated=THIRD)
        for number, table in enumerate((going, ended, lately)):
            mailed = run(store.add_incoming(mail(box, number))).number
            assert mailed is not None
            kept = evidence(number, game=table.game), an_entropy(table.game, "bob", "5e" * 32)
            run(store.close_incoming(Closing(mailed, evidence=kept[0], entropy=kept[1])))
        tokens = [
            token(1),
            token(2, spent=FIRST),
            token(3, spent=THIRD),
            token(4, expires=FIRST),
            token(5, expires=THIRD),
        ]
        for each in tokens:
            run(mailboxes.keep_reply(store, each))
        waiting = with_letters(store, 3, box=box, seed=4)[1]
        limits = LetterLimits("a", 1, 1)
        assert counts(store, box, waiting[0], limits, FIRST)
        assert counts(store, box, waiting[1], limits, THIRD)

        def remove(most: int = 100) -> int:
            return run(store.remove_old_mail(THIRD, spent_before=SECOND, ended_before=SECOND, most=most))

        assert remove() == 2 + 2 + 1 + 1
        assert remove() == 0
        assert [run(store.reply(each.digest)) is not None for each in tokens] == [True, False, True, False, True]
        assert [each.game for each in run(store.held_entropy(("", ""), 9))] == [going.game]
        assert [len(run(store.evidence(table.game, "bob"))) for table in (going, ended, lately)] == [1, 0, 1]
        assert not counts(store, box, waiting[2], limits, THIRD)
        assert run(store.mailbox(box.channel)) == box

    def test_a_mailbox_that_was_only_invited_is_removed_when_that_counts_no_more(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.invite_mailbox(later(invitation("carol", number=2), SECOND)))
        blocked = later(invitation("dave", number=3, by="zoe"), SECOND)
        run(store.invite_mailbox(blocked))
        run(store.change_mailbox(replace(blocked.mailbox, state="blocked")))

        def remove(now: str) -> int:
            return run(store.remove_old_mail(now, spent_before=FIRST, ended_before=FIRST, most=100))

        remove(add_seconds(SECOND, YEAR - 1))
        assert run(store.mailbox("channel-2")) is not None
        remove(add_seconds(SECOND, YEAR))
        assert run(store.mailbox("channel-2")) is None
        assert run(store.held_key(key_text(2))) is not None
        # Players stay, and so do those who want no invitations.
        assert run(store.mailbox(box.channel)) == box
        assert run(store.mailbox_at("dave@example.org")) is not None

    def test_bounces_of_a_mailbox_pause_its_letters_when_they_are_enough(self, store: Store) -> None:
        box = with_mailbox(store)

        def note(digest: str, at: str = SECOND, enough: int = 3, channel: str = "") -> bool:
            return run(store.note_bounce(channel or box.channel, digest, at, since=FIRST, enough=enough))

        def paused() -> str | None:
            found = run(store.mailbox(box.channel))
            assert found is not None
            return found.paused

        assert not note("x", channel="unknown")
        assert [note(digest) for digest in ("a", "a", "b", "b", "a")] == [False] * 5
        assert paused() is None
        assert note("c", THIRD)
        assert paused() == THIRD
        assert not note("d", THIRD, enough=1)  # paused already
        run(store.change_mailbox(replace(box, paused=None)))
        # Bounces from before the pause count no more, and a bounce that was noted is not noted again.
        assert [note(digest, THIRD, enough=1) for digest in "cd"] == [False, False]
        assert paused() is None
        assert note("e", THIRD, enough=1)

    def test_bounces_count_for_a_time_and_for_one_mailbox(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.invite_mailbox(later(invitation("carol", number=2), SECOND)))
        for channel, digest in ((box.channel, "a"), ("channel-2", "b"), (box.channel, "c")):
            assert not run(store.note_bounce(channel, digest, FIRST, since=FIRST, enough=3))
        assert not run(store.note_bounce(box.channel, "d", THIRD, since=SECOND, enough=2))
        assert run(store.note_bounce(box.channel, "e", THIRD, since=SECOND, enough=2))
        run(store.erase_mailbox(box.channel))
        assert not run(store.note_bounce(box.channel, "f", THIRD, since=SECOND, enough=1))

    def test_waiting_work_is_counted(self, store: Store) -> None:
        box = with_mailbox(store)
        assert run(store.mail_queue(FIRST)) == MailQueue(WaitingSum(0, None), WaitingSum(0, None), WaitingSum(0, None))
        times = [now(), now(-3), now(-2)]
        for number, at in enumerate(times, 1):
            run(store.add_incoming(mail(box, number, received=at)))
        run(store.set_aside(1, SET_ASIDE, (NewAnswer(NO_GAME, box.channel, FIRST),)))
        waits = run(store.mail_queue(FIRST))
        assert waits == MailQueue(WaitingSum(2, times[1]), WaitingSum(1, FIRST), WaitingSum(1, times[0]))
        assert run(store.mail_queue(add_seconds(FIRST, -1))).letters == WaitingSum(0, None)
        run(store.close_incoming(Closing(2)))
        assert run(store.mail_queue(FIRST)).mails == WaitingSum(1, times[2])

    def test_a_mail_of_the_service_to_itself_is_kept_while_it_is_waited_for(self, store: Store) -> None:
        first, second = ProbeMail("play+x@h", b"raw\xff"), ProbeMail("play@h", b"other")
        assert not run(store.take_probe("a", first))
        assert run(store.probe("a")) is None
        for digest in ("a", "b"):
            run(store.add_probe(digest, FIRST))
        assert run(store.take_probe("a", first))
        assert run(store.take_probe("a", second))
        assert [run(store.probe(digest)) for digest in ("a", "b", "c")] == [first, None, None]
        run(store.remove_probes(["a"]))
        assert not run(store.take_probe("a", first))
        assert run(store.probe("a")) is None
        run(store.add_probe("c", add_seconds(FIRST, PROBE_SECONDS)))
        assert run(store.take_probe("b", first))
        run(store.add_probe("d", add_seconds(FIRST, PROBE_SECONDS + 1)))
        assert not run(store.take_probe("b", second))
        assert run(store.probe("b")) is None

    def test_up_to_which_mail_a_mailbox_was_read_is_kept_for_each(self, store: Store) -> None:
        one, two = "play@mail.example:993/INBOX", "play@mail.example:993/other"
        assert run(store.imap_place(one)) is None
        for place in (ImapPlace(2**32 - 1, 2**32 - 1), ImapPlace(7, 0)):
            run(store.keep_imap_place(one, place))
            assert run(store.imap_place(one)) == place
        run(store.keep_imap_place(two, ImapPlace(1, 2)))
        assert [run(store.imap_place(each)) for each in (one, two)] == [(7, 0), (1, 2)]
