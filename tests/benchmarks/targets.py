"""The targets for speed and size, and the measured values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.harness import MODELS, markdown_table, ratio

QUICKEST_PEER = "polars"


@dataclass(frozen=True)
class Target:
    """A target and its measured value."""

    name: str
    limit: float
    measured: float
    unit: str

    @property
    def is_met(self) -> bool:
        """True if the measured value is within the limit."""
        return self.measured <= self.limit


def of_builds(result: dict[str, Any]) -> list[Target]:
    """Return the targets that the results of `make bench` are compared with."""
    sets = {part["scale"]: part for part in result["sets"]}
    found: list[Target] = []
    if sample := result.get("sample"):
        (models,) = (stage for stage in sample["stages"] if stage["kind"] == MODELS)
        found += [
            Target("embedded sample, from the command to the published file", 8, sample["seconds"]["median"], "s"),
            Target("of which models", 3, models["seconds"]["median"], "s"),
        ]
    if one := sets.get(1):
        found += _of_scale_1(one)
    if ten := sets.get(10):
        found.append(Target("peak memory, scale 10", 4, ten["build"]["peak_bytes"]["median"] / 1e9, "GB"))
    if one and ten:
        growth = ratio(ten["build"]["seconds"], one["build"]["seconds"])
        found.append(Target("whole build, scale 10 / scale 1", 8, growth, "×"))
    return found


def _of_scale_1(one: dict[str, Any]) -> list[Target]:
    build = one["build"]
    whole = build["seconds"]
    found = [
        Target("whole build, audited and published", 24, whole["median"], "s"),
        Target("landing and models / floor", 3.5, ratio(build["landing_and_models"], one["floor"]["seconds"]), "×"),
        Target("peak memory", 2, build["peak_bytes"]["median"] / 1e9, "GB"),
        Target("published file", 200, one["sizes"]["database"] / 1e6, "MB"),
        Target("one model changed / whole build", 0.6, ratio(one["model_changed"]["seconds"], whole), "×"),
        Target("nothing changed", 0.5, one["unchanged"]["seconds"]["median"], "s"),
        Target("`verify`", 10, one["verify"]["seconds"]["median"], "s"),
        Target("`report`", 2, one["report"]["seconds"]["median"], "s"),
    ]
    found += [
        Target(f"`{name}` from the shell", 0.5, command["seconds"]["median"], "s")
        for name, command in one["commands"].items()
    ]
    found += [
        Target(f"query `{name}`", 0.1, query["seconds"]["median"], "s")
        for name, query in one["queries"].items()
        if "seconds" in query
    ]
    return [Target(f"{one['name']}: {target.name}", target.limit, target.measured, target.unit) for target in found]


def of_peers(peers: dict[str, Any]) -> list[Target]:
    """Return the targets that the results of `make bench-peers` are compared with."""
    found = []
    for part in peers["sets"]:
        limit = {None: 3, 1: 0.8}.get(part["scale"])
        for peer in part["peers"]:
            if limit is not None and peer["library"] == QUICKEST_PEER and "seconds" in peer:
                measured = ratio(part["ours"]["landing_and_models"], peer["seconds"])
                found.append(Target(f"{part['name']}: SGD, landing and models / {QUICKEST_PEER}", limit, measured, "×"))
    return found


def table(targets: Iterable[Target]) -> str:
    """Return the table of targets and measured values."""
    rows = [
        (
            target.name,
            f"≤ {target.limit:g} {target.unit}",
            f"{target.measured:.2f} {target.unit}",
            "yes" if target.is_met else "**no**",
        )
        for target in targets
    ]
    return (
        markdown_table(("target", "limit", "measured", "met"), rows)
        if rows
        else "No set has a target: there are targets only for scales 1 and 10."
    )
