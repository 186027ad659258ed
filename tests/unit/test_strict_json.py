"""JSON as its standard has it."""

from __future__ import annotations

import pytest

from dialogue_warehouse.common.json_values import RepeatedKeyError, decode_strictly


def test_values_are_those_of_the_text() -> None:
    assert decode_strictly('{"a": [1, 1.0, true, null, "\\ud800"], "b": {}}') == {
        "a": [1, 1.0, True, None, "\ud800"],
        "b": {},
    }
    assert decode_strictly(b"[]") == []


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "", "{", "01"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_strictly(text)


def test_repeated_key_is_refused_by_name_however_deep() -> None:
    with pytest.raises(RepeatedKeyError, match=r"^the key 'b' stands twice in an object$"):
        decode_strictly('[{"a": {"b": 1, "c": 2, "b": 1}}]')
