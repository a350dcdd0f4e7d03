"""From a study to its jobs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from disambig._core.errors import DisambigError, ParameterError, StudyError
from disambig._core.messages import plural
from disambig._core.parameters import check_integer, spawn_seeds
from disambig.bench.entries import DatasetEntry, MethodEntry, Protocol
from disambig.bench.folds import Split
from disambig.bench.record import Job, data_fingerprint
from disambig.bench.settings import Study
from disambig.bench.trial import ControlledCorruption, GridSelection, make_trial
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.generate import (
    corrupt_by_flips,
    corrupt_by_instance,
    leave_out_truth,
)
from disambig.candidates.groups import DEFAULT_STRENGTH, Promise
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.catalogue import load_dataset
from disambig.datasets.confusions import held_out_probabilities

# What a study may have unless somebody says otherwise: ten seconds to list, and 200 MB. The largest
# of the paper has thousands.
_MAX_JOBS = 100_000


# What data are called of which whole groups are held out.
NEW_GROUPS = "new groups"


@dataclass(frozen=True, eq=False)
class PlannedJob:
    """A job and what it is called in this study; another study may call it something else."""

    job: Job
    dataset: PartialLabelDataset
    method_title: str
    role: str

    @property
    def title(self) -> str:
        """The job in words."""
        split = self.job.split
        return f"{self.method_title} on {self.data_title}, seed {split.seed}, fold {split.fold}"

    @property
    def data_title(self) -> str:
        """Name of the dataset, with its corruption, and groups where whole ones are held out."""
        corruption, miss = self.job.corruption, self.job.miss
        made = "" if corruption is None else f", p={corruption.p:.12g}, r={corruption.r}"
        missing = f", miss={miss:.12g}" if miss else ""
        return self.dataset.name + made + missing + (self.groups_title and f", {self.groups_title}")

    @property
    def groups_title(self) -> str:
        """How rows are held out, and what groups promise; empty where rows stand alone."""
        promise = self.dataset.candidates.promise
        if self.dataset.candidates.groups is None:
            return ""
        if promise is None:
            return NEW_GROUPS
        usual = promise.strength == DEFAULT_STRENGTH
        return f"{NEW_GROUPS}, {promise.kind}" + ("" if usual else f" {promise.strength:.12g}")


@dataclass(frozen=True, eq=False)
class Plan:
    """All jobs of a study, in the order of its datasets and methods."""

    study: Study
    jobs: tuple[PlannedJob, ...]

    @cached_property
    def by_key(self) -> dict[str, PlannedJob]:
        """Every job once, by its key: two methods of a study may be the same."""
        return {planned.job.key: planned for planned in self.jobs}

    def families(self) -> list[list[PlannedJob]]:
        """Return jobs in groups that differ in their split only, every job once."""
        groups: dict[str, list[PlannedJob]] = {}
        for planned in self.by_key.values():
            groups.setdefault(planned.job.family, []).append(planned)
        return list(groups.values())


def make_plan(study: Study, *, max_jobs: int | None = None) -> Plan:
    """Load the data of a study and list its jobs; refuse one of more than ``max_jobs``."""
    _check_count(study, _MAX_JOBS if max_jobs is None else max_jobs)
    jobs: list[PlannedJob] = []
    methods = study.with_baselines()
    titles: set[str] = set()
    names: dict[str, tuple[str, str]] = {}
    for number, entry in enumerate(study.datasets):
        try:
            dataset = _load(entry, study.protocol)
            added = [
                planned
                for made in _with_made_sets(dataset, entry, study.protocol)
                for variant in _variants(made, entry, study.protocol)
                for imbalance in entry.imbalance
                for planned in _jobs_on(variant, entry, methods, study.protocol, imbalance)
            ]
        except DisambigError as error:
            raise StudyError(f"datasets[{number}]: {error}") from error
        taken = _taken_title(added, titles, names)
        if taken is not None:
            raise StudyError(
                f"datasets[{number}]: {taken!r} is there already. Give one of them a 'title'."
            )
        jobs += added
    return Plan(study, tuple(jobs))


def _check_count(study: Study, most: int) -> None:
    """Refuse a study of too many jobs; they are counted before any is made."""
    check_integer("max_jobs", most, minimum=1)
    protocol = study.protocol
    folds = protocol.folds if protocol.kind == "kfold" else 1
    n_methods = len(study.with_baselines())
    settings = sum(
        (entry.corruption.n_settings if entry.corruption else 1)
        * len(entry.imbalance)
        * sum(len(entry.promise) if by_group else 1 for by_group in protocol.groups)
        for entry in study.datasets
    )
    count = settings * n_methods * folds * protocol.repeats
    if count > most:
        raise StudyError(
            f"{study.name} has {count:,} jobs, and the limit is {most:,}. A job is one of "
            f"{plural(n_methods, 'method')}, baselines included, on one of "
            f"{plural(settings, 'dataset')}, each setting of corruption, imbalance and promise "
            f"counted, in one of folds = {folds:,} for each of repeats = {protocol.repeats:,}. "
            f"Ask for fewer, or raise the limit: --max-jobs {count} (in Python max_jobs=)."
        )


def _taken_title(
    added: list[PlannedJob], titles: set[str], names: dict[str, tuple[str, str]]
) -> str | None:
    """Return a title that other data, or the same data with the same sets, has already.

    ``titles`` are those so far, ``names`` the content and first title for every name of data;
    ``added`` joins them.
    """
    first = added[0]
    content = data_fingerprint(_without_groups(first.dataset))
    known, title = names.setdefault(first.dataset.name, (content, first.data_title))
    if known != content:
        return title
    new = {planned.data_title for planned in added}
    taken = sorted(new & titles)
    titles |= new
    return taken[0] if taken else None


def _splits(protocol: Protocol) -> Iterator[Split]:
    # A repeat has the next seed, so that more of them can be added to a study that is done.
    for seed in range(protocol.seed, protocol.seed + protocol.repeats):
        if protocol.kind == "holdout":
            yield Split(seed=seed, test_share=protocol.test_share)
        else:
            for fold in range(protocol.folds):
                yield Split(seed=seed, fold=fold, n_folds=protocol.folds)


def _jobs_on(
    dataset: PartialLabelDataset,
    entry: DatasetEntry,
    methods: list[MethodEntry],
    protocol: Protocol,
    imbalance: float,
) -> Iterator[PlannedJob]:
    fingerprint = data_fingerprint(dataset)
    if imbalance > 1:
        # The content stays the same: what is left out hangs on the split.
        dataset = replace(dataset, name=f"{dataset.name}, imbalance={imbalance:.12g}")
    selection = GridSelection(protocol.selection, protocol.inner_folds)
    splits: list[Split] = []
    for corruption, miss in _corruptions(entry):
        # Refuses wrong settings at once, more folds than rows too, before all splits are listed.
        trial = make_trial(dataset, next(_splits(protocol)), corruption)
        if miss and corruption is None and dataset.true_labels is not None:
            # The same for sets that the truth cannot be left out of, whichever fold they are in.
            leave_out_truth(dataset.candidates, dataset.true_labels, rate=miss, random_state=0)
        splits = splits or list(_splits(protocol))
        if any(method.grid for method in methods):
            most = _fewest_groups(dataset, splits, len(trial.train.X))
            check_integer("inner_folds", protocol.inner_folds, minimum=2, maximum=most)
        for method in methods:
            for split in splits:
                job = Job(
                    method=method.name,
                    data=fingerprint,
                    split=split,
                    parameters=method.parameters,
                    grid=method.grid,
                    selection=selection if method.grid else None,
                    corruption=corruption,
                    by_epoch=protocol.by_epoch and method.has_epochs,
                    miss=miss,
                    imbalance=imbalance,
                )
                yield PlannedJob(job, dataset, method.shown_title, method.method_class.card.role)


def _fewest_groups(dataset: PartialLabelDataset, splits: list[Split], n_rows: int) -> int:
    """Return how many groups there are to learn from at least; without groups, how many rows."""
    groups = dataset.candidates.groups
    if groups is None:
        return n_rows
    sides = (split.rows(len(groups), groups) for split in splits)
    return min(len(np.unique(groups[train])) for train, _ in sides)


def _load(entry: DatasetEntry, protocol: Protocol) -> PartialLabelDataset:
    dataset = load_dataset(
        # A name is never taken for a file: "glass" may be one as well.
        Path(entry.path).absolute() if entry.path else str(entry.name),
        labels=entry.labels,
        separator=entry.separator,
        truth=entry.truth,
        # A column of groups is not a feature, whatever is held out.
        groups=entry.group or True in protocol.groups,
    )
    return dataset if entry.title is None else replace(dataset, name=entry.title)


def _with_made_sets(
    dataset: PartialLabelDataset, entry: DatasetEntry, protocol: Protocol
) -> Iterator[PartialLabelDataset]:
    """Yield the data with the candidate sets that are made once for all runs, if any are."""
    given = entry.corruption
    if given is None or (given.q is None and given.instance is None):
        yield dataset
        return
    truth, classes = dataset.true_labels, dataset.candidates.classes
    if truth is None:
        raise ParameterError(
            f"Candidate sets are made from true labels, and {dataset.name} has none. For a table, "
            'name their column: truth = "...".'
        )
    # Nothing else is drawn with these.
    network_seed, seed = spawn_seeds(np.random.SeedSequence((protocol.seed, 1)), 2)
    made: list[tuple[str, CandidateLabels]] = []
    if given.instance is not None:
        said = held_out_probabilities(dataset.X, truth, classes=classes, random_state=network_seed)
        for rate in given.instance:
            sets = corrupt_by_instance(truth, said, rate=rate, classes=classes, random_state=seed)
            made.append((f"instance={rate:.12g}", sets))
    for q in given.q or ():
        sets = corrupt_by_flips(truth, q=q, classes=classes, random_state=seed)
        made.append((f"q={q:.12g}", sets))
    for how, sets in made:
        candidates = sets.with_rows_of(dataset.candidates)
        yield replace(dataset, name=f"{dataset.name}, {how}", candidates=candidates)


def _variants(
    dataset: PartialLabelDataset, entry: DatasetEntry, protocol: Protocol
) -> Iterator[PartialLabelDataset]:
    """Yield the data once for rows, and once for everything that its groups promise."""
    candidates = dataset.candidates
    for by_group in protocol.groups:
        if not by_group:
            yield _without_groups(dataset)
            continue
        for kind in entry.promise:
            promise = Promise(kind, entry.strength) if kind != "none" else None
            grouped = candidates.with_groups(candidates.groups, promise=promise)
            yield replace(dataset, candidates=grouped)


def _without_groups(dataset: PartialLabelDataset) -> PartialLabelDataset:
    if dataset.candidates.groups is None:
        return dataset
    return replace(dataset, candidates=dataset.candidates.with_groups(None))


def _corruptions(entry: DatasetEntry) -> list[tuple[ControlledCorruption | None, float]]:
    """Return how labels are corrupted: what sets are made by, and the share that then miss."""
    given = entry.corruption
    if given is None:
        return [(None, 0.0)]
    made: list[ControlledCorruption | None] = [None]
    if given.p is not None and given.r is not None:
        made = [ControlledCorruption(p=p, r=r) for r in given.r for p in given.p]
    return [(corruption, miss) for corruption in made for miss in given.miss]
