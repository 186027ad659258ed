"""A notebook about the published warehouse: `marimo edit docs/notebook.py`, or as a page `marimo run docs/notebook.py`."""

import marimo

app = marimo.App(width="medium", app_title="dialogue-warehouse")


@app.cell
def _():
    import marimo as mo

    mo.md("# What is in the warehouse\nEvery cell reads the published build and cannot change it.")
    return (mo,)


@app.cell
def _():
    import os

    import dialogue_warehouse as dw

    warehouse = dw.open(os.environ.get("DIALOGUE_WAREHOUSE", "warehouse"))
    warehouse
    return (warehouse,)


@app.cell
def _(warehouse):
    profile = warehouse.sql(
        """
        select corpus_id, dialogue_count, turn_count, turns_per_dialogue, tokens_per_utterance, vocabulary_count
        from corpus_profile
        where is_whole_corpus
        order by corpus_id
        """
    ).df()
    profile
    return (profile,)


@app.cell
def _(warehouse):
    import altair

    lengths = warehouse.sql(
        "select corpus_id, turn_count as turns, count(*) as dialogues from dim_dialogues group by all"
    ).df()
    chart = altair.Chart(lengths, title="Dialogues by number of turns").mark_bar()
    chart.encode(x="turns:Q", y="dialogues:Q", row="corpus_id:N")
    return


@app.cell
def _(mo):
    mo.md("## A dialogue")
    return


@app.cell
def _(warehouse):
    chosen = warehouse.dialogues(corpus="sgd", split="validation", sample=1)
    dialogue = next(iter(chosen))
    dialogue
    return (dialogue,)


@app.cell
def _(dialogue):
    dialogue.messages()
    return


@app.cell
def _(mo):
    mo.md("## A file to train on\nTraining dialogues whose texts no other split has, with a weight for each answer.")
    return


@app.cell
def _(warehouse):
    written = warehouse.export(
        "chat", "training", corpus="sgd", split="train", without_leaks=True, targets="weight", force=True
    )
    written
    return


@app.cell
def _(mo):
    mo.md(
        "## A set to evaluate on\nTest dialogues without a known defect: the answers of the system, and what it knew."
    )
    return


@app.cell
def _(warehouse):
    sound = warehouse.dialogues(corpus="sgd", split="test", without_defects="from-then-on")
    asked = [
        {"key": turn.key, "history": " / ".join(before.text or "" for before in one.turns[:index]), "answer": turn.text}
        for one in sound
        for index, turn in enumerate(one.turns)
        if turn.role == "system"
    ]
    asked[:3], len(asked)
    return


@app.cell
def _(warehouse):
    refuted = warehouse.claims(verdict="refuted").df()[["claim_id", "quote", "expected", "observed", "judged_on"]]
    refuted
    return


if __name__ == "__main__":
    app.run()
