"""Mappings of a dialogue that cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from msgspec import structs

from dialogue_warehouse.reading import dialogue_parts


class FixedMapping(dict[str, Any]):
    """A dict that cannot be changed, so that it can be hashed. `dict(…)` makes one that can."""

    def _refuse(self, *_arguments: object, **_named: object) -> NoReturn:
        raise TypeError("this mapping cannot be changed; dict(…) makes a copy that can")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle it without a change of the copy."""
        return FixedMapping, (dict(self),)


def fix(dialogue: dialogue_parts.Dialogue) -> None:
    """Make the mappings of a dialogue that was just read unchangeable: the other parts are so already."""
    for turn in dialogue.turns:
        for call in turn.calls:
            structs.force_setattr(call, "parameters", fixed(call.parameters))
        for selection in turn.selections:
            structs.force_setattr(selection, "item", fixed(selection.item))
    if dialogue.mark is not None:
        structs.force_setattr(dialogue.mark, "row", fixed(dialogue.mark.row))


def fixed(value: Any) -> Any:
    """Return a value without mappings and lists that can be changed."""
    if isinstance(value, Mapping):
        return FixedMapping({name: fixed(one) for name, one in value.items()})
    return tuple(map(fixed, value)) if isinstance(value, list) else value
