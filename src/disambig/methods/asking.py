"""Which rows to ask people about, and how: by the errors that answers remove, nearby ones too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_boolean, check_integer
from disambig._core.typing import BoolArray, Features, FloatArray, IntArray, Sparse
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_maxima, group_sums
from disambig.candidates.target import as_candidates
from disambig.methods.scaling import apply_scaler, fit_scaler
from disambig.solvers.blocks import one_thread_each
from disambig.solvers.greedy_cover import choose_rows
from disambig.solvers.label_ties import errors_removed
from disambig.solvers.neighbor_opinions import second_opinion, similarity_graph
from disambig.solvers.question_forms import MOST_LABELS, quickest_forms

_NEIGHBORS = 10
# How probably a row is tied to one that makes up all of it, in units of the neighbours' weight.
# A model that is trained again carries an answer further than the nearest rows do: with one unit
# rows near many others are asked too late, with ten too early (tried on draws 0 to 2 of
# benchmarks/ask.py).
_STRENGTH = 3.0
# Neighbours are looked for among so many rows: half of them the least sure, the others at random.
_MOST_ROWS = 20_000
_SEED = 0


@dataclass(frozen=True, eq=False)
class AnswerPlan:
    """Rows to ask about in their order, how, and what the answers are expected to remove.

    Attributes
    ----------
    rows : ndarray of int
        Rows in the order in which they should be asked about.
    labels : tuple of tuples of int
        Classes that each question names, the likeliest first.
    by_answers, nearby : ndarray of float
        Errors that each answer removes in its row, and in rows like it.
    times : ndarray of float
        How long each answer takes; 1 is an ordinary one.
    doubt : ndarray of float
        Errors expected in every row before.
    """

    rows: IntArray
    labels: tuple[tuple[int, ...], ...]
    by_answers: FloatArray
    nearby: FloatArray
    times: FloatArray
    doubt: FloatArray


def plan_answers(
    candidates: CandidateLabels,
    confidences: FloatArray,
    features: Features | None,
    *,
    answers: IntArray,
    may_ask: BoolArray,
    most_rows: int,
    most_time: float = np.inf,
) -> AnswerPlan:
    """Choose rows and questions.

    ``answers`` are the pairs of row and candidate that people have settled before.

    Confidences are in the order of ``candidates.pairs()``; where those of a row sum to less than
    one, the rest is the probability that its set misses the right label. Features are scaled, with
    rows of length one. Rows of a group that promises something are not tied to each other: their
    labels do not agree. What an answer says of the rest of its group does not count.
    """
    starts = candidates.starts
    _, columns = candidates.pairs()
    chosen = first_largest(confidences, starts)
    open_rows = np.ones(len(candidates), dtype=bool)
    open_rows[candidates.pairs()[0][answers]] = False
    doubt = np.where(open_rows, (1 - confidences[chosen]).clip(0), 0)
    suspected, explained = doubt, sparse.csr_array((len(candidates), len(candidates)))
    if features is not None and len(candidates) > 1:
        mixed, explained = _with_neighbors(candidates, confidences, features, answers)
        suspected = np.where(open_rows, (1 - mixed[chosen]).clip(0), 0)
    falling, order = _likeliest(candidates, confidences)
    counts, times = quickest_forms(falling, candidates.sizes)
    found = choose_rows(
        suspected, explained, times, may_ask=may_ask, most_rows=most_rows, most_seconds=most_time
    )
    # The neighbours say where errors are; how many there are, the model does.
    rows = found.rows
    by_model = doubt[rows] * found.by_answers / np.where(suspected[rows] > 0, suspected[rows], 1)
    total = found.by_answers.sum()
    scale = by_model.sum() / total if total > 0 else 1.0
    labels = tuple(tuple(columns[order[row, : counts[row]]].tolist()) for row in rows.tolist())
    by_answers, nearby = found.by_answers * scale, found.nearby * scale
    # Nor can more go nearby than the model expects in all other rows.
    elsewhere = max(0.0, float(doubt.sum() - by_answers.sum()))
    if nearby.sum() > elsewhere:
        nearby *= elsewhere / nearby.sum()
    return AnswerPlan(rows, labels, by_answers, nearby, times[rows], doubt)


def _with_neighbors(
    candidates: CandidateLabels, confidences: FloatArray, features: Features, answers: IntArray
) -> tuple[FloatArray, Sparse]:
    """Return confidences that neighbours have a say in, and what answers tell of neighbours.

    The second is the share of a row's doubt (by column) that an answer on another (by row) removes.
    """
    n_rows = len(candidates)
    starts = candidates.starts
    rows, columns = candidates.pairs()
    near = _rows_to_compare(1 - group_maxima(confidences, starts))
    compared = np.isin(np.arange(n_rows), near)
    pairs = np.flatnonzero(compared[rows])
    graph = similarity_graph(features[near], _NEIGHBORS)
    known = np.searchsorted(pairs, answers[compared[rows[answers]]])
    opinion = second_opinion(graph, candidates[near], confidences[pairs], known)
    mixed = confidences.copy()
    mixed[pairs] = opinion.confidences
    doubt = (1 - group_maxima(mixed, starts)).clip(0)
    doubt[rows[answers]] = 0
    ties = graph.T.tocsr()
    ties.data = np.minimum(_STRENGTH * opinion.weight * ties.data, 1)
    edges = ties.tocoo()
    asked, others = near[edges.coords[0]], near[edges.coords[1]]
    kept = (edges.data > 0) & (doubt[others] > 0)
    if candidates.promise is not None and candidates.groups is not None:
        kept &= candidates.groups[asked] != candidates.groups[others]
    asked, others, strength = asked[kept], others[kept], edges.data[kept]
    shares = sparse.csr_array(
        (mixed, columns, np.append(starts, len(mixed))), shape=candidates.shape
    )
    shape = (n_rows, n_rows)
    removed = errors_removed(
        shares, sparse.csr_array((strength, (asked, others)), shape=shape)
    ).tocoo()
    to_row = removed.coords[1]
    of_doubt = np.minimum(removed.data / doubt[to_row], 1)
    return mixed, sparse.csr_array((of_doubt, removed.coords), shape=shape)


def _rows_to_compare(doubt: FloatArray) -> IntArray:
    """Return the rows among which neighbours are looked for, rising."""
    if len(doubt) <= _MOST_ROWS:
        return np.arange(len(doubt))
    order = np.argsort(-doubt, kind="stable")
    half = _MOST_ROWS // 2
    others = np.random.default_rng(_SEED).permutation(order[half:])[: _MOST_ROWS - half]
    rows: IntArray = np.sort(np.concatenate([order[:half], others]))
    return rows


def _likeliest(candidates: CandidateLabels, confidences: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the largest confidences of every row, falling, and which pairs they are of."""
    rows, _ = candidates.pairs()
    order = np.lexsort((-confidences, rows))  # within its row, the first of equal ones first
    places = candidates.starts[:, np.newaxis] + np.arange(MOST_LABELS)
    there = np.arange(MOST_LABELS) < candidates.sizes[:, np.newaxis]
    found = order[np.where(there, places, 0)]
    return np.where(there, confidences[found], 0.0), found


@overload
def query(
    confidences: Any,
    candidates: Any,
    X: Any = None,
    *,
    n_queries: int = 10,
    answers: Mapping[int, Any] | None = None,
    return_questions: Literal[False] = False,
) -> IntArray: ...
@overload
def query(
    confidences: Any,
    candidates: Any,
    X: Any = None,
    *,
    n_queries: int = 10,
    answers: Mapping[int, Any] | None = None,
    return_questions: Literal[True],
) -> tuple[IntArray, list[tuple[Any, ...]]]: ...
def query(
    confidences: Any,
    candidates: Any,
    X: Any = None,
    *,
    n_queries: int = 10,
    answers: Mapping[int, Any] | None = None,
    return_questions: bool = False,
) -> IntArray | tuple[IntArray, list[tuple[Any, ...]]]:
    """Choose the rows whose labels are most worth asking a person for.

    A row is worth the errors that its answer is expected to remove, per second that it takes: those
    in the row itself, and those in rows like it, which the answer informs. With features, rows are
    also doubted where the rows near them speak against the model. Rows are chosen one after the
    other, and what is explained by those before counts no more, so a batch does not ask the same
    thing twice.

    Parameters
    ----------
    confidences : array-like or sparse array of shape (n_samples, n_classes)
        Probabilities of labels, such as those of ``predict_proba`` for rows that the model has not
        seen, or ``candidate_confidence_``. What lies outside the candidate sets is left out, and
        the rest of a row is divided by its sum.
    candidates : CandidateLabels, boolean mask, sparse mask, or plain labels
        Candidate sets, also of answered rows as they were before; rows with a single candidate are
        not asked about.
    X : array-like or sparse array of shape (n_samples, n_features), optional
        Features; without them, answers are worth what they remove in their own rows.
    n_queries : int, default=10
        Most rows to choose; fewer are chosen where no others hold any doubt.
    answers : mapping from row to label, optional
        What people have said before. These rows are not asked about again. What the model and the
        neighbours thought of them says how much the neighbours count, so give the confidences of a
        model that had not seen the answer, or not the row.
    return_questions : bool, default=False
        Whether to return the labels to ask about too.

    Returns
    -------
    rows : ndarray of int
        Rows, the most valuable first.
    questions : list of tuples of labels
        One label, "is it a cat?", or several, "cat or dog?": whichever is answered sooner. Only if
        ``return_questions``.

    See Also
    --------
    disambig.tabular.questions_of : Questions about the rows of a cleaned table.

    Examples
    --------
    >>> from disambig import CandidateLabels, query
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat|dog|fox", "dog|fox", "fox"])
    >>> confidences = [[0.6, 0.4, 0], [0.9, 0.05, 0.05], [0, 0.7, 0.3], [0, 0, 1]]
    >>> query(confidences, y, n_queries=2).tolist()
    [0, 2]
    >>> rows, questions = query(confidences, y, return_questions=True)
    >>> rows.tolist(), questions
    ([0, 2, 1], [('cat', 'dog'), ('dog', 'fox'), ('cat',)])
    """
    check_integer("n_queries", n_queries, minimum=1)
    check_boolean("return_questions", return_questions)
    sets = as_candidates(candidates)
    values = _confidences_of(confidences, sets)
    sets, values, settled = with_answers(sets, values, answers or {})
    may_ask = sets.sizes > 1
    may_ask[sets.pairs()[0][settled]] = False
    with one_thread_each():
        features = None if X is None else _unit_rows(X, len(sets))
        plan = plan_answers(
            sets, values, features, answers=settled, may_ask=may_ask, most_rows=n_queries
        )
    if not return_questions:
        return plan.rows
    classes = sets.classes.tolist()
    return plan.rows, [tuple(classes[column] for column in labels) for labels in plan.labels]


def unit_rows(X: Features) -> Features:
    """Return standardised features, each row divided by its length."""
    return apply_scaler(fit_scaler("standard", X), X, unit_rows=True)


def _unit_rows(X: Any, n_rows: int) -> Features:
    features = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    if features.shape[0] != n_rows:
        raise ParameterError(
            f"'X' must have a row for each of the {n_rows:,} candidate sets. Got "
            f"{features.shape[0]:,} rows."
        )
    return unit_rows(features)


def _confidences_of(confidences: Any, candidates: CandidateLabels) -> FloatArray:
    given = confidences if sparse.issparse(confidences) else np.asarray(confidences, dtype=float)
    values = candidates.values_of(given).astype(float)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ParameterError("'confidences' must be numbers, 0 or more. Some are not.")
    sums = np.repeat(group_sums(values, candidates.starts), candidates.sizes)
    sizes = np.repeat(candidates.sizes, candidates.sizes)
    shares: FloatArray = np.where(sums > 0, values / np.where(sums > 0, sums, 1), 1 / sizes)
    return shares


def with_answers(
    candidates: CandidateLabels, confidences: FloatArray, answers: Mapping[int, Any]
) -> tuple[CandidateLabels, FloatArray, IntArray]:
    """Return sets that hold the answers, with confidence 0 where they did not, and their pairs."""
    if not answers:
        return candidates, confidences, np.empty(0, dtype=np.int64)
    rows = np.array(list(answers), dtype=np.int64)
    if not (rows.min() >= 0 and rows.max() < len(candidates)):
        raise ParameterError(
            f"'answers' must be about rows 0 to {len(candidates) - 1:,}. Got {rows.min():,} to "
            f"{rows.max():,}."
        )
    columns = known_columns_of(list(answers.values()), candidates.classes)
    if (columns < 0).any():
        unknown = list(answers.values())[int((columns < 0).argmax())]
        raise ParameterError(
            f"'answers' must be labels of the candidate sets. Got {unknown!r}, which is none."
        )
    given = sparse.csr_array(
        (np.ones(len(rows), dtype=bool), (rows, columns)), shape=candidates.shape
    )
    mask = (candidates.to_sparse().astype(bool) + given).tocsr()
    weights = candidates.weights
    if weights is not None:
        weights = weights.maximum(given).tocsr()
    widened = CandidateLabels(mask, candidates.classes, weights=weights).with_rows_of(candidates)
    starts = np.append(candidates.starts, len(confidences))
    before = sparse.csr_array((confidences, candidates.pairs()[1], starts), candidates.shape)
    values = widened.values_of(before)
    of_pairs, at = widened.pairs()
    codes = of_pairs.astype(np.int64) * candidates.shape[1] + at
    settled: IntArray = np.searchsorted(codes, rows * candidates.shape[1] + columns)
    return widened, values, settled
