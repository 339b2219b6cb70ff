"""The tests of mailboxes of players with a key of their own, that every store must pass."""

from __future__ import annotations

import pytest
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_values import Mailbox

from hkoji.errors import ForbiddenError
from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds
from tests.support import mailboxes
from tests.support.loops import run
from tests.support.mail_contract import FAR, add_mailbox, key_text, outbox, token, with_mailbox
from tests.support.rows import a_certificate, a_held_key, a_player, a_retired_key, replace
from tests.support.time_contract import FIRST, SECOND

ADDRESS = "Alice@phone.example"


def asked(number: int = 90, address: str = ADDRESS, name: str = "alice") -> NewMailbox:
    """A mailbox that a player with a key of their own has named."""
    key = key_text(number)
    box = Mailbox(f"channel-{number}", name, address, key, "en", "asked", FIRST, confirm=f"on.{number}")
    held = a_held_key(key, name, f"private {number}")
    certificate = a_certificate(f'{{"at":"{FIRST}","key":"{key}"}}', key, address.lower(), f"{number:064x}")
    return NewMailbox(box, "{}", name, held, certificate)


def in_use(store: Store) -> Mailbox:
    """The mailbox of alice, who has a key of her own, when its owner has confirmed it; bob has one and no key."""
    with_mailbox(store)
    box = run(store.ask_mailbox(asked()))
    run(store.change_mailbox(replace(box, state="active")))
    found = run(store.own_mailbox("alice"))
    assert found is not None
    return found


class OwnMailboxContract:
    """The promises of a store about mailboxes of players with a key of their own."""

    def test_a_mailbox_is_its_players_while_its_owner_is_asked(self, store: Store) -> None:
        with_mailbox(store)
        assert run(store.own_mailbox("alice")) is None
        box = run(store.ask_mailbox(asked()))
        assert run(store.own_mailbox("alice")) == box
        assert run(store.mailbox_of("alice", FIRST)) is None
        assert [each[2] for each in outbox(store)].count("confirm") == 1

    def test_the_mailbox_that_is_in_use_comes_before_one_whose_owner_is_asked(self, store: Store) -> None:
        box = in_use(store)
        run(store.ask_mailbox(asked(91, "other@phone.example")))
        assert run(store.own_mailbox("alice")) == box

    def test_the_keys_of_a_mailbox_are_those_of_its_player(self, store: Store) -> None:
        box, more = in_use(store), asked(92)
        assert more.held is not None
        assert more.certificate is not None
        run(store.add_held_key(more.held, more.certificate))
        others = asked(93, name="bob")
        assert others.held is not None
        assert others.certificate is not None
        run(store.add_held_key(others.held, others.certificate))
        keys = run(store.held_keys("alice", ADDRESS.upper()))
        assert sorted(keys) == sorted([box.held_key, more.held.key])
        assert run(store.held_keys("alice", "bob@example.org")) == ()

    def test_a_held_key_beside_an_own_one_is_revoked_without_the_channel(self, store: Store) -> None:
        box = in_use(store)
        run(store.add_token("digest", "alice", FAR, FIRST))
        retired = a_retired_key(box.held_key, "alice", SECOND, revoked=True)
        with pytest.raises(ForbiddenError):
            run(store.revoke_key(replace(retired, name="bob")))
        assert run(store.retired(box.held_key)) is None
        run(store.revoke_key(retired))
        assert run(store.retired(box.held_key)) == retired
        assert run(store.own_mailbox("alice")) == box
        assert run(store.token("digest", SECOND)) == "alice"

    @pytest.mark.parametrize("revoked", [False, True])
    def test_a_channel_that_is_removed_leaves_no_mailbox(self, store: Store, revoked: bool) -> None:
        box, other = in_use(store), add_mailbox(store, "carol", 3)
        run(mailboxes.keep_reply(store, token(1, channel=box.channel)))
        if revoked:
            run(store.revoke_key(a_retired_key(key_text(200), "alice", SECOND, revoked=True)))
        else:
            assert run(store.remove_channel("alice", box.channel))
        assert run(store.channels("alice")) == ()
        assert run(store.own_mailbox("alice")) is None
        assert run(store.mailbox_at(ADDRESS)) is None
        assert run(store.reply(token(1).digest)) is None
        assert run(store.mailbox(other.channel)) == other
        # The address is free, and the key stays: logs have it.
        assert run(store.held_key(box.held_key)) is not None
        run(store.add_player(a_player("dora", key_text(201), FIRST, "text", "sig")))
        run(store.ask_mailbox(asked(94, name="dora")))

    @pytest.mark.parametrize("revoked", [False, True])
    def test_a_player_who_wants_no_letters_is_not_asked_again_when_the_channel_is_removed(
        self, store: Store, revoked: bool
    ) -> None:
        with_mailbox(store)
        box = run(store.ask_mailbox(asked()))
        run(store.change_mailbox(replace(box, state="blocked")))
        if revoked:
            run(store.revoke_key(a_retired_key(key_text(200), "alice", SECOND, revoked=True)))
        else:
            assert run(store.remove_channel("alice", box.channel))
        assert run(store.channels("alice")) == ()
        letters = len(outbox(store))
        run(store.add_player(a_player("dora", key_text(201), FIRST, "text", "sig")))
        for again in (asked(94), asked(95, name="dora")):
            with pytest.raises(ForbiddenError):
                run(store.ask_mailbox(again))
        assert len(outbox(store)) == letters

    @pytest.mark.parametrize(
        ("confirm", "said"),
        [
            ("on.9", "letters to this mailbox cannot be turned on now"),
            ("move.9", "no player can move to this mailbox now"),
        ],
    )
    def test_the_answer_about_a_mailbox_that_cannot_be_asked_names_the_wish_and_no_reason(
        self, store: Store, confirm: str, said: str
    ) -> None:
        in_use(store)  # and bob plays by mail
        run(store.add_player(a_player("dora", key_text(201), FIRST, "text", "sig")))
        blocked = run(store.ask_mailbox(asked(91, "dora@example.org", "dora")))
        run(store.change_mailbox(replace(blocked, state="blocked")))
        letters, errors = outbox(store), set()
        for number, address in enumerate((ADDRESS, "bob@example.org", "dora@example.org")):
            new = asked(94 + number, address, "dora")
            with pytest.raises(ForbiddenError) as raised:
                run(store.ask_mailbox(replace(new, mailbox=replace(new.mailbox, confirm=confirm))))
            errors.add((str(raised.value), raised.value.hint))
            assert run(store.held_key(new.mailbox.held_key)) is None
        assert [text for text, _ in errors] == [said]
        assert "invit" not in str(errors)
        assert outbox(store) == letters

    def test_a_mailbox_whose_owner_has_not_answered_is_removed_when_that_counts_no_more(self, store: Store) -> None:
        with_mailbox(store)
        box = run(store.ask_mailbox(asked()))
        registers = asked(91, "carol@example.org", "carol")
        carol = replace(registers.mailbox, confirm="register.91")
        registers = replace(registers, by="carol@example.org", mailbox=carol)
        run(store.ask_mailbox(registers))
        for days, there in ((364, True), (366, False)):
            now = add_seconds(FIRST, days * DAY)
            run(store.remove_old_mail(now, spent_before=FIRST, ended_before=FIRST, most=100))
            for channel in (box.channel, registers.mailbox.channel):
                assert (run(store.mailbox(channel)) is not None) is there
        assert run(store.channels("alice")) == ()
