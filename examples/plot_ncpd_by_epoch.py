"""
NCPD by epoch
=============

Two networks that disambiguate easy rows first and learn from each other, watched while they train.
Nothing in this example is a true label, but for the making of the sets.
"""

import matplotlib.pyplot as plt

from disambig import NCPDClassifier, load_dataset
from disambig.candidates import corrupt_controlled

vehicle = load_dataset("vehicle")
y = corrupt_controlled(vehicle.true_labels, p=0.7, r=1, random_state=0)

# %%
# Up to epoch ``ramp_epochs`` only a growing share T of the losses counts as small, and only rows
# with a small loss may be disambiguated. ``validation`` holds rows out, whose candidate sets say
# how the training goes.

model = NCPDClassifier(hidden=256, epochs=60, ramp_epochs=30, validation=0.2, random_state=0).fit(
    vehicle.X, y
)
history = model.history_.to_frame()
print(history.iloc[[0, 14, 29, 59]].round(3).to_string())

# %%
# Left, what is allowed and what happens: a row is *simple* if its predicted label is a candidate
# with a small loss. T is a share of all losses, so more than this share of the rows can be simple.
# Right, what comes of it: the networks agree on more rows, choices settle, and
# predictions for held-out rows fall into their sets more often.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
left.plot(history.index, history["T"], "k--", label="T, share of small losses")
left.plot(history.index, history["simple"], color="#0B5FA5", label="simple rows")
left.set(title="Easy rows first, all in the end", xlabel="epoch", ylabel="share", ylim=(0, 1.02))
left.legend(loc="lower right")
right.plot(history.index, history["agreement"], color="#8B0000", label="networks agree")
right.plot(
    history.index,
    history["validation_covering_rate"],
    color="#00A070",
    label="held-out predictions in their sets",
)
right.plot(history.index, history["changed"], color="0.45", label="choices changed")
right.set(title="What the networks make of it", xlabel="epoch")
right.legend(loc="center right")
plt.show()
