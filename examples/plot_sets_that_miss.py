"""
Sets that miss the right label
==============================

Annotators, rules and language models sometimes leave the right label out. A set does not say so
itself, but a model that was trained on the other rows does: it expects a label that is not in the
set. ``find_misses`` tells which sets miss the truth and how many do, without any true label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from disambig import SURE, find_misses, load_dataset
from disambig.candidates import corrupt_controlled, leave_out_truth

ecoli = load_dataset("ecoli")
truth = ecoli.true_labels
y = corrupt_controlled(truth, p=0.7, r=2, random_state=0)

# %%
# Take the right label out of more and more sets. Where it was alone, a wrong label replaces it.

rates = [0.0, 0.1, 0.2, 0.3]
incomplete = {rate: leave_out_truth(y, truth, rate=rate, random_state=0) for rate in rates}
found = {
    rate: find_misses(SURE(), ecoli.X, sets, random_state=0) for rate, sets in incomplete.items()
}
for rate, misses in found.items():
    low, high = misses.interval
    print(f"{rate:.0%} miss the truth; estimated {misses.rate:.1%} ({low:.1%} to {high:.1%})")

# %%
# Every set gets the probability that it misses the truth, and the label it would have then. The
# area under the ROC curve is the chance that a set that misses is ranked above one that does not.

shown = 0.2
misses, is_missed = found[shown], ~incomplete[shown].contains(truth)
area = roc_auc_score(is_missed, misses.probability)
restored = np.mean(misses.label[is_missed] == truth[is_missed])
print(f"area under the ROC curve {area:.3f}; the right label in {restored:.0%} of the misses")
cells = incomplete[shown].to_strings()
for row in np.argsort(-misses.probability)[:5]:
    then = f"{misses.probability[row]:.2f}, then {misses.label[row]}"
    print(f"{cells[row]:12} {then:14} (truth: {truth[row]})")

# %%
# On the left, the probabilities of both kinds of sets; on the right, the estimated shares, which
# ought to lie on the line.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
bins = np.linspace(0, 1, 21)
left.hist(misses.probability[~is_missed], bins, color="C0", alpha=0.7, label="has the truth")
left.hist(misses.probability[is_missed], bins, color="C3", alpha=0.7, label="misses it")
left.set(
    title=f"{shown:.0%} of {len(truth)} sets miss the truth",
    xlabel="probability of a miss",
    ylabel="sets",
    yscale="log",
    ylim=(0.7, None),
)
left.legend(title="the set")
estimates = np.array([misses.rate for misses in found.values()])
ends = np.array([misses.interval for misses in found.values()]).T
right.plot([0, 0.35], [0, 0.35], color="0.6", linestyle="--")
right.errorbar(rates, estimates, np.abs(ends - estimates), fmt="o", color="C0", capsize=3)
right.set(
    title="Estimates, with 95 % intervals",
    xlabel="share of sets that miss the truth",
    ylabel="estimated share",
    xticks=rates,
)
plt.show()
