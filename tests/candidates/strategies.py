"""Random candidate sets for property tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from disambig import CandidateLabels

# A few classes are kept dense, a few candidates of many classes are kept sparse.
class_counts = st.one_of(st.integers(1, 6), st.integers(40, 60))


@st.composite
def masks(draw, max_rows=8):
    """Boolean masks without an empty row, for both ways to store them."""
    n_classes = draw(class_counts)
    columns = st.integers(0, n_classes - 1)
    rows = draw(st.lists(st.sets(columns, min_size=1, max_size=5), min_size=1, max_size=max_rows))
    mask = np.zeros((len(rows), n_classes), dtype=bool)
    for row, members in enumerate(rows):
        mask[row, list(members)] = True
    return mask


@st.composite
def candidate_labels(draw, weighted=None):
    """Candidate sets over text classes, with or without weights."""
    mask = draw(masks())
    classes = [f"class {column}" for column in range(mask.shape[1])]
    has_weights = draw(st.booleans()) if weighted is None else weighted
    if not has_weights:
        return CandidateLabels.from_mask(mask, classes)
    weights = draw(hnp.arrays(float, mask.shape, elements=st.floats(0.125, 8)))
    return CandidateLabels.from_mask(mask, classes, weights=weights * mask)
