"""A file of evidence convicts those who broke the rules, and no file, whoever made it, convicts the honest."""

from __future__ import annotations

import pytest

from hkoji import referee
from hkoji.audit.contradictions import log_claims
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence, is_evidence, parse_evidence
from hkoji.audit.log_audit import LOG_STEPS, Audit, AuditStep
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.log import sshsig
from hkoji.log.line import SignedReceipt, format_log, make_receipt, parse_log
from hkoji.log.statement import Dealt
from hkoji.rules.events import Outcome
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.adversary import follow, other_cards
from tests.support.forgery import every_pin, pins, rewrite
from tests.support.framing import OWN, evidence, shown, stories, story
from tests.support.table import AT, Table, new_game, whole_game

BOTH: tuple[Ruleset, ...] = (Hanamikoji(), GeishasRoad())
EARLIER = "2026-11-20T11:00:00Z"


def judged(made: EvidenceFile, table: Table) -> Audit:
    """A stranger's audit of the file's text, with the keys from outside."""
    text = format_evidence(made)
    assert parse_evidence(text) == made
    return audit_file(text.encode(), every_pin(table))


def named(result: Audit) -> set[str]:
    return {finding.signer for finding in result.findings if finding.signer}


def convicts(made: EvidenceFile, table: Table, *reasons: str, signer: str = "server") -> None:
    """Asserts that the tenth step names exactly that signer, with these words."""
    result = judged(made, table)
    found = [finding for finding in result.findings if finding.step is AuditStep.EVIDENCE]
    assert {finding.signer for finding in result.findings} == {signer}, result.findings
    assert result.game == made.game
    assert all(finding.understood and finding.entry is not None for finding in found), found
    for reason in reasons:
        assert any(reason in finding.reason for finding in found), found


# --- the honest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(9))
@pytest.mark.parametrize("seat", [0, 1, None])
def test_honest_evidence_holds(number: int, seat: int | None) -> None:
    told, _ = stories()[number]
    result = judged(evidence(told, seat), told.table)
    assert result.ok, result.findings
    assert result.game == told.table.game
    assert "nothing contradicts" in result.notes[AuditStep.EVIDENCE]
    assert result.holds == len(told.table.lines)


def test_a_log_is_audited_as_ever() -> None:
    table = whole_game(3)
    result = audit_file(table.text, pins(table))
    assert result.ok
    assert AuditStep.EVIDENCE not in result.notes


def test_without_keys_from_outside_signers_are_named_by_fingerprint() -> None:
    told = story(3, Hanamikoji(), 3)
    bad = shown(told.table, 0, head="ab" * 32)
    (finding,) = audit_file(format_evidence(evidence(told, refused=(bad,))), {}).findings
    assert finding.signer == f"server with the unpinned key {told.table.server.public.fingerprint}"
    assert (
        audit_file(format_evidence(evidence(told, refused=(bad,))), {"server": OWN.public}).findings[0].signer is None
    )


# --- the service ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", BOTH)
def test_a_hand_that_the_seed_does_not_give(ruleset: Ruleset) -> None:
    """While the game runs there is no seed to compare with. Later entries than the view's do not matter."""
    table = new_game(3, ruleset)
    pack = ruleset.pack
    dealt = pack.split(table.course.dealt[0][0])
    other = next(kind for kind in pack.kinds if kind not in dealt)
    wrong = shown(table, 0, dealt=(Dealt("".join(dealt[:-1]) + other, 1),))
    running = EvidenceFile(table.game, {}, table.text, (wrong,))
    assert judged(running, table).ok
    table.play(3).send(table.entry(1, entry_kinds.Resign()))
    words = "showed alice cards in round 1 that its committed seed does not give, "
    words += f"view after entry {wrong.view.seq} against the seed of entry {len(table.lines) - 1}"
    convicts(running._replace(log=table.text), table, words)
    convicts(running._replace(log=table.text, views=(), refused=(wrong,)), table, words)


@pytest.mark.parametrize("ruleset", BOTH)
def test_the_other_seats_hand(ruleset: Ruleset) -> None:
    """A seat that has drawn has one card more than the other, so the fault shows at once; else the seed shows it."""
    table = new_game(5, ruleset)
    theirs = table.course.dealt[0][1]
    other = shown(table, 0, dealt=(Dealt(theirs, 1),))
    made = EvidenceFile(table.game, {}, table.text, (other,))
    if ruleset.name == "hanamikoji":
        convicts(made, table, "fewer or more cards than were dealt")
    else:
        assert judged(made, table).ok
    table.send(table.entry(1, entry_kinds.Resign()))
    convicts(made._replace(log=table.text), table, "showed alice")


@pytest.mark.parametrize("ruleset", BOTH)
def test_two_views_that_contradict_each_other(ruleset: Ruleset) -> None:
    """Shown without the seed, and without any log after the views."""
    table = new_game(3, ruleset)
    width = ruleset.pack.width
    cards = table.course.dealt[0][0]
    swapped = cards[width : 2 * width] + cards[:width] + cards[2 * width :]
    assert swapped != cards
    one, other = shown(table, 0), shown(table, 0, dealt=(Dealt(swapped, 1),))
    convicts(EvidenceFile(table.game, {}, table.text, (one,), (other,)), table, "showed seat 0 other cards before")
    convicts(EvidenceFile(table.game, {}, table.text, (), (one, other)), table, "showed seat 0 other cards before")


def test_views_that_contradict_without_any_log() -> None:
    table = new_game(3)

    def views(*dealt: tuple[str, ...], seqs: tuple[int, int]) -> EvidenceFile:
        made = [
            shown(table, 0, seq=seq, dealt=tuple(Dealt(cards, number) for number, cards in enumerate(rounds, 1)))
            for seq, rounds in zip(seqs, dealt, strict=True)
        ]
        return EvidenceFile(table.game, {}, "", (), tuple(made))

    known = {"server": table.server.public}
    fine = [
        (("ABCDEF",), ("ABCDEFG",)),
        (("ABCDEF", "AB"), ("ABCDEF", "ABC")),
        ((), ("ABC",)),
        (("ABC",), ("ABC", "D")),
    ]
    for one, other in fine:
        assert audit_file(format_evidence(views(one, other, seqs=(4, 9))), known).findings == ()
        same = audit_file(format_evidence(views(one, other, seqs=(4, 4))), known)
        assert named(same) == {"server"}
    for one, other in ((("ABC",), ("ABD",)), (("ABC", "D"), ("ABCE", "D")), (("ABC",), ()), (("AB", "C"), ("AB",))):
        assert named(audit_file(format_evidence(views(one, other, seqs=(4, 9))), known)) == {"server"}


def test_views_of_both_seats_with_more_copies_than_there_are() -> None:
    """Each statement could be true alone."""
    table = new_game(3, GeishasRoad())
    host, guest = table.course.dealt[0]
    views = (shown(table, 0), shown(table, 1, dealt=(Dealt(host[:2] + guest[2:], 1),)))
    made = EvidenceFile(table.game, {}, table.text, views)
    convicts(made, table, "showed both seats more cards of a kind in round 1 than there are")
    assert judged(made._replace(views=made.views[1:]), table).ok


@pytest.mark.parametrize("cards", ["ABCDEFH", "XXXXXXX", "AAAAAAA"])
def test_plays_that_are_no_cards_or_too_many_of_a_kind(cards: str) -> None:
    table = new_game(3)
    convicts(
        EvidenceFile(table.game, {}, table.text, (shown(table, 0, dealt=(Dealt(cards, 1),)),)), table, "showed alice"
    )


def test_a_view_of_another_course_of_the_game() -> None:
    table = new_game(3).play(3)
    seq = len(table.lines) - 1
    for changes in ({"head": "ab" * 32}, {"seq": seq - 1}, {"head": table.lines[4].entry.head}):
        convicts(EvidenceFile(table.game, {}, table.text, (shown(table, 0, **changes),)), table, "in place")
    bare = EvidenceFile(table.game, {}, format_log(table.lines[:6], receipts=False), (shown(table, 0, seq=9),))
    assert judged(bare, table).ok  # the file does not say where that entry belongs
    misplaced = shown(table, 0, seq=9, head=table.lines[5].entry.head)
    convicts(bare._replace(views=(misplaced,)), table, "puts entry 5 in place 9")


@pytest.mark.parametrize("ruleset", BOTH)
@pytest.mark.parametrize("receipt", [True, False])
def test_a_fork(ruleset: Ruleset, receipt: bool) -> None:
    """The service has signed for its own entry without a receipt, and for an entry that it has continued from."""
    table = whole_game(3, ruleset)
    actor = new_game(3, ruleset).play(2).course.actor
    assert actor is not None
    before = next(n for n, line in enumerate(table.lines) if line.entry.kind == "move") + 1
    line = follow(table.server, table.lines[before], entry_kinds.Timeout(0))
    made = EvidenceFile(table.game, {}, table.text, (), (line if receipt else line._replace(receipt=None),))
    convicts(made, table, f"has put two different entries in place {before + 1}")
    convicts(made._replace(log=format_log(table.lines, receipts=False)), table, "has put two different entries")


def test_two_moves_of_a_player_are_a_fork_only_with_the_services_word_on_both() -> None:
    table = new_game(3).play(1)
    seq = len(table.lines)
    other = new_game(3)
    other.send(other.move(other.course.state.legal_actions()[-1]))
    line = other.lines[seq - 1]
    assert line.entry.text != table.lines[seq - 1].entry.text
    made = EvidenceFile(table.game, {}, table.text, (), (line,))
    convicts(made, table, f"has put two different entries in place {seq - 1}")
    assert judged(made._replace(refused=(line._replace(receipt=None),)), table).ok


def _receipt(table: Table, number: int, at: str = AT, **changes: object) -> SignedReceipt:
    entry = table.lines[number].entry
    made = make_receipt(**{"at": at, "game": table.game, "head": entry.head, "seq": entry.seq, **changes})  # type: ignore[arg-type]
    return SignedReceipt(made, table.server.sign(sshsig.RECEIPT, made.message))


def test_receipts_that_contradict() -> None:
    table = new_game(3).play(4)
    late = "2026-11-20T12:00:01Z"

    def with_receipt(number: int, receipt: SignedReceipt) -> EvidenceFile:
        return EvidenceFile(table.game, {}, table.text, (), (table.lines[number]._replace(receipt=receipt),))

    convicts(with_receipt(6, _receipt(table, 6, late)), table, "the service has given two receipts for entry 6")
    convicts(with_receipt(6, _receipt(table, 6, head="ab" * 32)), table, "has put two different entries in place 6")
    early = table.lines[6]._replace(receipt=_receipt(table, 7, EARLIER))
    made = EvidenceFile(table.game, {}, format_log(table.lines[:6]), (), (early,))
    convicts(made, table, f"the receipt's time {EARLIER} is before")


def test_a_receipt_for_an_entry_after_the_end() -> None:
    """A log that goes back: it ends before an entry whose receipt is in the file."""
    table = new_game(3).play(4)
    longer = table.lines[-1]._replace(receipt=_receipt(table, 6, seq=40, head="cd" * 32))
    table.send(table.entry(0, entry_kinds.Resign()))
    convicts(EvidenceFile(table.game, {}, table.text, (), (longer,)), table, "the game ended with entry")
    running = new_game(3).play(4)
    assert judged(EvidenceFile(running.game, {}, running.text, (), (longer,)), running).ok


def test_a_refusal_that_names_nobody_is_no_finding() -> None:
    """Anybody can put unsigned lines into a file."""
    table = new_game(3).play(4)
    actor = table.course.actor
    assert actor is not None
    line = follow(table.server, table.lines[-1], entry_kinds.Resign(), table.names[actor], OWN)
    later = follow(OWN, table.lines[-1], entry_kinds.Timeout(actor))
    result = judged(EvidenceFile(table.game, {}, table.text, (), (line._replace(receipt=None), later)), table)
    assert result.ok, result.findings
    assert "of another game: 2" in result.notes[AuditStep.EVIDENCE]  # signature and receipt of the later one


def test_a_refused_entry_is_audited_like_a_log() -> None:
    """This holds also where the service has left out receipts. Each turn has 60 seconds."""
    table = Table(seed=3, agreement=Agreement(TimeControl(60, 0, 0, 0))).begin().play(4)
    actor = table.course.actor
    assert actor is not None
    deadline, late = "2026-11-20T12:01:00Z", "2026-11-20T12:01:01Z"
    for body, at, reason in (
        (entry_kinds.Timeout(1 - actor), late, "does not owe an entry"),
        (entry_kinds.Timeout(actor), deadline, f"the timeout is of {deadline}, and there was time until {deadline}"),
        (entry_kinds.End((), Outcome("resign", 0), table.refereed.seed), AT, "the service owes no end now"),
        (entry_kinds.RevealBody(table.refereed.openings), AT, "the service owes no reveal now"),
    ):
        line = follow(table.server, table.lines[-1], body, at=at)
        for refused in (line, line._replace(receipt=None)):
            convicts(EvidenceFile(table.game, {}, table.text, (), (refused,)), table, reason)
    honest = follow(table.server, table.lines[-1], entry_kinds.Timeout(actor), at=late)
    assert judged(EvidenceFile(table.game, {}, table.text, (), (honest,)), table).ok


def test_a_first_answer_that_was_refused_needs_no_log() -> None:
    table = new_game(3).play(4)
    line = follow(table.server, table.lines[-1], entry_kinds.End((), Outcome("resign", 0), None))
    made = EvidenceFile(table.game, {}, "", (), (*table.lines, line))
    convicts(made, table, "in a course of the game that was refused, step 6: ")


# --- players ----------------------------------------------------------------------------------------------------------


def accused() -> tuple[Table, int, str]:
    """A complete game in which alice's first secret is a card that the deal had not given her; and the card."""
    table = next(table for table in map(whole_game, range(50)) if len(set(table.course.dealt[0][0])) < 7)
    card = next(card for card in "ABCDEFG" if card not in table.course.dealt[0][0])
    secrets = (line.entry for line in table.lines if line.entry.body.get("action") == "1X")
    number = next(entry.seq for entry in secrets if entry.by == "alice")
    return table, number, card


def test_a_player_who_was_shown_another_hand_is_excused_by_the_view() -> None:
    table, number, card = accused()
    log = rewrite(table, other_cards(table, number, card))
    lines = parse_evidence(format_evidence(EvidenceFile(table.game, {}, log))).log
    bare = EvidenceFile(table.game, {}, lines)
    assert named(judged(bare, table)) == {"alice and server"}
    before = new_game(table.seed).play(0)
    while len(before.lines) < number:
        before.play(1)
    true = before.course.dealt[0][0]
    opened = next(opening.cards for opening in table.refereed.openings if opening.seq == number)
    forged = true.replace(opened, card, 1)
    wrong = shown(before, 0, dealt=(Dealt(forged, 1),))
    result = judged(bare._replace(views=(wrong,)), table)
    assert named(result) == {"server"}
    assert any(f"view after entry {wrong.view.seq} against the seed" in finding.reason for finding in result.findings)
    assert any("fits the hand that was shown to alice" in finding.reason for finding in result.findings)
    refused = bare._replace(log="", views=(wrong,), refused=parse_log(log))
    assert named(judged(refused, table)) == {"server"}
    assert named(judged(refused._replace(views=()), table)) == {"alice and server"}
    # A true view excuses nobody; neither does a wrong one that does not match the move, or a later one.
    assert named(judged(bare._replace(views=(shown(before, 0),)), table)) == {"alice and server"}
    useless = shown(before, 0, dealt=(Dealt(true[1:] + true[0], 1),))
    late = shown(before, 0, dealt=(Dealt(forged, 1),), seq=number, head=parse_log(log)[number].entry.head)
    others = shown(before, 0, dealt=(Dealt(forged, 1),), seat=1)
    short = shown(before, 0, dealt=(Dealt(forged[:-1], 1),))
    for view in (useless, late, others, short):
        assert named(judged(bare._replace(views=(view,)), table)) == {"alice and server", "server"}


# --- the form ---------------------------------------------------------------------------------------------------------


def test_a_file_is_read_strictly() -> None:
    told, _ = stories()[1]
    refused = (told.table.lines[-1], told.views[0])
    text = format_evidence(evidence(told, 0, refused=refused, keys={"bob": (OWN.public,)}))
    assert is_evidence(text)
    assert parse_evidence(text).refused == (told.table.lines[-1], told.views[0])
    header, *rest = text.splitlines(keepends=True)
    bad = [
        text[:-1],
        text + "\n",
        text.replace('"evidence":1', '"evidence":1 '),
        text.replace('"evidence":1', '"evidence":true'),
        header.replace(told.table.game, "ab") + "".join(rest),
        header.replace('"keys":', '"more":1,"keys":') + "".join(rest),
        header.replace("[", "[1,") + "".join(rest),
        header.replace('"bob"', '"B"') + "".join(rest),
        header + "".join(reversed(rest)),
        header + "".join([*rest[:-3], *rest[-2:], rest[-3]]),  # a view after the refused one
        text.replace('{"view":{"sig"', '{"view":{ "sig"', 1),
        text.replace('{"refused":', '{"refused":{"refused":', 1),
        text + "{}\n",
    ]
    for each in bad:
        assert is_evidence(each)
        with pytest.raises(HkojiError):
            parse_evidence(each)
        result = audit_file(each, pins(told.table))
        (finding,) = result.findings
        assert (finding.step, finding.entry, finding.signer, finding.understood) == (AuditStep.PARSE, None, None, True)
        assert (result.entries, result.holds) == (0, 0)
        assert result.finished is False
        assert result.notes == dict.fromkeys((*LOG_STEPS, AuditStep.EVIDENCE), "not reached")
    later = audit_file(text.replace('"evidence":1', '"evidence":2'), {}).findings[0]
    assert later.understood is False


def test_a_bad_line_of_a_file_is_counted() -> None:
    told, _ = stories()[1]
    lines = format_evidence(evidence(told, 0, refused=(told.table.lines[-1],))).splitlines(keepends=True)
    for number in range(1 + len(told.table.lines), len(lines)):
        text = "".join([*lines[:number], "{}\n", *lines[number + 1 :]])
        with pytest.raises(HkojiError, match=rf"line {number + 1}\b"):
            parse_evidence(text)


def test_the_file_and_its_log_are_about_one_game() -> None:
    told, other = stories()[0]
    result = audit_file(format_evidence(evidence(told, game=other.table.game)), pins(told.table))
    (finding,) = result.findings
    assert (finding.step, finding.entry, finding.signer) == (AuditStep.EVIDENCE, None, None)
    assert finding.reason == f"the file is about game {other.table.game}, and its log is of another"
    assert result.game == other.table.game
    # The entries are compared with logs of their own game, not of the one that the file names.
    assert log_claims(result) == log_claims(audit_file(told.table.text, pins(told.table)))


# --- that nobody is framed --------------------------------------------------------------------------------------------


def test_a_service_of_bobs_own_is_not_the_service() -> None:
    """With the key from outside nothing signed by the service convicts; without it, the service is named by its
    fingerprint."""
    told = story(3, Hanamikoji(), 3)
    line = follow(OWN, told.table.lines[4], entry_kinds.Timeout(0))
    view = shown(told.table, 0, head="ab" * 32)
    forged = view._replace(sig=OWN.sign(sshsig.VIEW, view.view.message))
    text = format_evidence(evidence(told, refused=(line, forged), keys={"server": (OWN.public,)}))
    for known in (pins(told.table), {}):
        assert named(audit_file(text, known)) == set()
    assert "of another game: 3" in audit_file(text, {}).notes[AuditStep.EVIDENCE]
    own = Table(Hanamikoji(), 3)
    offered = referee.offer(own.game, own.ruleset, "77" * 32, signer=OWN, at=AT)
    twice = (
        follow(OWN, offered.lines[0], entry_kinds.Cancel()),
        follow(OWN, offered.lines[0], entry_kinds.Timeout(0)),
    )
    text = format_evidence(EvidenceFile(own.game, {}, format_log(offered.lines), (), twice))
    assert named(audit_file(text, pins(own))) == set()
    assert {OWN.public.fingerprint in name for name in named(audit_file(text, {}))} == {True}
