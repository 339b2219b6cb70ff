"""canonical.json"""

from __future__ import annotations

from typing import Final

from scripts.build.vectors.formulas import MAX, Vector, canonical

PLAIN: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in '"\\')


def nested(depth: int) -> object:
    """Lists in lists, `depth` of them."""
    return [nested(depth - 1)] if depth > 1 else []


def canonical_texts() -> Vector:
    """canonical.json"""
    values: list[object] = [None, True, False, 0, 1, 10, MAX, "", "a", PLAIN, [], {}, [1, "1", None], nested(16)]
    values += [{"b": 1, "a": 2, "B": 3, "": 4, "a b": 5, "a-": 6, "aa": 7}, {"a": [{"c": {}, "b": []}, False]}]
    bad = [
        ("", "empty"),
        (" ", "a space alone"),
        ("\n", "a newline alone"),
        ("1\n", "a newline after"),
        ("1\r\n", "CR LF after"),
        ("1\r", "CR after"),
        (" 1", "a space before"),
        ("1 ", "a space after"),
        ("\ufeff1", "a byte order mark"),
        ("[1, 2]", "a space after a comma"),
        ('{"a": 1}', "a space after a colon"),
        ('{"b":1,"a":1}', "keys not sorted"),
        ('{"a":1,"B":1}', "keys not sorted by their bytes"),
        ('{"a":1,"a":1}', "a key twice"),
        ('{"a":1,"a":2}', "a key twice with two values"),
        ("1.0", "a fraction"),
        ("0.5", "a fraction"),
        ("1e3", "an exponent"),
        ("1E0", "an exponent"),
        ("-0", "a sign"),
        ("-1", "a sign"),
        ("+1", "a sign"),
        ("01", "a leading zero"),
        ("1_0", "not JSON"),
        (str(MAX + 1), "2^53"),
        ("9" * 400, "a very large number"),
        ("NaN", "not JSON"),
        ("Infinity", "not JSON"),
        ("-Infinity", "not JSON"),
        ("True", "not JSON"),
        ("nul", "not JSON"),
        ("'a'", "single quotes"),
        ('"a', "no closing quote"),
        ("[1,]", "a comma too many"),
        ("{1:2}", "a key that is no string"),
        ("{}{}", "two values"),
        (r'"\u0061"', "an escape"),
        (r'"\/"', "an escape"),
        (r'"a\"b"', "a quote in a string"),
        (r'"a\\b"', "a backslash in a string"),
        (r'"\n"', "an escaped newline"),
        ('"\t"', "a tab in a string"),
        ('"\x7f"', "DEL in a string"),
        ('"\u00e9"', "a letter beyond ASCII"),
        ("\u0661", "a digit beyond ASCII"),
        (canonical(nested(17)), "nested 17 deep"),
        ('{"a":' * 17 + "1" + "}" * 17, "nested 17 deep"),
        ("[" * 2000, "nested without end"),
    ]
    return {
        "good": [{"value": value, "text": canonical(value)} for value in values],
        "bad": [{"text": text, "reason": reason} for text, reason in bad],
    }
