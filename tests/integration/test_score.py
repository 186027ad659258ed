"""`score`: the same for all corpora, whatever their metrics are. Golden values are in the tests of each corpus."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.scores import PredictionForm, Scoring, load_scoring, scored_corpora
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import open_published
from dialogue_warehouse.scoring.comparing import MOST_EXACT, p_value
from dialogue_warehouse.scoring.examples import write_examples
from dialogue_warehouse.scoring.measuring import Measuring
from dialogue_warehouse.scoring.running import Request, score_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from tests import golden
from tests.conftest import run_command

CORPORA = scored_corpora()
RESULT = """
    select metric, variant, group_name, value, strict_value, low, high, coverage, units, scored_units, dialogues
    from scores.metrics order by all
"""
SLOTS = (
    "select service, slot, outcome, times, example_key, example_gold, example_predicted from scores.slots order by all"
)
Written = Callable[..., Path]


def split_of(scoring: Scoring) -> str | None:
    return "test" if scoring.declaration.has_split else None


def gold_of(
    warehouse: Path, corpus_id: str, form: str, dialogues: int | None = None, split: str | None = None
) -> list[str]:
    """Return gold as predictions: the records of a form."""
    scoring = load_scoring(corpus_id)
    _, database = builds.published_build(WarehousePaths(warehouse))
    with open_core(database, Settings()) as con:
        measuring = Measuring(con, scoring, split or split_of(scoring))
        measuring.prepare(None, False, None, dialogues)
        measuring.read_gold()
        return measuring.examples(form)


def write(path: Path, records: list[str]) -> Path:
    """Write records as lines or as an array."""
    path.write_text("\n".join(records) if path.suffix == ".jsonl" else f"[{','.join(records)}]", encoding="utf-8")
    return path


def scored(
    warehouse: Path, corpus_id: str, path: Path, settings: Settings | None = None, **options: Any
) -> list[tuple]:
    """Return all numbers of predictions, and what happened to each slot."""
    request = Request(corpus_id, path, split=split_of(load_scoring(corpus_id)), **options)
    with score_published(WarehousePaths(warehouse), settings or Settings(), request) as scores:
        return scores.con.execute(RESULT).fetchall() + scores.con.execute(SLOTS).fetchall()


@pytest.fixture
def predictions(sample_folder: Path, tmp_path: Path) -> Written:
    """Return a function that writes gold of some dialogues in the first form of a corpus."""

    def written(
        corpus_id: str, dialogues: int | None = None, change: Callable[[list[str]], object] | None = None
    ) -> Path:
        form = load_scoring(corpus_id).forms[0]
        records = gold_of(sample_folder, corpus_id, form.name, dialogues)
        if change is not None:
            change(records)
        return write(tmp_path / f"{corpus_id}_{len(list(tmp_path.iterdir()))}{form.suffix}", records)

    return written


FORMS = [(form.name, corpus_id) for corpus_id in CORPORA for form in load_scoring(corpus_id).forms]


@pytest.mark.parametrize(("form_name", "corpus_id"), FORMS)
def test_gold_as_predictions_has_the_number_of_gold(
    sample_folder: Path, tmp_path: Path, corpus_id: str, form_name: str
) -> None:
    form = next(form for form in load_scoring(corpus_id).forms if form.name == form_name)
    path = write(tmp_path / f"gold{form.suffix}", gold_of(sample_folder, corpus_id, form_name))
    with golden.scored(sample_folder, corpus_id, path, split=split_of(load_scoring(corpus_id))) as scores:
        numbers = golden.metrics(scores)
        assert numbers == golden.metrics(scores, "gold_value") == golden.metrics(scores, "strict_value")
        assert set(golden.metrics(scores, "coverage").values()) == {1.0}
        metrics = {metric for _, metric, _ in numbers}
        assert metrics == load_scoring(corpus_id).declaration.metrics.keys()
        wrong = scores.con.execute("select count(*) from scores.slots where outcome = 'invented'").fetchall()
        assert wrong == [(0,)]


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_another_order_and_number_of_threads_give_the_same_numbers(
    sample_folder: Path, predictions: Written, corpus_id: str
) -> None:
    def shuffle(records: list[str]) -> None:
        random.Random(1).shuffle(records)

    first = scored(sample_folder, corpus_id, predictions(corpus_id), Settings(threads=1))
    assert first == scored(sample_folder, corpus_id, predictions(corpus_id, None, shuffle), Settings(threads=3))
    assert first != scored(sample_folder, corpus_id, predictions(corpus_id, 1))


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_missing_predictions_cost_only_the_strict_number(
    sample_folder: Path, predictions: Written, corpus_id: str
) -> None:
    scoring = load_scoring(corpus_id)
    path = predictions(corpus_id, 5)
    with golden.scored(sample_folder, corpus_id, path, split=split_of(scoring)) as scores:
        coverage, strict = golden.metrics(scores, "coverage"), golden.metrics(scores, "strict_value")
        value = golden.metrics(scores)
        if not scoring.declaration.has_split:  # transcripts are not about other dialogues
            assert set(coverage.values()) == {1.0}
            return
        assert not scores.is_complete()
    group = scoring.declaration.main_groups[0]
    partly = [key for key, share in coverage.items() if key[0] == group and share < 1]
    assert partly
    assert all(value[key] is None or strict[key] <= value[key] for key in partly)
    assert any(value[key] is not None and strict[key] < value[key] for key in partly)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_record_that_is_wrong_is_refused_with_its_place(
    sample_folder: Path, predictions: Written, corpus_id: str
) -> None:
    path = predictions(corpus_id, 1, lambda records: records.append("{}"))
    place = "line" if path.suffix == ".jsonl" else "record"
    with pytest.raises(InputError, match=rf"^{path}: {place} \d+: .*required field") as refused:
        scored(sample_folder, corpus_id, path)
    assert "\n" not in str(refused.value)


def damaged(form: PredictionForm, record: str) -> dict[str, tuple[bytes, str]]:
    """Return files that are not JSON, each with the error."""
    text = record.encode()
    key, word = next(iter(form.place.items()))
    name = str(json.loads(record)[key])
    again = key if form.suffix == ".jsonl" else "x"  # another key is refused in a line
    nan = text[: text.rindex(b"}")] + f', "{again}": NaN}}'.encode()
    deep = text[: text.rindex(b"}")] + b',"x":' + b"[" * 100_000
    if form.suffix == ".jsonl":
        place = f"line 1, {word} {name}"
        return {
            "cut off": (text[:-5], f"{place}.*: Input data was truncated"),
            "no number": (nan, f"{place}.*: JSON is malformed: .*"),
            "deep": (deep, f"{place}.*: .*"),
            "no UTF-8": (
                text.replace(b'":"', b'":"\xff', 1).replace(b'": "', b'": "\xff', 1),
                "line 1.*: a text is not UTF-8",
            ),
        }
    place, last = "is not an array or an object of JSON: ", f"; the last {word} before is {name}"
    return {
        "empty": (b" ", f"{place}the file is empty"),
        "cut off": (b"[" + text, f"{place}Input data was truncated{last}"),
        "no number": (b"[" + nan + b"]", f"{place}JSON is malformed: .*{last}"),
        "deep": (b"[" + deep, f"{place}values are nested too deeply{last}"),
        "scalar": (b"3", f"{place}Expected `array`, got `int`"),
        "one record": (text, rf"has one record, {word} {name}.*, without an array: write `\[` and `\]` around it"),
    }


@pytest.mark.parametrize(("form_name", "corpus_id"), FORMS)
def test_file_that_is_not_json_is_refused_with_the_dialogue_at_its_end(
    sample_folder: Path, tmp_path: Path, corpus_id: str, form_name: str
) -> None:
    form = next(form for form in load_scoring(corpus_id).forms if form.name == form_name)
    for content, error in damaged(form, gold_of(sample_folder, corpus_id, form_name, 1)[0]).values():
        path = tmp_path / f"damaged{form.suffix}"
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: {error}$") as refused:
            scored(sample_folder, corpus_id, path)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_file_without_a_record_is_reported(sample_folder: Path, predictions: Written, corpus_id: str) -> None:
    path = predictions(corpus_id, None, lambda records: records.clear())
    with golden.scored(sample_folder, corpus_id, path, split=split_of(load_scoring(corpus_id))) as scores:
        assert scores.notices[0] == ("nothing is predicted", 1, path.name, "it has no record")


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_predictions_of_another_corpus_are_refused(sample_folder: Path, predictions: Written, corpus_id: str) -> None:
    own = {form.suffix for form in load_scoring(corpus_id).forms}
    for other in CORPORA:
        path = predictions(other, 1)
        if other != corpus_id:
            error = r"(line 1|record 0).*: Object " if path.suffix in own else "of predictions must end with "
            with pytest.raises(InputError, match=error):
                scored(sample_folder, corpus_id, path)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_two_equal_sets_of_predictions_do_not_differ(sample_folder: Path, predictions: Written, corpus_id: str) -> None:
    path = predictions(corpus_id)
    request = Request(corpus_id, path, split=split_of(load_scoring(corpus_id)), against=path)
    with score_published(WarehousePaths(sample_folder), Settings(), request) as scores:
        compared = scores.con.execute(
            "select distinct difference, p_value, differing_dialogues from scores.comparisons"
        )
        assert compared.fetchall() == [(0.0, 1.0, 0)]


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_turns_with_defects_can_be_left_out(sample_folder: Path, predictions: Written, corpus_id: str) -> None:
    path, split = predictions(corpus_id), split_of(load_scoring(corpus_id))
    request = Request(corpus_id, path, split, without_defects="from-then-on")
    if split is None:
        with pytest.raises(InputError, match=rf"^{corpus_id}: --without-defects: your own dialogues have no known "):
            scored(sample_folder, corpus_id, path, without_defects="here")
        return
    with score_published(WarehousePaths(sample_folder), Settings(), request) as scores:
        kept = {key for (key,) in scores.con.execute("select distinct turn_key from scores.units").fetchall()}
        touched = {
            key
            for (key,) in scores.con.execute(
                "select turn_key from dialogues.quality.annotation_risk where defects_from_then_on > 0"
            ).fetchall()
        }
    assert not kept & touched


@pytest.mark.parametrize("word", ["here", "from-then-on"])
@pytest.mark.parametrize(
    ("corpus_id", "split", "dialogue", "turn", "changed"),
    [
        ("abcd", "test", "convo_id", "turn_count", {"intent": "wrong"}),
        ("taskmaster1", "none", "conversation_id", "index", {"arguments": []}),
    ],
)
def test_what_is_predicted_for_a_turn_that_is_left_out_changes_nothing(
    sample_folder: Path,
    tmp_path: Path,
    corpus_id: str,
    split: str,
    dialogue: str,
    turn: str,
    changed: dict[str, Any],
    word: str,
) -> None:
    """Also not the match of the whole dialogue."""
    gold = gold_of(sample_folder, corpus_id, "lines", split=split)
    path = write(tmp_path / "lines.jsonl", gold)
    column = "turn_number" if corpus_id == "abcd" else "turn_index"
    with golden.scored(sample_folder, corpus_id, path, split=split, without_defects=word) as scores:
        left_out = scores.con.execute(
            f"select distinct dialogue_id, {column} from temp.cases semi join temp.left_out using (turn_key)"
        ).fetchall()
        numbers = scores.con.execute(RESULT).fetchall()
        assert golden.metrics(scores) == golden.metrics(scores, "gold_value")
    records = [json.loads(line) for line in gold]
    wrong = [record | changed if (str(record[dialogue]), record[turn]) in left_out else record for record in records]
    assert wrong != records
    write(path, [json.dumps(record) for record in wrong])
    with golden.scored(sample_folder, corpus_id, path, split=split, without_defects=word) as scores:
        assert scores.con.execute(RESULT).fetchall() == numbers


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_each_form_of_predictions_has_an_example(corpus_id: str) -> None:
    scoring = load_scoring(corpus_id)
    assert all("as record" in scoring.example(form.name) for form in scoring.forms)


@pytest.mark.parametrize(
    "damage",
    [lambda line: line[:-5], lambda line: line.replace('": {', '": 0.5, "x": {')],
    ids=["cut off", "other type"],
)
def test_error_names_a_question_in_its_words(sample_folder: Path, tmp_path: Path, damage: Callable[[str], str]) -> None:
    """A comma, a quotation mark and an escaped letter are parts of the name."""
    question = 'Caf\u00e9 "Kyoto", please'
    path = tmp_path / "damaged.jsonl"
    path.write_text(damage(json.dumps({"question": question, "scores": {"alexa": 1.0}})), encoding="utf-8")
    with pytest.raises(InputError, match=rf"line 1, question {question}: "):
        scored(sample_folder, "bbai", path)


@pytest.mark.parametrize("corpus_id", CORPORA)
@pytest.mark.parametrize("split", ["train", "test"])
def test_metrics_count_something_in_each_example(
    sample_folder: Path, tmp_path: Path, corpus_id: str, split: str
) -> None:
    """Also where they leave out the first two dialogues, as for questions that no agent answers."""
    paths = WarehousePaths(sample_folder)
    for path in write_examples(paths, Settings(), corpus_id, split, tmp_path):
        with score_published(paths, Settings(), Request(corpus_id, path, split)) as scores:
            assert scores.con.execute("select 1 from scores.units where is_scored limit 1").fetchall()


def test_folder_of_an_example_that_fails_is_not_made(sample_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no dialogue of the split none"):
        write_examples(WarehousePaths(sample_folder), Settings(), "sgd", "none", tmp_path / "example")
    assert list(tmp_path.iterdir()) == []


def test_results_are_kept_once_and_queried_with_the_warehouse(
    sample_folder: Path, predictions: Written, tmp_path: Path
) -> None:
    corpus_id = CORPORA[-1]
    file, path = tmp_path / "results.duckdb", predictions(corpus_id)
    options = ("--corpus", corpus_id, "--split", "test", "--to", file, "--warehouse", sample_folder)
    for arguments in (("--predictions", path), ("--predictions", path), ("--predictions", predictions(corpus_id, 1))):
        completed = run_command("score", *options, *arguments)
        assert completed.returncode == 0, completed.stderr
    with open_published(WarehousePaths(sample_folder), scores=file) as con:
        runs = con.execute("select run_id, count(*) from scores.runs join scores.metrics using (run_id) group by 1")
        assert len(runs.fetchall()) == 2
        joined = con.execute("select count(*) from scores.units join core.fct_turns using (turn_key)").fetchall()
        assert joined[0][0] > 0
        with pytest.raises(duckdb.Error, match="read-only"):
            con.execute("delete from scores.runs")
    with duckdb.connect(str(file), read_only=True) as con:
        lacking = con.execute("select table_name from duckdb_tables() where comment is null").fetchall()
        assert lacking == []


@pytest.mark.parametrize("options", [(), ("--strict",)])
def test_strict_run_fails_if_a_prediction_is_missing(
    sample_folder: Path, predictions: Written, options: tuple[str, ...]
) -> None:
    path = predictions(CORPORA[-1], 1)
    arguments = ("--corpus", CORPORA[-1], "--split", "test", "--predictions", path, "--warehouse", sample_folder)
    completed = run_command("score", *arguments, "--json", *options)
    assert completed.returncode == len(options)
    assert completed.stderr.startswith("error: ") == bool(options)
    assert json.loads(completed.stdout)[0]["metric"] in load_scoring(CORPORA[-1]).declaration.metrics


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--corpus", "nothing"), "nothing: no such corpus"),
        (("--split", "other"), "there is no split 'other'"),
        (("--fuzzy", "exact"), "--fuzzy exact: texts are compared in one way only"),
        (("--across-turn",), "no metric is multiplied across a turn"),
        (("--to", "WAREHOUSE/builds/x.duckdb"), "belongs to the warehouse"),
        (("--to", "PREDICTIONS"), "is not a file of results"),
        (("--predictions", "NOWHERE"), "there is no such file or folder"),
        (("--predictions", "WAREHOUSE/sample"), "the folder has no file whose name ends with .json or .jsonl"),
    ],
)
def test_request_that_cannot_be_met_is_refused(
    sample_folder: Path, predictions: Written, arguments: tuple[str, ...], error: str
) -> None:
    corpus_id = CORPORA[-1]
    path = predictions(corpus_id, 1)
    given = [word.replace("WAREHOUSE", str(sample_folder)).replace("PREDICTIONS", str(path)) for word in arguments]
    base = ("--corpus", corpus_id, "--split", "test", "--predictions", path, "--warehouse", sample_folder)
    completed = run_command("score", *base, *given)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert error in completed.stderr
    assert completed.stderr.count("\n") == 1


def test_file_that_holds_no_results_is_not_attached(sample_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("x", encoding="utf-8")
    for file, error in ((other, "is not a file of results"), (tmp_path / "none", "there is no such file")):
        with pytest.raises(QueryError, match=error):
            open_published(WarehousePaths(sample_folder), scores=file)


def test_refused_predictions_leave_no_file(sample_folder: Path, predictions: Written, tmp_path: Path) -> None:
    corpus_id, file = CORPORA[-1], tmp_path / "results.duckdb"
    request = Request(corpus_id, predictions(corpus_id, 1, lambda records: records.append("{}")), "test")
    with (
        pytest.raises(InputError, match="required field"),
        score_published(WarehousePaths(sample_folder), Settings(), request, file),
    ):
        pass
    assert not file.exists()


def test_wrong_query_of_a_corpus_is_named(sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scoring = load_scoring(CORPORA[0])
    monkeypatch.setitem(scoring.queries, "cases", "select no_such_column from selected")
    with pytest.raises(CorpusError, match=rf"^{CORPORA[0]}/score.sql: cases: .*no_such_column"):
        gold_of(sample_folder, CORPORA[0], scoring.forms[0].name)


@pytest.mark.parametrize("number", [1, 2, 5, MOST_EXACT])
def test_p_value_is_the_share_of_signs_with_such_a_sum(number: int) -> None:
    draw = random.Random(number)
    differences = [draw.choice((-1, 1, 2)) / 8 for _ in range(number)]
    sums = [
        abs(sum(map(lambda one, sign: one * sign, differences, signs)))
        for signs in itertools.product((1, -1), repeat=number)
    ]
    assert p_value([*differences, 0.0]) == sum(one >= abs(sum(differences)) for one in sums) / len(sums)


@pytest.mark.parametrize("differences", [(-3, -1, 3, -3, 4), (1, 2, -3), (5, -1, -1, -1, -1, -1)])
def test_no_difference_has_the_p_value_one_whatever_the_rounding(differences: tuple[int, ...]) -> None:
    assert {p_value([one / parts for one in differences]) for parts in range(1, 100)} == {1.0}


def test_p_value_of_many_differences_is_close_to_that_of_drawn_signs() -> None:
    draw = random.Random(3)
    differences = [draw.gauss(0.1, 1) for _ in range(100)]
    reached = abs(sum(differences))
    drawn = [abs(sum(one * draw.choice((1, -1)) for one in differences)) >= reached for _ in range(4000)]
    assert p_value(differences) == pytest.approx(sum(drawn) / len(drawn), abs=0.03)
    assert p_value([1.0] * 30) < 1e-6


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_numbers_in_python_are_those_of_the_command(
    sample_folder: Path, predictions: Written, tmp_path: Path, corpus_id: str
) -> None:
    path, split = predictions(corpus_id, 3), split_of(load_scoring(corpus_id))
    options = ["--corpus", corpus_id, "--predictions", path, *(["--split", split] if split else [])]
    run = run_command("score", *options, "--json", "--warehouse", sample_folder)
    assert run.returncode == 0, run.stderr
    with dw.open(sample_folder) as warehouse:
        scores = warehouse.score(corpus_id, path, split=split, to=tmp_path / "results.duckdb")
    by_command = json.loads(run.stdout)
    named = by_command[0].keys()
    assert [{name: getattr(score, name) for name in named} for score in scores] == by_command
    first = scores.scores[0]
    assert scores.value(first.metric) == first.value
    assert scores.is_complete == (all(score.coverage == 1 for score in scores) and not scores.notices)
    assert scores.to_dict()["scores"][0]["metric"] == first.metric
    with duckdb.connect(str(tmp_path / "results.duckdb"), read_only=True) as con:
        assert con.execute("select run_id, count(*) from metrics group by run_id").fetchall() == [
            (scores.run_id, len(scores.scores))
        ]


def test_wrong_words_in_python_are_named(sample_folder: Path, predictions: Written) -> None:
    path = predictions(CORPORA[0], 1)
    with dw.open(sample_folder) as warehouse:
        with pytest.raises(dw.InputError, match=r"^split: there is no split 'best'; there are "):
            warehouse.score(CORPORA[0], path, split="best")
        with pytest.raises(dw.InputError, match=r"^without_defects: 'ever' is not one of 'here', 'from-then-on'$"):
            warehouse.score(CORPORA[0], path, split="test", without_defects="ever")  # ty: ignore[invalid-argument-type]
        scores = warehouse.score(CORPORA[0], path, split=split_of(load_scoring(CORPORA[0])))
        with pytest.raises(
            dw.InputError, match=r"^there is no value of metric 'luck', group None and variant None; metrics "
        ):
            scores.value("luck")
        first = scores.scores[0]
        with pytest.raises(dw.InputError, match=rf" group 'Mars' .*; its groups are .*{re.escape(first.group_name)}"):
            scores.value(first.metric, "Mars")
        with pytest.raises(dw.InputError, match=rf" variant 'odd'; its variants are {first.variant}"):
            scores.value(first.metric, first.group_name, "odd")
