"""
NCPD, epoch by epoch
====================

Two networks disambiguate easy rows first and learn from each other. ``history_`` shows how that
goes, without any true label: choices settle, the networks come to agree, and predictions for
held-out rows are more often among the candidates.
"""

import matplotlib.pyplot as plt

from disambig import NCPDClassifier, load_dataset
from disambig.candidates import corrupt_controlled

vehicle = load_dataset("vehicle")
y = corrupt_controlled(vehicle.true_labels, p=0.7, r=1, random_state=0)

# %%
# Up to epoch ``ramp_epochs`` only a growing share T of the losses counts as small, and only rows
# with a small loss may be disambiguated. ``validation`` holds out a fifth of the rows; their
# candidate sets show how the training goes.

model = NCPDClassifier(hidden=256, epochs=60, ramp_epochs=30, validation=0.2, random_state=0).fit(
    vehicle.X, y
)
history = model.history_.to_frame()
print(history.iloc[[0, 14, 29, 59]].round(3).to_string())

# %%
# The upper figure shows how many rows are disambiguated: a row is *simple* if its predicted label
# is a candidate with a small loss. T is a share of all losses, so more than this share of the rows
# can be simple. The lower figure shows what the networks learn. This is one training, so there are
# no error bars.

figure, (above, below) = plt.subplots(
    2, 1, figsize=(5.6, 5), layout="constrained", sharex=True, sharey=True
)
above.plot(history["T"], "--", color="0.4")
above.plot(history["simple"], color="C0")
above.annotate("T, share of losses\nthat count as small", (26, 0.55), color="0.4")
above.annotate("simple rows", (38, 0.74), color="C0")
above.set(title="Easy rows first, nearly all in the end", ylabel="share", ylim=(0, 1.02))
below.plot(history["agreement"], color="C1")
below.plot(history["validation_covering_rate"], "-.", color="C2")
below.plot(history["changed"], "--", color="0.4")
below.annotate("networks agree", (20, 0.62), color="C1")
below.annotate("held-out predictions in their sets", (25, 0.92), color="C2")
below.annotate("choices that changed", (10, 0.18), color="0.4")
below.set(title="What the networks make of it", xlabel="epoch", ylabel="share of rows")
plt.show()
