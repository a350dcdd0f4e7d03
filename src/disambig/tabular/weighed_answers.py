"""Models and annotators learned in turn: folds are trained on weighed answers, and weigh them.

The first round goes by what answers say of annotators. What models say of rows that they were not
trained on then tells more, and answers are weighed again. Only where most rows have a single answer
are models trained again with these weights: elsewhere a second round gains nothing.
"""

from dataclasses import replace

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.typing import FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.tabular.fit_queue import FitQueue
from disambig.tabular.judged_rows import Rate
from disambig.tabular.labels.settled_sets import take_rows
from disambig.tabular.out_of_fold import Folds, OutOfFoldPredictions
from disambig.tabular.task import TableTask, sets_to_train_on
from disambig.tabular.true_labels import settle_known
from disambig.tabular.work_folder import WorkFolder


def refuse_miss_rate(miss_rate: Rate) -> None:
    """Refuse to search for sets that miss the truth where answers are weighed."""
    if miss_rate != 0:
        raise ParameterError(
            "A miss rate is about labels that nobody named. Where annotators are weighed, such "
            "labels are candidates as far as annotators are known to err. Got miss_rate="
            f"{miss_rate!r}. Leave it (--miss-rate) out, or count votes alike (--equal-votes, in "
            "Python equal_votes=True)."
        )


def learn_annotators(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    n_folds: int,
    seed: int,
    queue: FitQueue,
    work: WorkFolder | None,
    per_network: bool = True,
) -> tuple[TableTask, OutOfFoldPredictions]:
    """Return the task with answers weighed by models, and what the models of the last round say."""
    known = task.annotators
    assert known is not None
    for round_number in range(1, known.n_rounds + 1):
        if round_number > 1:
            task = _with_sets(task, known, known.possible(task.given.promise))
            queue.on_fits_start(n_folds)
        predicted = Folds(
            task,
            method,
            n_folds=n_folds,
            seed=seed,
            queue=queue,
            work=work,
            per_network=per_network,
            round_number=None if round_number == 1 else round_number,
        ).predictions()
        known = known.given(_with_settled(task, predicted.probabilities))
    # The same candidates: what models say is about these.
    return _with_sets(task, known, known.weights_on(task.given.to_mask())), predicted


def _with_settled(task: TableTask, probabilities: FloatArray) -> FloatArray:
    """Return probabilities, and certainty where a person has settled a row or truth is learned."""
    sets = settle_known(task.candidates, task.truth) if task.uses_truth else task.candidates
    settled = np.flatnonzero((sets.sizes == 1) & ((task.candidates.sizes > 1) | task.decided))
    known = probabilities.copy()
    known[settled] = sets[settled].to_mask()
    return known


def _with_sets(task: TableTask, known: AnnotatorModel, given: CandidateLabels) -> TableTask:
    """Return the task with other sets, rows that were settled settled as before."""
    given = given.with_rows_of(task.given)
    candidates = take_rows(given, task.edited, task.candidates)
    training = take_rows(sets_to_train_on(known, given), task.edited, candidates)
    if task.uses_truth:
        training = settle_known(training, task.truth)
    return replace(task, given=given, candidates=candidates, training=training, annotators=known)
