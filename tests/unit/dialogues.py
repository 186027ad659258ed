"""Hand-made dialogues, for tests of code that shows them."""

from __future__ import annotations

from typing import Any

from dialogue_warehouse.reading import dialogue_parts

HOSTILE = (
    "<script>alert(1)</script> \x1b[31mred\x1b]0;title\x07 \u202eevil\u2066 שלום [bold]no[/bold] &amp; "
    + "long" * 2_500
)
"""A possible text of a corpus: markup of three kinds, escapes, directions, and ten thousand letters without a blank."""


def span(start: int | None, end: int | None, slot: str = "city", **values: Any) -> dialogue_parts.Span:
    empty = {"text": None, "service": None, "source_label": None, "annotation_index": 0, "status": None}
    return dialogue_parts.Span(key=f"d/0/span/{start}-{end}/0", start=start, end=end, slot=slot, **(empty | values))


def turn(text: str | None = "Hello", **values: Any) -> dialogue_parts.Turn:
    index = values.get("index", 0)
    nothing = dict.fromkeys(
        (
            *("source_turn_number", "source_event_type", "delexicalized", "occurred_at"),
            *("intent", "next_step", "json_pointer"),
        )
    )
    lists = {
        name: []
        for name in ("spans", "acts", "states", "calls", "selections", "candidates", "annotations", "violations")
    }
    required = {"key": f"c/p/d/{index}", "index": index, "role": "user", "speaker": "USER", "event_type": "utterance"}
    return dialogue_parts.Turn(text=text, **(nothing | lists | required | values))


def dialogue(*turns: dialogue_parts.Turn, **values: Any) -> dialogue_parts.Dialogue:
    nothing = dict.fromkeys(
        ("split", "source_split", "task", "source_task", "channel", "outcome_reward", "mark", "scenario", "guideline")
    )
    lists = {name: [] for name in ("participants", "services", "knowledge", "answers", "violations")}
    source = dialogue_parts.Source(source_file_id="c/p.json", record_index=0, record_pointer="/0", is_generated=False)
    required = {"key": "c/p/d", "corpus_id": "c", "corpus": "A corpus", "dialogue_id": "d", "source": source}
    required |= {"goal_kind": "find_shared_item"}
    return dialogue_parts.Dialogue(turns=list(turns), **(nothing | lists | required | values))


def full_turn(text: str, violation: dialogue_parts.Violation) -> dialogue_parts.Turn:
    """Return a turn that has every part except a selection."""
    act = dialogue_parts.Act(
        key="c/p/d/0/action/0",
        type="dialogue_act",
        service=text,
        act=text,
        slot=text,
        values=[text],
        canonical_values=["other"],
        guideline_steps=[0],
    )
    slots = [
        dialogue_parts.StateSlot(
            key=f"c/p/d/0/frame/0/state/{change}",
            slot=text,
            change=change,
            value=None if change == "dropped" else text,
            variants=None if change == "dropped" else [text, "other"],
            previous_value="before",
        )
        for change in ("added", "changed", "carried", "dropped")
    ]
    state = dialogue_parts.State(
        key="c/p/d/0/frame/0", service=text, active_intent=text, requested_slots=[text], slots=slots
    )
    result = dialogue_parts.CallResult(key="c/p/d/0/frame/0/result/0", values=[text])
    call = dialogue_parts.Call(
        key="c/p/d/0/frame/0/call",
        service=text,
        method=text,
        parameters={text: text},
        result_count=1,
        columns=[text],
        results=[result],
    )
    candidates = dialogue_parts.Candidates(
        key="c/p/d/0/candidates",
        target_position=0,
        candidates=[dialogue_parts.Candidate(candidate_id=7, text=text, is_target=True)],
    )
    annotation = dialogue_parts.Annotation(key="c/p/d/0/mention/0", type="mention", service=text, slot=text, value=text)
    return turn(
        text,
        spans=[span(0, 4, text)],
        acts=[act],
        states=[state],
        calls=[call],
        candidates=[candidates],
        annotations=[annotation],
        violations=[violation],
        intent=text,
    )


def everything(text: str) -> dialogue_parts.Dialogue:
    """Return a dialogue that has every part, with this text in every place that a corpus could fill."""
    places = dict.fromkeys(("turn_index", "row_key", "other_key", "service", "slot"))
    violation = dialogue_parts.Violation(rule="rule", kind="defect", title=text, detail=text, **places)
    item = dialogue_parts.Item(key="c/p/d/item/0/0", index=0, values=[text], is_shared=True, selected_in=[1])
    step = dialogue_parts.Step(index=0, type=text, button=text, act=text, text=text, subtext=[text], taken_in=[0])
    answer = dialogue_parts.Answer(
        vote_key="c/p/d/vote/a",
        response_key="c/p/d/response/a",
        option=text,
        agent_id=text,
        response=text,
        votes=1,
        is_selected=True,
        gold_position=0,
    )
    selection = dialogue_parts.Selection(
        key="c/p/d/1/action/0", agent=text, item_index=0, item={text: text}, is_shared=True, is_last=True
    )
    return dialogue(
        full_turn(text, violation),
        turn(None, index=1, role="peer", speaker=text, event_type="selection", selections=[selection]),
        corpus=text,
        task=text,
        participants=[dialogue_parts.Participant(speaker=text, type=text, reward=2.5)],
        services=[dialogue_parts.Service(service=text, domain=text, description=text)],
        scenario=dialogue_parts.Scenario(
            scenario_id=text,
            flow=text,
            subflow=text,
            values=[dialogue_parts.ScenarioValue(section="order", field=text, value=text)],
            attributes=[dialogue_parts.Attribute(attribute=text, value_type=text, alpha=1.0)],
        ),
        guideline=dialogue_parts.Guideline(
            key="g",
            flow=text,
            subflow=text,
            instructions=[text],
            steps=[step],
            conformance="exact",
            prescribed_acts=[text],
            missing_acts=[],
            extra_acts=[],
        ),
        knowledge=[dialogue_parts.KnowledgeBase(agent=text, participant_type=text, columns=[text], items=[item])],
        answers=[answer],
        violations=[violation],
    )
