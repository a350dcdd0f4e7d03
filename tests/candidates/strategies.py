"""Random candidate sets for property tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from disambig import CandidateLabels


@st.composite
def masks(draw, max_rows=8, max_classes=6):
    """Boolean masks without an empty row."""
    shape = draw(st.tuples(st.integers(1, max_rows), st.integers(1, max_classes)))
    mask = draw(hnp.arrays(bool, shape))
    always = draw(hnp.arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1)))
    mask[np.arange(shape[0]), always] = True
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
