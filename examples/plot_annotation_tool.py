"""
From an annotation tool, and back
=================================

Three people name kinds of glass in Prodigy and do not always agree. Their export becomes a table,
the table clean labels, and the most doubtful rows a queue that goes back to the tool.
"""

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from disambig import load_dataset
from disambig.tabular import (
    clean_table,
    one_row_per_item,
    read_answers,
    read_cleaned,
    read_export,
    write_queue,
)

glass = load_dataset("glass")
truth = glass.true_labels.astype(str)
kinds = np.unique(truth)
folder = Path(tempfile.mkdtemp())

# %%
# An export, as Prodigy writes it: a line for each answer, with what was shown and who chose what.
# Ann is right eight times out of ten, Bob five times, and Eve often names two kinds.

generator = np.random.default_rng(0)
lines = []
for number, (measured, kind) in enumerate(zip(glass.X.tolist(), truth.tolist(), strict=True)):
    others = generator.permutation(kinds[kinds != kind]).tolist()
    said = {
        "ann": [kind if generator.random() < 0.8 else others[0]],
        "bob": [kind if generator.random() < 0.5 else others[0]],
        "eve": [kind, others[1]] if generator.random() < 0.7 else [others[2]],
    }
    lines += [
        {
            **{f"measure {place}": value for place, value in enumerate(measured)},
            "options": [{"id": option, "text": f"Kind {option}"} for option in kinds.tolist()],
            "accept": accepted,
            "answer": "accept",
            "_input_hash": number,
            "_task_hash": number,
            "_annotator_id": f"glass-{who}",
        }
        for who, accepted in said.items()
    ]
export = folder / "glass.jsonl"
export.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

# %%
# The hashes are gone, two kinds in one answer are candidates, and the options say how the table
# is read.

imported = read_export(export)
print(imported.frame[["item", "annotator", "label"]].head(6))
print(imported.options())

# %%
# Clean labels: the annotators are weighed by what a classifier learns of them.

columns = imported.options()
_, answers = read_answers(imported.frame, **columns)
table, _ = one_row_per_item(imported.frame, **columns)
cleaned = clean_table(table, labels=answers, id="item", method="em", random_state=0)
right = cleaned["chosen_label"].to_numpy() == truth
print(f"{right.mean():.3f} of the labels are right; {cleaned['second_look'].sum()} rows marked")

# %%
# The queue: the most doubtful rows first, options with their confidences, the likeliest accepted.

rows = read_cleaned(cleaned, id="item")
(queue,) = write_queue(rows, folder / "queue.jsonl", tool="prodigy", all_rows=True)
tasks = [json.loads(line) for line in queue.read_text(encoding="utf-8").splitlines()]
print([option["text"] for option in tasks[0]["options"]])

# %%
# Whoever works through the queue finds the wrong labels at its beginning.

wrong = np.array([not right[int(task["item"])] for task in tasks])
looked_at = np.arange(1, len(wrong) + 1)
figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
axes.plot(looked_at, wrong.cumsum(), color="C0")
axes.plot(looked_at, wrong.mean() * looked_at, color="0.5", linestyle="--")
axes.annotate("in the order of the queue", (3, 0.93 * wrong.sum()), color="C0")
axes.annotate("in any order", (0.62 * len(wrong), 0.55 * wrong.sum()), color="0.4", va="top")
axes.set(title="Wrong labels found", xlabel="rows looked at", ylabel="wrong labels", ylim=(0, None))
plt.show()
