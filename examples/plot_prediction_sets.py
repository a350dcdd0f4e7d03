"""
Prediction sets: which labels cannot be ruled out
=================================================

A classifier names one label. Which others are possible? ``ConformalSets`` answers with a set for
each row, and says how often the right label is in it. It is calibrated on candidate sets that were
held out of the training; no true label is needed.
"""

import matplotlib.pyplot as plt
import numpy as np

from disambig import SURE, ConformalSets, load_dataset
from disambig.candidates import corrupt_controlled

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
rows = np.random.default_rng(0).permutation(len(truth))
train, new = rows[:600], rows[600:]

# %%
# A twentieth of the rows has two labels. The truth is in the prediction set of at least 90 % of new
# rows, whatever the second label is. Here we can check, because we know the truth.

y = corrupt_controlled(truth, p=0.05, r=1, random_state=0)
model = ConformalSets(SURE(), coverage=0.9, random_state=0).fit(vehicle.X[train], y[train])
print(model.calibration_)

sets = model.predict_set(vehicle.X[new])
print(sets)
print(sets.to_strings()[:6])
print(f"The truth is in {sets.contains(truth[new]).mean():.0%} of the sets.")

# %%
# With a taxonomy, the answer may be the node that has all possible labels below it.

taxonomy = {"vehicle": ["car", "large"], "car": ["opel", "saab"], "large": ["bus", "van"]}
print(sets.deepest_nodes(taxonomy)[:6])

# %%
# A row unlike all others should have no label at all. ``abstain`` says how many ordinary rows may
# get an empty set by mistake. In these ten rows the features of different vehicles are mixed up:

careful = ConformalSets(SURE(), coverage=0.9, abstain=0.02, random_state=0)
careful.fit(vehicle.X[train], y[train])
mixed_up = np.random.default_rng(0).permuted(vehicle.X[new], axis=0)[:10]
print("mixed up:", careful.predict_set(mixed_up).sizes)
print("ordinary:", careful.predict_set(vehicle.X[new[:10]]).sizes)

# %%
# The more rows are ambiguous, the less can be promised. "safe" then rules out nothing, because any
# candidate might be the truth. "weak" promises only that the set and the candidates have a label in
# common, and loses the truth. "estimated" trusts the classifier to tell candidates apart: its sets
# are small, and nothing is guaranteed. The classifier is trained once for each share and calibrated
# three times.

shares = [0.0, 0.05, 0.1, 0.2, 0.4, 0.7]
kinds = {"safe": ("C0", "o-"), "weak": ("C8", "s--"), "estimated": ("C2", "^-.")}
covered = {kind: [] for kind in kinds}
sizes = {kind: [] for kind in kinds}
fit, calibrate = train[:400], train[400:]
for p in shares:
    y = corrupt_controlled(truth, p=p, r=2, random_state=0)
    fitted = SURE().fit(vehicle.X[fit], y[fit])
    for kind in kinds:
        model = ConformalSets(fitted, kind=kind, cv="prefit")
        sets = model.fit(vehicle.X[calibrate], y[calibrate]).predict_set(vehicle.X[new])
        covered[kind].append(sets.contains(truth[new]).mean())
        sizes[kind].append(sets.sizes.mean())

figure, (above, below) = plt.subplots(1, 2, figsize=(7.2, 3.3), layout="constrained")
for kind, (color, style) in kinds.items():
    above.plot(shares, covered[kind], style, color=color, label=kind)
    below.plot(shares, sizes[kind], style, color=color)
    below.annotate(kind, (0.72, sizes[kind][-1]), va="center", color=color)
above.axhline(0.9, color="0.5", linewidth=0.8, linestyle=":")
above.annotate("asked for", (0.7, 0.903), ha="right", color="0.4")
above.set(title="Truth in the set", xlabel="share of rows with two false labels")
above.set(ylim=(0.7, 1.01), xticks=[0, 0.2, 0.4, 0.6])
above.legend(loc="lower left")
below.set(title="Labels in a set", xlabel="share of rows with two false labels", xlim=(-0.03, 0.98))
below.set(ylim=(0, 4.2), xticks=[0, 0.2, 0.4, 0.6])
plt.show()
