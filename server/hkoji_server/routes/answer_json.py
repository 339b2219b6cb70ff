"""The JSON of answers, written from what the service returns in the forms of `hkoji.wire`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from hkoji import wire
from hkoji.game.held_keys import Gateway
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import SignedHead
from hkoji.log.line import Line, StoredLine, format_line, format_signed, format_stored
from hkoji_server.service.games.statements import ClockReport, Stated
from hkoji_server.service.games.views import OwnView
from hkoji_server.store.game_values import FinishedGame, GameSummary
from hkoji_server.store.player_tables import Player, RetiredKey
from hkoji_server.store.tables import KeptMessage


def signed_json(text: str, sig: bytes) -> wire.Signed:
    """Returns a signed text."""
    return wire.Signed(text=text, sig=encode_base64(sig))


def json_bytes(value: Any) -> bytes:  # Any: JSON
    """Returns JSON as it is sent."""
    return json.dumps(value, separators=(",", ":")).encode()


def view_bytes(own: OwnView) -> bytes:
    """Returns the object of `ViewModel`, as it is sent when it has no lines."""
    course = own.course
    shown = wire.ViewModel(
        game=own.view.game,
        seat=own.view.seat,
        seq=course.seq,
        head=course.head,
        status=course.status,
        actor=course.actor,
        legal=list(own.legal),
        state=own.state.to_json(),
        view=signed_json(own.view.text, own.sig),
        openings=[cast(wire.OpeningModel, opening.to_json()) for opening in own.openings],
        lines=[],
    )
    return json_bytes(shown)


def view_with(
    body: bytes, lines: Iterable[StoredLine], clock: ClockReport | None, late: str, head: SignedHead | None = None
) -> bytes:
    """Returns what `view_bytes` has made with these lines, and with the `clock` if there is one, and then the `head`.

    A game with a deadline before `late` is overdue.
    """
    added = ",".join(map(format_stored, lines))
    if not added and clock is None:
        return body
    start = body[: body.rindex(b"]}")]  # up to the end of the empty list `lines`, the last member
    if clock is None:
        return b"".join((start, added.encode("ascii"), b"]}"))
    signed = "" if head is None else f',"signed_head":{format_signed(head.statement.text, head.sig)}'
    shown = json_bytes(clock_json(clock, late))
    return b"".join((start, added.encode("ascii"), b'],"clock":', shown, signed.encode("ascii"), b"}"))


def submitted_bytes(lines: tuple[Line, ...]) -> bytes:
    """Returns the object of `SubmittedModel`, as it is sent."""
    signed = lines[0].receipt
    assert signed is not None
    receipt = format_signed(signed.receipt.text, signed.sig)
    return f'{{"receipt":{receipt},"lines":[{",".join(map(format_line, lines))}]}}'.encode("ascii")


def player_json(player: Player, retired: tuple[RetiredKey, ...], held: Gateway | None) -> wire.PlayerModel:
    """Returns a player; `retired` are the player's revoked and replaced keys.

    `held` is the certificate of the player's key if the service holds it.
    """
    return wire.PlayerModel(
        name=player.name,
        key=player.key,
        registered=player.registered,
        revoked=any(each.key == player.key for each in retired),
        statement=wire.Signed(text=player.text, sig=player.sig),
        held=None if held is None else cast(wire.GatewayModel, held.to_json()),
        earlier=[
            wire.EarlierKeyModel(
                key=each.key,
                until=each.at,
                revoked=each.revoked,
                text=each.text,
                sig=each.sig,
                new_sig=each.new_sig,
            )
            for each in retired
        ],
    )


def stated_bytes(stated: Stated) -> bytes:
    """Returns the object of `StatedModel`, as it is sent."""
    return f'{{"deadline":{_text(stated.deadline)},"lines":[{",".join(map(format_line, stated.lines))}]}}'.encode()


def clock_json(report: ClockReport, late: str) -> wire.ClockModel:
    """Returns what the clocks show. A game with a deadline before `late` is overdue."""
    pace = report.pace
    return wire.ClockModel(
        game=report.game,
        seq=report.seq,
        head=report.head,
        agreement=report.agreement.to_json(),
        seat=report.seat,
        since=pace and pace.since,
        spent=pace and pace.spent,
        deadline=report.deadline,
        overdue=report.deadline is not None and report.deadline < late,
        reserve=pace and list(pace.banks),
        gifts=[
            wire.GivenModel(head=each.head, name=each.name, seconds=cast(int, each.seconds), sig=each.sig)
            for each in report.gifts
        ],
        outages=[cast(wire.OutageModel, outage.to_json()) for outage in report.outages],
        annul=list(report.annul),
        silent=report.silent,
    )


def message_json(kept: KeptMessage) -> wire.MessageModel:
    """Returns a message of a player to the other."""
    return wire.MessageModel(number=kept.number, name=kept.name, at=kept.at, text=kept.text, sig=kept.sig)


def summary_text(summary: GameSummary, late: str) -> str:
    """Returns the object of `SummaryModel`, as it is sent. A game with a deadline before `late` is overdue.

    Canonical texts have no character that JSON escapes, and ruleset, agreement and grades are JSON already. So nothing
    is encoded, which takes a quarter of the time. A test compares the result with that of an encoder.
    """
    (
        game, ruleset, agreement, status, host, guest, invite, seq, head, round_, actor, to_move, created, updated,
        reason, winner, deadline, link, by_mail, dealer,
    ) = summary  # fmt: skip
    result = f'{{"reason":"{reason}","winner":{_number(winner)}}}' if reason else "null"
    overdue = "true" if deadline is not None and deadline < late else "false"
    return (
        f'{{"game":"{game}","status":"{status}","host":{_text(host)},"guest":{_text(guest)},"invite":{_text(invite)},'
        f'"by_link":{"false" if link is None else "true"},"seq":{seq},"head":"{head}","round":{round_},'
        f'"actor":{_number(actor)},"to_move":{_text(to_move)},'
        f'"ruleset":{ruleset},"agreement":{agreement},"deadline":{_text(deadline)},"overdue":{overdue},'
        f'"by_mail":{by_mail},"dealer":"{dealer}",'
        f'"created":"{created}","updated":"{updated}","result":{result}}}'
    )


def games_bytes(summaries: Iterable[GameSummary], cursor: str | None, late: str) -> bytes:
    """Returns the object of `GamesModel`, as it is sent."""
    games = ",".join(summary_text(summary, late) for summary in summaries)
    return f'{{"games":[{games}],"next":{_text(cursor)}}}'.encode("ascii")


def finished_bytes(found: Iterable[FinishedGame], *, more: bool, last: str | None, before: str, late: str) -> bytes:
    """Returns the object of `FinishedPageModel`, as it is sent. `more` says whether there may be another page."""
    games = ",".join(f'{summary_text(each.summary, late)[:-1]},"ended":"{each.ended}"}}' for each in found)
    page = f'{{"games":[{games}],"next":{_text(last if more else None)},"last":{_text(last)},"before":"{before}"}}'
    return page.encode("ascii")


def spectator_bytes(summary: GameSummary, late: str, state: dict[str, Any], shape: Iterable[str]) -> bytes:  # Any: JSON
    """Returns the object of `SpectatorModel`, as it is sent."""
    shown = summary_text(summary, late)[:-1].encode("ascii")
    return shown + b"," + json_bytes({"state": state, "shape": list(shape)})[1:]


def _text(value: str | None) -> str:
    return "null" if value is None else f'"{value}"'


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)
