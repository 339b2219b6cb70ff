"""Every reader of the rules, plans, the log and the game refuses what tests/data/refusals says, and for that reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from hkoji.game.agreement import (
    format_duration,
    format_time_control,
    parse_duration,
    parse_time_control,
    read_agreement,
    read_time_control,
)
from hkoji.game.clock import read_outage
from hkoji.game.commitments import parse_openings
from hkoji.game.entry_kinds import parse_body
from hkoji.game.held_keys import read_gateway
from hkoji.game.submission import parse_submission, read_submission
from hkoji.log import game_statements, sshsig, statement
from hkoji.log.canonical import decode, decode_base64, encode, encode_base64
from hkoji.log.line import parse_entry, parse_line, parse_log, parse_receipt, read_line, read_signed
from hkoji.log.mail_claim import read_mail
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.plans.grammar import format_plan, parse_plan
from hkoji.rules.geishas_road import actions
from hkoji.rules.geishas_road.actions import parse as parse_road
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.actions import parse
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due, Json, Ruleset
from hkoji.rules.registry import parse_ruleset
from hkoji.rules.transcript import parse_transcript
from tests.support.refusals import Case, Reader, check, every_reader

Value = Any  # JSON


def _whatever_is_due(text: str) -> str:
    """A move that is read alike whatever is due, and its canonical form too."""
    read = {parse_road(each, due=due) for due in DECISION_DUE for each in (text, parse_road(text, due=due))}
    (one,) = read
    return one


def _plan(ruleset: Ruleset, text: str) -> str:
    return format_plan(parse_plan(text, ruleset))


def _body(value: Value) -> Json:
    """The body of an entry, beside its kind."""
    return parse_body(value["kind"], value["body"]).to_json()


def _control(value: Value) -> str:
    return encode(read_time_control(value).to_json())


def _typed_clock(text: str) -> str:
    """A clock as the log has it, and as it is written for people."""
    control = parse_time_control(text)
    return f"{encode(control and control.to_json())} {format_time_control(control)}"


def _duration(text: str) -> str:
    """A duration in its canonical form, which is the same duration."""
    written = format_duration(parse_duration(text))
    assert parse_duration(written) == parse_duration(text)
    return f"{parse_duration(text)}, {written}"


def _certificate(value: Value) -> object:
    read = read_gateway(value)
    if isinstance(read, Exception):
        raise read
    return read


def _encoded(text: str) -> str:
    return encode(decode(text, "thing"))


def _base64(text: str) -> str:
    return encode_base64(decode_base64(text, "thing"))


AREAS: Final[Mapping[str, Mapping[str, Iterable[Reader]]]] = {
    "rules": {
        "Hanamikoji: a move": [parse],
        "Hanamikoji: an answer to 3BCC": [partial(parse, proposal="3BCC")],
        "Hanamikoji: an answer to 4ACBD": [partial(parse, proposal="4ACBD")],
        "Geisha's Road: a move, whatever is due": [_whatever_is_due],
        "Geisha's Road: a move": [parse_road],
        "Geisha's Road: an action": [partial(parse_road, due=Due.ACT)],
        "Geisha's Road: an answer": [partial(parse_road, due=Due.ANSWER)],
        "Geisha's Road: an order": [partial(parse_road, due=Due.ORDER)],
        "Geisha's Road: a choice": [partial(parse_road, due=Due.PICK)],
        "Geisha's Road: a move of a log": [actions.read],
        "a transcript": [parse_transcript],
        "a ruleset": [parse_ruleset],
        "a plan of Hanamikoji": [partial(_plan, Hanamikoji())],
        "a plan of Geisha's Road": [partial(_plan, GeishasRoad())],
    },
    "log": {
        "canonical text": [_encoded],
        "base64": [_base64],
        "a line": [parse_line],
        "a decoded line": [read_line],
        "a log": [parse_log],
        "a signed text": [partial(read_signed, what="thing")],
        "an entry": [parse_entry],
        "a receipt": [parse_receipt],
        "a public key": [parse_public_key],
        "a private key file": [PrivateKey.from_openssh, partial(PrivateKey.from_openssh, password=b"secret")],
        "a signature": [sshsig.parse],
        "an armored signature": [sshsig.dearmor],
        "a signed head": [game_statements.read_signed_head],
        "a statement: view": [statement.parse_view],
        "a statement: registration": [statement.parse_registration],
        "a statement: login": [statement.parse_login],
        "a statement: new key": [statement.parse_new_key],
        "a statement: revocation": [statement.parse_revocation],
        "a statement: recovery": [statement.parse_recovery],
        "a statement: gift of time": [game_statements.parse_gift],
        "a statement: calling off": [game_statements.parse_annul],
        "a statement: signed head": [game_statements.parse_head],
        "a statement: origin": [statement.parse_origin],
    },
    "game": {
        "the body of an entry": [_body],
        "openings": [parse_openings],
        "a submission": [read_submission],
        "the text of a submission": [parse_submission],
        "a clock": [_control],
        "a clock as it is typed": [_typed_clock],
        "a duration as it is typed": [_duration],
        "an agreement": [lambda value: encode(read_agreement(value).to_json())],
        "a mail of an entry": [partial(read_mail, none=True)],
        "a certificate": [_certificate],
        "an outage": [read_outage],
    },
}


@every_reader(AREAS)
def test_a_reader_answers_as_the_data_says(read: Reader, found: Sequence[Case]) -> None:
    check(read, found)
