"""Read every dialogue of SGD as Python objects with one library, and print the costs as JSON.

`python -m tests.benchmarks.peers.objects LIBRARY PLACE`: the place is the folder of the release; for this project, the
warehouse that was built from it. Each way visits every dialogue, turn and act, and counts them.
"""

from __future__ import annotations

import importlib.metadata
import json
import resource
import sys
import time
from collections import Counter
from pathlib import Path


def with_dialogue_warehouse(place: str) -> Counter[str]:
    """Stream the dialogues of a warehouse."""
    import dialogue_warehouse as dw

    found: Counter[str] = Counter()
    with dw.open(place) as warehouse:
        for dialogue in warehouse.dialogues(corpus="sgd"):
            found["dialogues"] += 1
            found["turns"] += len(dialogue.turns)
            found["acts"] += sum(len(turn.acts) for turn in dialogue.turns)
    return found


def with_convokit(place: str) -> Counter[str]:
    """Make a corpus of utterances with their frames as metadata, as ConvoKit's own conversions do, and iterate it."""
    import convokit

    utterances = []
    speakers = {name: convokit.Speaker(id=name) for name in ("USER", "SYSTEM")}
    for file in sorted(Path(place).glob("*/dialogues_*.json")):
        for dialogue in json.loads(file.read_bytes()):
            first = f"{file.parent.name}/{dialogue['dialogue_id']}/0"
            for index, turn in enumerate(dialogue["turns"]):
                key = first[:-1] + str(index)
                utterances.append(
                    convokit.Utterance(
                        id=key,
                        speaker=speakers[turn["speaker"]],
                        conversation_id=first,
                        reply_to=first[:-1] + str(index - 1) if index else None,
                        text=turn["utterance"],
                        meta={"frames": turn["frames"]},
                    )
                )
    found: Counter[str] = Counter()
    for conversation in convokit.Corpus(utterances=utterances).iter_conversations():
        found["dialogues"] += 1
        for utterance in conversation.iter_utterances():
            found["turns"] += 1
            found["acts"] += sum(len(frame["actions"]) for frame in utterance.meta["frames"])
    return found


def with_datasets(place: str) -> Counter[str]:
    """Make a dataset with the features of the hub's own builder, and iterate it."""
    from tests.benchmarks.peers.read_with_datasets import datasets, read_generated

    datasets.disable_progress_bars()
    found: Counter[str] = Counter()
    for dialogue in read_generated(sorted(Path(place).glob("*/dialogues_*.json"))):
        found["dialogues"] += 1
        found["turns"] += len(dialogue["turns"])
        found["acts"] += sum(len(frame["actions"]) for turn in dialogue["turns"] for frame in turn["frames"])
    return found


WAYS = {"dialogue-warehouse": with_dialogue_warehouse, "convokit": with_convokit, "datasets": with_datasets}


def main(library: str, place: str) -> None:
    """Read, and print the costs. The time to import the library is included."""
    started, cpu = time.perf_counter(), time.process_time()
    found = WAYS[library](place)
    print(
        json.dumps(
            {
                "library": library,
                "version": importlib.metadata.version(library),
                "seconds": time.perf_counter() - started,
                "cpu_seconds": time.process_time() - cpu,
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "counts": dict(found),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
