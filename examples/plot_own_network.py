"""
A network of your own
=====================

NCPD trains perceptrons unless you give it another network: any ``torch.nn.Module`` that takes rows
and returns logits. Here a convolutional network, which knows that rows are images, is more accurate
from the first epochs on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from disambig import NCPDClassifier
from disambig.candidates import corrupt_controlled


def convolutional(n_features, n_classes):
    """Return a network for images of 8 x 8."""
    assert n_features == 64
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 16, n_classes),
    )


# %%
# Images of digits; two thirds of them have four candidate labels.

digits = load_digits()
X_train, X_test, truth, test_truth = train_test_split(
    digits.data, digits.target, test_size=0.4, random_state=0
)
y = corrupt_controlled(truth, p=0.67, r=3, random_state=0)
print(y)

# %%
# ``validation`` watches the accuracy on rows that are not trained on, epoch by epoch. It changes
# nothing in the training.

settings = {"epochs": 10, "ramp_epochs": 5, "random_state": 0, "validation": (X_test, test_truth)}
models = {
    "perceptron, 128 units": NCPDClassifier(hidden=128, **settings),
    "convolutional": NCPDClassifier(network=convolutional, scaling="global", **settings),
}
for name, model in models.items():
    model.fit(X_train, y)
    print(f"{name}: {model.score(X_test, test_truth):.3f}")

# %%
# ``history_`` has the covering rate, the share of predictions among the candidates; on plain labels
# that is the accuracy. Its standard error is that of a mean over the test rows.

figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
for model, color, style in zip(models.values(), ("0.5", "C0"), ("s--", "o-"), strict=True):
    right = np.asarray(model.history_["validation_covering_rate"])
    error = np.sqrt(right * (1 - right) / len(X_test))
    epochs = np.arange(1, len(right) + 1)
    axes.plot(epochs, right, style, color=color)
    axes.fill_between(epochs, right - error, right + error, color=color, alpha=0.18, linewidth=0)
axes.annotate("convolutional", (2.2, 0.97), color="C0")
axes.annotate("perceptron, 128 units", (4.5, 0.79), color="0.4")
axes.set(
    title=f"Accuracy on {len(X_test)} new digits, ± 1 standard error",
    xlabel="epoch",
    ylabel="accuracy",
    ylim=(None, 1),
)
plt.show()
