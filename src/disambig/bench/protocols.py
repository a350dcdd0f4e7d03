"""What changes where whole groups are held out, or where they promise something, in sentences."""

import math

from disambig.bench.plan import NEW_GROUPS
from disambig.bench.run_table import DECIMALS, RunTable
from disambig.metrics.registry import metric_title


def on_new_groups(runs: RunTable, reference: str) -> list[str]:
    """Compare new groups with rows, and groups that promise something with those that do not."""
    protocols = list(dict.fromkeys(setting.groups for setting in runs.settings.values()))
    sentences = []
    for protocol in protocols:
        if protocol == NEW_GROUPS:
            how, before = "With whole groups held out instead of rows", ""
        elif protocol:
            promised = protocol.removeprefix(f"{NEW_GROUPS}, ")
            how, before = f"On new groups, with '{promised}' promised", NEW_GROUPS
        else:
            continue
        pairs = _pairs(runs, before, protocol)
        changes = {data: _mean_change(runs, data, pairs[data]) for data in pairs}
        each = [
            _change_text(runs, reference, (data, pairs[data]), change)
            for data, change in changes.items()
            if math.isfinite(change)
        ]
        if each:
            metric = metric_title(runs.metric)
            sentences.append(f"{how}, the mean {metric} of the methods is {', '.join(each)}.")
    return sentences


def _pairs(runs: RunTable, before: str, after: str) -> dict[str, str]:
    """Return the data of one protocol, with the same data of another."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for data, one in runs.settings.items():
        # As strings, because NaN does not equal itself.
        setting = (one.dataset, str(one.p), str(one.r), str(one.miss))
        found.setdefault(setting, {})[one.groups] = data
    both = [data for data in found.values() if before in data and after in data]
    return {data[before]: data[after] for data in both}


def _mean_change(runs: RunTable, before: str, after: str) -> float:
    changes = [runs.mean(after, method) - runs.mean(before, method) for method in runs.methods]
    known = [change for change in changes if not math.isnan(change)]
    return sum(known) / len(known) if known else math.nan


def _change_text(runs: RunTable, reference: str, data: tuple[str, str], change: float) -> str:
    setting = runs.settings[data[0]]
    name = data[0].removesuffix(f", {setting.groups}")
    size = f"{abs(change):.{DECIMALS}f}"
    way = f"{size} {'higher' if change > 0 else 'lower'}" if float(size) else "the same"
    means = [runs.mean(one, reference) for one in data]
    its_own = ""
    if all(map(math.isfinite, means)):
        before, after = (f"{mean:.{DECIMALS}f}" for mean in means)
        its_own = f" ({runs.display_name(reference)}: {before}, now {after})"
    return f"{way} on {name}{its_own}"
