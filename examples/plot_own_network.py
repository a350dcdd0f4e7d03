"""
A network of your own
=====================

NCPD trains perceptrons unless you give it another network: any ``torch.nn.Module`` that takes rows
and returns logits. Rows may then be images. Here a convolutional network is more accurate than a
perceptron after two epochs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from disambig import NCPDClassifier
from disambig.candidates import corrupt_controlled


def convolutional(shape, n_classes):
    """Return a network for images, whose shape it is told."""
    channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * (height // 2) * (width // 2), n_classes),
    )


# %%
# Images of digits, 8 x 8 with one channel; two thirds of them have four candidate labels.

digits = load_digits()
images = digits.images.reshape(-1, 1, 8, 8)
X_train, X_test, truth, test_truth = train_test_split(
    images, digits.target, test_size=0.4, random_state=0
)
y = corrupt_controlled(truth, p=0.67, r=3, random_state=0)
print(y)

# %%
# The perceptron takes the same images as vectors. ``validation`` watches the accuracy on rows that
# are not trained on, epoch by epoch. It changes nothing in the training.

settings = {"epochs": 10, "ramp_epochs": 5, "random_state": 0}
as_vectors = X_train.reshape(-1, 64), X_test.reshape(-1, 64)
models = []
for name, network, (train, test) in (
    ("perceptron, 128 units", None, as_vectors),
    ("convolutional", convolutional, (X_train, X_test)),
):
    model = NCPDClassifier(
        network=network, hidden=128, validation=(test, test_truth), **settings
    ).fit(train, y)
    models.append(model)
    print(f"{name}: {model.score(test, test_truth):.3f}")

# %%
# ``history_`` has the covering rate, the share of predictions among the candidates; on plain labels
# that is the accuracy. Its standard error is that of a mean over the test rows.

figure, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
for model, color, style in zip(models, ("0.5", "C0"), ("s--", "o-"), strict=True):
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
