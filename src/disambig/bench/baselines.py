"""How methods do beside the baselines of a study, in sentences."""

from collections import Counter

import numpy as np

from disambig._core.messages import plural
from disambig.bench.run_table import RunTable
from disambig.bench.wording import count_by_dataset
from disambig.metrics.registry import direction


def gaps_to_baselines(runs: RunTable, reference: str) -> list[str]:
    """Say how far the reference is from each baseline."""
    sentences = []
    for bound in runs.bounds:
        gaps = _gaps_between(runs, reference, bound)
        if not gaps:
            continue
        gap = float(np.mean(list(gaps.values())))
        # A method should beat what does not disambiguate, and not what knows the truth; where it is
        # the other way round, say so.
        side = 1 if runs.roles[bound] == "candidate_baseline" else -1
        odd = [data for data, its_gap in gaps.items() if side * its_gap < 0]
        which = "worse" if side > 0 else "better"
        more = f"; {which} on {len(odd)}: {count_by_dataset(runs, odd)}" if odd else ""
        how = f"{abs(gap):.3f} {'better' if gap > 0 else 'worse'} than" if gap else "as good as"
        ends = f"{min(gaps.values()):+.3f} to {max(gaps.values()):+.3f}"
        over = f" ({ends} over {plural(len(gaps), runs.unit)})" if len(gaps) > 1 else ""
        sentences.append(
            f"{runs.display_name(reference)} is on average {how} {runs.full_name(bound)}{over}"
            f"{more}."
        )
    return sentences


def _gaps_between(runs: RunTable, method: str, bound: str) -> dict[str, float]:
    """Return by how much a method is better than a baseline, where they share runs."""
    gaps = {}
    for data in runs.data:
        shared = runs.shared_runs(data, (method, bound))
        if len(shared):
            means = direction(runs.metric) * shared.mean(axis=0)
            gaps[data] = float(means[0] - means[1])
    return gaps


def behind_baselines(runs: RunTable) -> list[str]:
    """Say which methods are worse than a baseline without true labels, and on which data."""
    sentences = []
    for baseline in runs.in_role("candidate_baseline"):
        methods = []
        unit = f" {runs.unit}s"  # said once
        for method in runs.methods:
            gaps = _gaps_between(runs, method, baseline)
            total = Counter(runs.settings[data].dataset for data in gaps)
            below = Counter(runs.settings[data].dataset for data in gaps if gaps[data] < 0)
            places = []
            for dataset, number in below.items():
                of = f" ({number} of {total[dataset]}{unit})" if runs.unit == "setting" else ""
                places.append(f"{dataset}{of}")
                unit = ""
            if places:
                methods.append(f"{runs.display_name(method)} on {', '.join(places)}")
        if methods:
            name = runs.full_name(baseline)
            sentences.append(f"Worse than {name}: {'; '.join(methods)}.")
    return sentences
