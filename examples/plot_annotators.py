"""
Annotators who disagree: better than a majority vote
====================================================

Five people label the same rows, some of them well, one by guessing, one always with the same
mistake. Usually one takes the majority. Here every annotator gets a confusion matrix, which is
learned beside a classifier: it is found out who can be believed, and far more rows get the right
label.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem

from disambig import CandidateLabels, EMClassifier, load_dataset, weigh_annotators
from disambig.metrics import accuracy

vehicle = load_dataset("vehicle")
truth = np.asarray(vehicle.true_labels)
classes, position = np.unique(truth, return_inverse=True)

# %%
# Ann is right in 95 % of the rows, Bob in 75 %, Cem in 60 %, and otherwise they give a random wrong
# label. Dot guesses. Eve takes every bus for an Opel, and is right in 90 % of the other rows. Three
# of them are asked about each row. Their answers form a long table, one line for each item and
# annotator, as annotation tools export it.

skills = {"Ann": 0.95, "Bob": 0.75, "Cem": 0.60, "Dot": 0.25, "Eve": 0.90}
people = np.array(list(skills))


def long_table(generator):
    """Return items, annotators and what they say."""
    items = np.repeat(np.arange(len(truth)), 3)
    who = np.concatenate([generator.permutation(len(people))[:3] for _ in truth])
    mistaken = generator.random(len(items)) > np.array(list(skills.values()))[who]
    other = generator.integers(1, len(classes), len(items))
    said = np.where(mistaken, (position[items] + other) % len(classes), position[items])
    bus, opel = np.searchsorted(classes, ["bus", "opel"])
    said[(people[who] == "Eve") & (position[items] == bus)] = opel
    return items, people[who], classes[said]


# %%
# Compare the majority, annotators weighed by their answers alone, and annotators weighed beside a
# linear model of the features. Repeat it three times with other mistakes.


def rows_set_right(seed):
    """Return the share of rows with the right label in three ways, and the last model."""
    columns = long_table(np.random.default_rng(seed))
    votes = CandidateLabels.from_annotations(*columns)
    # A tie goes to the first class.
    majority = votes.classes[votes.prior().toarray().argmax(axis=1)]
    alone = weigh_annotators(*columns)
    both = weigh_annotators(
        *columns, X=vehicle.X, method=EMClassifier(penalty=1.0), random_state=seed
    )
    chosen = {
        "majority": majority,
        "annotators\nweighed": alone.choose(),
        "with\nfeatures": both.choose(),
    }
    right = {name: accuracy(truth, labels) for name, labels in chosen.items()}
    return right, both, columns


runs = [rows_set_right(seed) for seed in range(3)]
names = list(runs[0][0])
right = np.array([list(run.values()) for run, _, _ in runs])
for name, mean, error in zip(names, right.mean(axis=0), sem(right), strict=True):
    print(f"{' '.join(name.split()):20} {mean:.3f} ± {error:.3f}")

# %%
figure, axes = plt.subplots(figsize=(5.0, 3.5), layout="constrained")
bars = axes.bar(names, right.mean(axis=0), yerr=sem(right), capsize=4, color=["0.8", "0.6", "C0"])
axes.bar_label(bars, fmt="%.2f", padding=2)
axes.grid(visible=False, axis="x")
axes.set(
    title="Rows with the right label, ± 1 standard error over 3 draws",
    ylabel="share of rows",
    ylim=(0, 1.05),
)

# %%
# Nobody told the model who is who. It judges everybody by the others and by the features, with an
# interval; Dot is found to answer nearly at random.

_, model, (items, who, said) = runs[0]
quality = model.quality()
actual = {name: (said == truth[items])[who == name].mean() for name in people}
for name in people:
    one = quality[name]
    remark = ", nearly at random" if one.is_random else ""
    share, low, high = one.accuracy
    print(f"{name}: {share:.2f} ({low:.2f} to {high:.2f}), really {actual[name]:.2f}{remark}")

figure, axes = plt.subplots(figsize=(4.4, 4.0), layout="constrained")
shares = np.array([quality[name].accuracy for name in people])
axes.plot([0, 1], [0, 1], color="0.7", linestyle=":", linewidth=1)
axes.errorbar(
    list(actual.values()),
    shares[:, 0],
    yerr=[shares[:, 0] - shares[:, 1], shares[:, 2] - shares[:, 0]],
    fmt="o",
    color="C0",
    capsize=4,
)
for name, share in actual.items():
    axes.annotate(
        name, (share, quality[name].accuracy.share), xytext=(8, -10), textcoords="offset points"
    )
axes.set(
    title="Estimated with 95 % intervals",
    xlabel="share of answers that are right",
    ylabel="share as estimated, without true labels",
    xlim=(0, 1.05),
    ylim=(0, 1.05),
)

# %%
# Eve's mistake is in her confusion matrix: where the row is true, the column is what she says.

eve = model.known.confusions[model.annotators.index("Eve")]
print(f"{'':6}" + "".join(f"{name:>7}" for name in model.classes))
for name, row in zip(model.classes, eve, strict=True):
    print(f"{name:6}" + "".join(f"{share:7.2f}" for share in row))
plt.show()
