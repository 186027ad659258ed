"""SGD with Polars: `read_json` of every file, then `explode` and `unnest` level by level.

The columns cannot be declared: Polars has no type for an object with free keys, and cannot read one as text or as a
list of pairs. So each file's type is inferred from the whole file, an object with free keys becomes one column per key,
and the tables of pairs come from `unpivot`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.benchmarks.peers import way

TURN = ["file", "dialogue_id", "turn_index"]
FRAME = [*TURN, "frame_index", "service"]


def read(files: list[Path]) -> pl.DataFrame:
    """Return all dialogues, one row each, with the columns of all files."""
    return pl.concat(
        [
            pl.read_json(file, infer_schema_length=None).with_columns(file=pl.lit(f"{file.parent.name}/{file.name}"))
            for file in files
        ],
        how="diagonal_relaxed",
    )


def flatten(dialogues: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return a frame per level."""
    turns = explode(dialogues.select("file", "dialogue_id", "turns"), "turns", "turn_index").unnest("turns")
    frames = explode(turns.select(*TURN, "frames"), "frames", "frame_index").unnest("frames")
    call = frames.filter(pl.col("service_call").struct.field("method").is_not_null()).select(
        *FRAME, pl.col("service_call").struct.field("parameters")
    )
    state = frames.filter(pl.col("state").struct.field("active_intent").is_not_null()).select(
        *FRAME, pl.col("state").struct.field("slot_values")
    )
    return {
        "turns": turns.drop("frames"),
        "frames": frames.select(*FRAME, pl.col("state").struct.field("active_intent", "requested_slots")),
        "actions": explode(frames.select(*FRAME, "actions"), "actions", "action_index").unnest("actions"),
        "spans": explode(frames.select(*FRAME, "slots"), "slots", "span_index").unnest("slots"),
        "state_values": pairs(state, "slot_values").explode("value"),
        "call_parameters": pairs(call, "parameters"),
        "service_results": explode(frames.select(*FRAME, "service_results"), "service_results", "result_index"),
    }


def explode(frame: pl.DataFrame, column: str, position: str) -> pl.DataFrame:
    """Return one row per item of a list column, with its position; an empty list has no row."""
    return (
        frame.filter(pl.col(column).list.len() > 0)
        .with_columns(pl.int_ranges(pl.col(column).list.len()).alias(position))
        .explode(column, position)
    )


def pairs(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return one row per key of an object with free keys."""
    return (
        frame.unnest(column)
        .unpivot(index=FRAME, variable_name="slot", value_name="value")
        .filter(pl.col("value").is_not_null())
    )


if __name__ == "__main__":
    loses = "absent or null or empty object (one null each); order of the keys of state, call and results"
    way.run("polars", {"read_json": way.Way(read, flatten, loses)})
