"""How long all models of a table will take, told before the first of them is trained."""

import heapq

import numpy as np
from sklearn.base import clone

from disambig.engine.process_group import rank_and_size
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.cost import estimate_fit_seconds
from disambig.methods.misses import ROUNDS
from disambig.tabular.columns.values_on_disk import ValuesOnDisk, values_in_memory
from disambig.tabular.fit_queue import FitQueue
from disambig.tabular.judged_rows import Rate
from disambig.tabular.table_model import untrained_model
from disambig.tabular.task import TableTask
from disambig.tabular.work_folder import WorkFolder

_MOST_ROWS_TRIED = 20_000


def tell_time(
    task: TableTask,
    method: PartialLabelClassifier,
    queue: FitQueue,
    *,
    n_folds: int,
    all_rows: bool,
    miss_rate: Rate,
    work: WorkFolder | None,
) -> None:
    """Tell the listener of a queue how long its fits will take, if it wants to know.

    What is there of an interrupted call would have to be read to say how much is left: then
    nothing is told.
    """
    if not queue.is_asked_for_time or (work is not None and work.has_parts()):
        return
    if rank_and_size()[1] > 1:  # nobody has measured how much quicker several processes are
        return
    classifier: PartialLabelClassifier = clone(method)
    values, training, share = task.values, task.training, 1.0
    if isinstance(values, ValuesOnDisk) and len(values) > _MOST_ROWS_TRIED:
        # An epoch of networks takes as long for every row.
        rows = np.arange(_MOST_ROWS_TRIED)
        share = len(rows) / len(values)
        values, training = values.take(rows), training[rows]
    _, features = untrained_model(task.plan, values_in_memory(values), classifier)
    one = estimate_fit_seconds(classifier, features, training) / share
    # Where annotators are weighed, or sets may miss the truth, folds are trained in several rounds.
    n_rounds = 1 if task.annotators is None else task.annotators.n_rounds
    n_rounds += ROUNDS if miss_rate != 0 else 0
    folds = [one * (n_folds - 1) / n_folds] * n_folds * n_rounds if n_folds else []
    fits = [one] * all_rows + folds
    queue.on_time_estimated(len(fits), seconds_side_by_side(fits, queue.n_at_once))


def seconds_side_by_side(fits: list[float], n_at_once: int) -> float:
    """Return when the last of these fits ends, if whoever is free takes the next one."""
    ends = [0.0] * n_at_once
    for seconds in fits:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)
