"""
Photos and captions
===================

A caption names the people in a photo, and nobody says which face is whose. Every face gets the
names of the caption as its candidates. More is known, because faces of one photo come together:
nobody is in a photo twice, and whoever is named is usually there.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from disambig import PLKNN, EMClassifier, NCPDClassifier
from disambig.bench import cross_validate
from disambig.datasets import make_photo_dataset

photos = make_photo_dataset(150, noise=0.3, shared_noise=0.5, random_state=7)
y, truth = photos.candidates, photos.true_labels
print(y)
for photo, caption, name in zip(y.groups[:4], y.to_strings()[:4], truth[:4], strict=True):
    print(f"photo {photo}, captioned {caption}: a face of {name}")

# %%
# **Hold out whole photos.** Faces of one photo share its light. If some of them are trained on and
# others tested, the test is easier than a new photo. Sets that have groups are dealt by groups;
# without groups, the same faces are dealt one by one.

held_out = {}
for name, sets in {"faces": y.with_groups(None), "photos": y}.items():
    scores = cross_validate(PLKNN(), replace(photos, candidates=sets), n_folds=5)
    held_out[name] = np.mean([score.accuracy for score in scores])
    print(f"{name} held out: accuracy {held_out[name]:.3f}")

# %%
# **Say what a photo promises.** ``"cover"``: every name belongs to a face. ``"exclusive"``: no name
# belongs to two. Methods then choose the names of a photo together. NCPD also learns from that; for
# all other methods it is the last step. Neither promise needs to hold in every photo, and here
# "cover" does not: some captions name people who are not in the picture. A photo whose faces speak
# against a promise is soon exempt from it.

promises = {
    "nothing": y,
    "cover": y.with_groups(y.groups, promise="cover"),
    "exclusive": y.with_groups(y.groups, promise="exclusive"),
}
methods = {
    "EM": EMClassifier(),
    "NCPD": NCPDClassifier(hidden=128, epochs=60, ramp_epochs=30, random_state=0),
}
right = {
    name: [
        np.mean(method.fit(photos.X, sets).disambiguate() == truth) for sets in promises.values()
    ]
    for name, method in methods.items()
}
for name, shares in right.items():
    print(f"{name} names right, by what a photo promises:")
    print(", ".join(f"{what} {share:.3f}" for what, share in zip(promises, shares, strict=True)))

# %%
# On the left, two estimates of how good a model is on new photos, of which the first is too good.
# On the right, the faces that get the right name.

figure, (left, right_side) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.bar(list(held_out), list(held_out.values()), color=["0.6", "C0"], width=0.5)
left.set(title="PLKNN, held out: faces or photos", ylabel="accuracy", ylim=(0.4, 0.6))
places = np.arange(len(promises))
for number, (name, shares) in enumerate(right.items()):
    shift = 0.4 * number - 0.2
    right_side.bar(places + shift, shares, 0.4, color=f"C{2 * number}", label=name)
right_side.set(
    title="Training faces named right",
    xlabel="what a photo promises",
    ylim=(0.4, 1),
)
right_side.set_xticks(places, list(promises))
right_side.legend()
plt.show()
