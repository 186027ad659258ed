"""The immutable mappings of a dialogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from msgspec import structs

from dialogue_warehouse.reading import dialogue_parts


class FixedMapping(dict[str, Any]):
    """An immutable dict, so that it can be hashed. `dict(…)` returns a mutable copy."""

    def _refuse(self, *_arguments: object, **_named: object) -> NoReturn:
        raise TypeError("this mapping is immutable; dict(…) returns a mutable copy")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the mapping: a copy is made at once, without a change of items."""
        return FixedMapping, (dict(self),)


def fix(dialogue: dialogue_parts.Dialogue) -> None:
    """Make the mappings of a dialogue that was just read immutable: the other parts are so already."""
    for turn in dialogue.turns:
        for call in turn.calls:
            structs.force_setattr(call, "parameters", fixed(call.parameters))
        for selection in turn.selections:
            structs.force_setattr(selection, "item", fixed(selection.item))
    if dialogue.mark is not None:
        structs.force_setattr(dialogue.mark, "row", fixed(dialogue.mark.row))


def fixed(value: Any) -> Any:
    """Return a value with immutable mappings, and with tuples instead of lists."""
    if isinstance(value, Mapping):
        return FixedMapping({name: fixed(one) for name, one in value.items()})
    return tuple(map(fixed, value)) if isinstance(value, list) else value
