"""What the tests of NCPD+ share: quick classifiers, a mix or one configuration."""

from disambig import NCPDPlusClassifier

SMALL = {
    "hidden": 16, "epochs": 12, "batch_size": 30, "learning_rate": 0.001, "dropout": 0.5,
    "random_state": 0, "device": "cpu",
}  # fmt: skip
# Of these epochs scouts take so many.
SCOUTING = 4
# All parts that one configuration can have.
EVERY_PART = {
    "swap_noise": 0.3,
    "noise_from": 2,
    "second_view": "quantile",
    "prior_correction": 0.5,
}


def quick_mix(**parameters):
    """Return a mix that is fitted in a fifth of a second."""
    return NCPDPlusClassifier(**{**SMALL, **parameters})


def quick_single(**parameters):
    """Return one configuration: NCPD, unless parts are added."""
    return NCPDPlusClassifier(**{**SMALL, "select": "none", "ramp_epochs": 3, **parameters})


def load_plus(path, **options):
    """Return the classifier in a file, on the CPU."""
    return NCPDPlusClassifier.load(path, device="cpu", **options)
