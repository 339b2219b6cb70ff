"""Web push: the vector of RFC 8291, the proof of RFC 8292, topics, and keys that are refused."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hkoji_server.service.notices.web_push import (
    PADDED,
    TOKEN_SECONDS,
    ApplicationServer,
    Subscription,
    decode_base64url,
    encode_base64url,
    encrypt,
    private_key_of,
)
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import MalformedError
from hkoji.log.canonical import encode
from hkoji.log.private_key import PrivateKey
from tests.support.push_service import Browser, base64url, from_base64url, proof_of
from tests.support.receiver import Received

KEY = PrivateKey.from_seed(b"k" * 32)
ENDPOINT = "https://push.example/v2/token"

# RFC 8291, appendix A
TEXT = b"When I grow up, I want to be a watermelon"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
RECEIVER = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7"
    "A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def scalar(text: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(from_base64url(text)), ec.SECP256R1())


def subscription(**changes: str) -> str:
    """The kept text of a subscription with other values."""
    return encode({"auth": AUTH, "endpoint": ENDPOINT, "lang": "en", "p256dh": POINT, **changes})


def test_the_vector_of_rfc_8291_is_encrypted_and_decrypted() -> None:
    encrypted = encrypt(TEXT, Subscription.parse(subscription()), scalar(SENDER), from_base64url(SALT), 0)
    assert base64url(encrypted) == BODY
    assert Browser(key=scalar(RECEIVER), auth=from_base64url(AUTH)).open(from_base64url(BODY)) == TEXT


SECRETS = st.binary(min_size=64, max_size=64) | st.sampled_from([b"\0" * 64, b"\xff" * 64])


@given(st.binary(max_size=PADDED - 1), SECRETS, st.binary(min_size=16, max_size=16))
def test_each_text_is_opened_by_its_browser_alone_and_all_are_of_one_length(
    text: bytes, secret: bytes, salt: bytes
) -> None:
    text = text.rstrip(b"\x02\0")
    browser, other = Browser(), Browser()
    told = Subscription.parse(subscription(**browser.keys))
    encrypted = encrypt(text, told, private_key_of(secret), salt)
    assert browser.open(encrypted) == text
    assert len(encrypted) == 16 + 4 + 1 + 65 + PADDED + 16
    for wrong in (other, Browser(key=browser.key, auth=b"another 16 bytes")):
        with pytest.raises(InvalidTag):
            wrong.open(encrypted)


@pytest.mark.parametrize("subject", [None, "https://hanamikoji.example"])
def test_the_proof_of_the_sender_is_for_one_push_service_and_half_a_day(subject: str | None) -> None:
    server = ApplicationServer(KEY)
    header = server.authorization("https://push.example", subject, 1_795_435_200)
    claims, key = proof_of(Received("/", {"authorization": header}, b""))
    assert claims == {
        "aud": "https://push.example",
        "exp": 1_795_435_200 + TOKEN_SECONDS,
        **({} if subject is None else {"sub": subject}),
    }
    assert key == server.public
    assert TOKEN_SECONDS <= 24 * 3600  # the most that RFC 8292 allows


def test_each_process_has_the_same_key_and_each_service_another_one() -> None:
    same, other = ApplicationServer(PrivateKey.from_seed(b"k" * 32)), ApplicationServer(PrivateKey.from_seed(b"o" * 32))
    assert ApplicationServer(KEY).public == same.public != other.public
    assert ApplicationServer(KEY).topic("x") == same.topic("x") != other.topic("x")


def compressed() -> str:
    """The key of a browser as a point with one coordinate."""
    return base64url(Browser().key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint))


WRONG = {
    "auth of 15 bytes": ({"auth": base64url(b"x" * 15)}, "auth is not 16 bytes"),
    "auth of 17 bytes": ({"auth": base64url(b"x" * 17)}, "auth is not 16 bytes"),
    "no auth": ({"auth": ""}, "auth is not 16 bytes"),
    "auth with padding": ({"auth": AUTH + "=="}, "auth is not 16 bytes"),
    "auth with other spare bits": ({"auth": AUTH[:-1] + "h"}, "auth is not 16 bytes"),
    "auth in standard base64": ({"auth": "+" * 22}, "auth is not 16 bytes"),
    "a point of one coordinate": ({"p256dh": compressed()}, "p256dh is not an uncompressed point"),
    "a short point": ({"p256dh": POINT[:-4]}, "p256dh is not an uncompressed point"),
    "a long point": ({"p256dh": POINT + "AAAA"}, "p256dh is not an uncompressed point"),
    "a hybrid point": ({"p256dh": base64url(b"\6" + from_base64url(POINT)[1:])}, "p256dh is not an uncompressed point"),
    "a point beside the curve": (
        {"p256dh": base64url(from_base64url(POINT)[:-1] + b"\0")},
        "p256dh is not a point of the curve",
    ),
    "zeros": ({"p256dh": base64url(b"\4" + b"\0" * 64)}, "p256dh is not a point of the curve"),
    "another language": ({"lang": "tlh"}, "lang is none of en, it"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_subscription_is_refused_with_its_reason(name: str) -> None:
    changes, reason = WRONG[name]
    with pytest.raises(MalformedError, match=reason) as raised:
        Subscription.parse(subscription(**changes))
    assert "nothing was changed" in raised.value.hint


@given(st.binary(max_size=80))
def test_base64url_is_read_as_it_was_written(data: bytes) -> None:
    assert decode_base64url(encode_base64url(data)) == data


@given(st.text(max_size=40) | st.binary(max_size=80).map(base64url))
def test_base64url_is_read_in_its_one_form(text: str) -> None:
    data = decode_base64url(text)
    assert data is None or encode_base64url(data) == text
