"""From a study to its jobs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from disambig._core.errors import DisambigError, StudyError
from disambig._core.parameters import check_integer
from disambig.bench.entries import DatasetEntry, MethodEntry, Protocol
from disambig.bench.record import Job, data_fingerprint
from disambig.bench.settings import Study
from disambig.bench.trial import ControlledCorruption, GridSelection, Split, make_trial
from disambig.candidates.dataset import PartialLabelDataset
from disambig.datasets.catalogue import load_dataset


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
        """Name of the dataset, with its corruption."""
        corruption = self.job.corruption
        if corruption is None:
            return self.dataset.name
        return f"{self.dataset.name}, p={corruption.p:.12g}, r={corruption.r}"


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


def make_plan(study: Study) -> Plan:
    """Load the data of a study and list its jobs."""
    jobs: list[PlannedJob] = []
    methods = study.with_bounds()
    splits = list(_splits(study.protocol))
    for number, entry in enumerate(study.datasets):
        try:
            added = list(_jobs_on(entry, methods, splits, study.protocol))
        except DisambigError as error:
            raise StudyError(f"datasets[{number}]: {error}") from error
        _check_title(number, added, jobs)
        jobs += added
    return Plan(study, tuple(jobs))


def _check_title(number: int, added: list[PlannedJob], others: list[PlannedJob]) -> None:
    """Refuse a title that other data, or the same data with the same sets, has already."""
    name, data = added[0].dataset.name, added[0].job.data
    titles = {planned.data_title for planned in added}
    for other in others:
        if other.data_title in titles or (other.dataset.name == name and other.job.data != data):
            raise StudyError(
                f"datasets[{number}]: {other.data_title!r} is there already. Give one of them a "
                "'title'."
            )


def _splits(protocol: Protocol) -> Iterator[Split]:
    # A repeat has the next seed, so that more of them can be added to a study that is done.
    for seed in range(protocol.seed, protocol.seed + protocol.repeats):
        if protocol.kind == "holdout":
            yield Split(seed=seed, test_share=protocol.test_share)
        else:
            for fold in range(protocol.folds):
                yield Split(seed=seed, fold=fold, n_folds=protocol.folds)


def _jobs_on(
    entry: DatasetEntry, methods: list[MethodEntry], splits: list[Split], protocol: Protocol
) -> Iterator[PlannedJob]:
    dataset = _load(entry)
    fingerprint = data_fingerprint(dataset)
    selection = GridSelection(protocol.selection, protocol.inner_folds)
    for corruption in _corruptions(entry):
        trial = make_trial(dataset, splits[0], corruption)  # refuses wrong settings at once
        if any(method.grid for method in methods):
            check_integer(
                "inner_folds", protocol.inner_folds, minimum=2, maximum=len(trial.train.X)
            )
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
                )
                yield PlannedJob(job, dataset, method.shown_title, method.method_class.card.role)


def _load(entry: DatasetEntry) -> PartialLabelDataset:
    dataset = load_dataset(
        # A name is never taken for a file: "glass" may be one as well.
        Path(entry.path).absolute() if entry.path else str(entry.name),
        labels=entry.labels,
        separator=entry.separator,
        truth=entry.truth,
    )
    return dataset if entry.title is None else replace(dataset, name=entry.title)


def _corruptions(entry: DatasetEntry) -> list[ControlledCorruption | None]:
    if entry.corruption is None:
        return [None]
    return [ControlledCorruption(p=p, r=r) for r in entry.corruption.r for p in entry.corruption.p]
