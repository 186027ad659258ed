"""The folder of a made-up corpus, with claims for tests."""

from __future__ import annotations

from pathlib import Path

LISTED = '[documents."readme.txt"]\ntitle = "README"\nquotes_whom = "publisher"\n'

CLAIM = {
    "id": '"X01"',
    "quote": '"either A or B"',
    "document": '"readme.txt"',
    "locator": '"Data"',
    "kind": '"invariant"',
    "severity": '"warning"',
    "description": '"A speaker is A or B."',
    "table": '"core.fct_turns"',
    "type": '"expect_column_values_to_be_in_set"',
    "kwargs": '{ column = "source_speaker", value_set = ["A", "B"] }',
    "rows": '{ corpus_id = "toy" }',
    "why": '"They are two."',
}

QUERY = '"select * from core.fct_turns"'

RECORDED = '{ value = 3, reason = "miscounted" }'

NUMBER = {"kind": '"count"', "type": None, "kwargs": None, "rows": None}
NUMBER |= {"sql": '"select count(*) from core.fct_turns"', "expected": "2"}


def corpus_folder(folder: Path, *claims: dict[str, str | None]) -> Path:
    """Write the folder of a corpus with these claims: the usual claim with changed keys; None leaves a key out."""
    text = LISTED
    for changes in claims:
        entries = {key: value for key, value in (CLAIM | changes).items() if value is not None}
        text += "\n[[claims]]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
    (folder / "claims.toml").write_text(text, encoding="utf-8")
    return folder
