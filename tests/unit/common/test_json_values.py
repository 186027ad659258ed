"""JSON: pointers are written, split and followed; texts are decoded as the standard requires."""

from __future__ import annotations

import pytest

from dialogue_warehouse.common.json_values import (
    RepeatedKeyError,
    array_index,
    beginning,
    decode_strictly,
    pointer_token,
    resolve,
    split_pointer,
    text_at,
)

DOCUMENT = {"a/b": [{"m~n": 0}, [10, 11]], "": {"~1": "tilde one"}, "nothing": None}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/a~1b/0/m~0n", 0),
        ("/a~1b/1/1", 11),
        ("//~01", "tilde one"),
        ("/nothing", None),
    ],
)
def test_pointer_is_followed_as_rfc_6901_says(pointer: str, value: object) -> None:
    assert resolve(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["a", "/a", "/a~1b/2", "/a~1b/-", "/a~1b/01", "/a~1b/-1", "/a~1b/¹", "/nothing/0", "/a~1b/0/m~0n/0"]
)
def test_pointer_to_nothing_has_no_value(pointer: str) -> None:
    with pytest.raises(LookupError):
        resolve(DOCUMENT, pointer)


@pytest.mark.parametrize("key", ["", "a", "a/b", "m~n", "~1", "/~0/"])
def test_token_of_a_key_leads_back_to_it(key: str) -> None:
    assert split_pointer(f"/{pointer_token(key)}/0") == [key, "0"]


def test_beginning_of_a_pointer_is_cut_between_tokens() -> None:
    assert [beginning("/train/0/a~1b", depth) for depth in (0, 1, 2, 9)] == ["", "/train", "/train/0", "/train/0/a~1b"]


@pytest.mark.parametrize(
    ("token", "index"),
    [
        ("0", 0),
        ("10", 10),
        ("01", None),
        ("-1", None),
        ("²", None),
        ("٣", None),
        ("", None),
        ("1 ", None),
        ("1\n", None),
    ],
)
def test_only_plain_digits_are_an_index(token: str, index: int | None) -> None:
    assert array_index(token) == index


def test_key_with_other_digits_is_a_member_and_not_an_element() -> None:
    assert resolve({"²": 1}, "/²") == 1
    with pytest.raises(LookupError):
        resolve([1, 2, 3], "/²")


def test_values_agree_with_the_text() -> None:
    assert decode_strictly('{"a": [1, 1.0, true, null, "\\ud800"], "b": {}}') == {
        "a": [1, 1.0, True, None, "\ud800"],
        "b": {},
    }
    assert decode_strictly(b"[]") == []


def test_text_at_a_pointer_keeps_its_numerals_and_is_one_line() -> None:
    document = b'[0, {"a/b": {"x": [1.10,\n 1E2, -0, 1e400, 100000000000000000000.0], "s": "\\u00e9 1.0"}}]'
    assert text_at(document, "/1/a~1b") == '{"x": [1.10, 1E2, -0, 1e400, 100000000000000000000.0], "s": "\\u00e9 1.0"}'
    assert text_at(b"1.10", "") == "1.10"
    assert text_at(b'{"\\ud800": 1.10}', "/~ud800") is None
    with pytest.raises(LookupError):
        text_at(document, "/1/b")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "", "{", "01"])
def test_invalid_json_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_strictly(text)


def test_repeated_key_at_any_depth_is_rejected_by_name() -> None:
    with pytest.raises(RepeatedKeyError, match=r"^the key 'b' occurs twice in an object$"):
        decode_strictly('[{"a": {"b": 1, "c": 2, "b": 1}}]')
