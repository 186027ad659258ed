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

    import duckdb

    folder = os.environ.get("DIALOGUE_WAREHOUSE", "warehouse")
    con = duckdb.connect(f"{folder}/dialogues.duckdb", read_only=True)
    return (con,)


@app.cell
def _(con):
    profile = con.sql(
        """
        select corpus_id, dialogue_count, turn_count, turns_per_dialogue, tokens_per_utterance, vocabulary_count
        from analytics.corpus_profile
        where is_whole_corpus
        order by corpus_id
        """
    ).df()
    profile
    return (profile,)


@app.cell
def _(con, mo):
    from dialogue_warehouse.site import drawing
    from dialogue_warehouse.site.pictures import read_pictures

    pictures = {f"{picture.corpus_id or 'all'}: {picture.title}": picture for picture in read_pictures(con)}
    chosen = mo.ui.dropdown(list(pictures), value=next(iter(pictures)), label="Picture")
    chosen
    return chosen, drawing, pictures


@app.cell
def _(chosen, drawing, mo, pictures):
    mo.Html(f"<style>{drawing.style()}</style>{pictures[chosen.value].chart.draw()}")
    return


@app.cell
def _(con, mo):
    from dialogue_warehouse.reading import dialogues
    from dialogue_warehouse.site import rendering

    ((key,),) = con.sql("select min(dialogue_key) from core.dim_dialogues where corpus_id = 'sgd'").fetchall()
    dialogue = dialogues.read_dialogue(con, key)
    mo.Html(f"<style>{rendering.style()}</style>{rendering.render_fragment(dialogue)}")
    return (dialogue,)


@app.cell
def _(con):
    refuted = con.sql(
        """
        select claims.claim_id, claims.quote, claims.expected, checks.observed, checks.verdict, checks.judged_on
        from quality.claims as claims
        inner join quality.claim_checks as checks on claims.claim_id = checks.claim_id
        where checks.verdict <> 'reproduced'
        order by claims.claim_id
        """
    ).df()
    refuted
    return (refuted,)


if __name__ == "__main__":
    app.run()
