"""Hold every claim of the NCPD paper against our records, and write docs/paper.md's tables.

    python benchmarks/paper_claims.py            # write what stands between the marks of the page
    python benchmarks/paper_claims.py --check    # only compare with what is there

Nothing is measured here. The scores of every fold are those in docs/results: jobs.csv of the table,
the curves and the ablation, and ncpd_readings.json.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from disambig._core.typing import FloatArray
from disambig.bench import mean_and_std_text
from disambig.bench.comparisons import WinTieLoss, pairwise_tests, rank_methods
from disambig.bench.paper import published_accuracies
from disambig.bench.run_table import DECIMALS, RunTable
from disambig.bench.statistics import PairedTest, corrected_t_test, paired_t_test
from disambig.bench.wording import p_value_text
from results_page import FOLDER, markdown_table

PAGE = FOLDER.parent / "paper.md"
MARKS = "<!-- {name}, by benchmarks/paper_claims.py -->", "<!-- end of {name} -->"
NCPD = "NCPD"
RIVALS = ("PLKNN", "M3PL", "IPAL", "SURE", "AGGD")
TITLES = {"lost": "Lost", "birdsong": "BirdSong", "msrcv2": "MSRCv2"}
ALPHA = 0.05
HELD, TIE, FAILED = "held", "tie", "not reproduced"
HEADER = ("the paper says", "verdict", "we found", "paired t-test", "corrected t-test")
TESTS = {"paired": paired_t_test, "corrected": partial(corrected_t_test, test_share=0.1)}
# By the name of the test, the tests that a claim rests on.
Tests = Mapping[str, list[PairedTest]]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, what became of it, and by which figures."""

    text: str
    verdict: str
    found: str
    paired: str = ""
    corrected: str = ""

    @property
    def row(self) -> list[str]:
        """The claim as a row of its table."""
        return [self.text, f"**{self.verdict}**", self.found, self.paired, self.corrected]


@dataclass(frozen=True)
class Comparison:
    """NCPD against others on some data; tests by their name, data and rival."""

    runs: RunTable
    made: Mapping[str, Mapping[tuple[str, str], PairedTest | None]]

    @classmethod
    def read(cls, study: str, methods: Iterable[str]) -> "Comparison":
        """Read the records of a committed study; other methods take no part."""
        jobs = pd.read_csv(FOLDER / study / "jobs.csv")
        return cls.of(jobs[jobs["method"].isin(list(methods))])

    @classmethod
    def of(cls, jobs: pd.DataFrame) -> "Comparison":
        """Compare what is in these records."""
        runs = RunTable.from_scores(jobs, "accuracy", NCPD)
        made = {name: pairwise_tests(runs, NCPD, test) for name, test in TESTS.items()}
        return cls(runs, made)

    def tests(self, rivals: Iterable[str], data: Iterable[str] | None = None) -> Tests:
        """Return the tests against these rivals, on all data if none is named."""
        keys = [(one, rival) for rival in rivals for one in data or self.runs.data]
        tests = {name: [made[key] for key in keys] for name, made in self.made.items()}
        return {name: [test for test in own if test is not None] for name, own in tests.items()}

    def differences(self, rival: str) -> FloatArray:
        """Return by how much NCPD is ahead on all data, in order."""
        return np.array([test.difference for test in self.tests([rival])["paired"]])

    def where_better(self, rival: str) -> list[str]:
        """Return for each test where NCPD is significantly better, and its p where it is not."""
        texts = []
        for tests in self.tests([rival]).values():
            of_data = dict(zip(self.runs.data, tests, strict=True))
            other = {data: own for data, own in of_data.items() if own.verdict(ALPHA) != "better"}
            text = f"better on {len(tests) - len(other)} of {len(tests)}"
            missing = [f"{TITLES[data]}: {_p(own)}" for data, own in other.items()]
            texts.append(f"{text} ({', '.join(missing)})" if missing else text)
        return texts


def _counts(tests: Tests) -> dict[str, WinTieLoss]:
    return {name: WinTieLoss.count(own, ALPHA) for name, own in tests.items()}


def _p(test: PairedTest) -> str:
    text = p_value_text(test.p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def by_wins(tests: Tests) -> str:
    """Judge 'significantly better everywhere': not so by the paper's own test is a failure."""
    everywhere = {name: count.wins == len(tests[name]) for name, count in _counts(tests).items()}
    return FAILED if not everywhere["paired"] else HELD if everywhere["corrected"] else TIE


def by_losses(tests: Tests) -> str:
    """Judge 'never significantly worse'."""
    losses = {name: count.losses for name, count in _counts(tests).items()}
    return HELD if not losses["paired"] else FAILED if losses["corrected"] else TIE


def _signed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:+.3f}" for value in values)


def _plain(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def readings() -> Mapping[str, Mapping[str, list[float]]]:
    """Return the accuracy of every reading of the paper, by data, fold by fold."""
    text = (FOLDER / "ncpd_readings.json").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, list[float]]] = json.loads(text)
    return found


# ---- Table 2


def real_world() -> list[Claim]:
    """Return what the paper says of real-world sets (Sec. 4.3, Table 2)."""
    ours = Comparison.read("table", (NCPD, *RIVALS))
    runs, published = ours.runs, published_accuracies()
    best = [runs.best_methods(data) == [NCPD] for data in runs.data]
    ahead = np.min([ours.differences(rival) for rival in RIVALS], axis=0)
    claims = [
        Claim(
            "NCPD has the highest accuracy of the six methods on every set.",
            HELD if all(best) else FAILED,
            f"on {sum(best)} of {len(best)}; ahead of the second best by {_signed(ahead)}",
        )
    ]
    paper = [published[data][NCPD][0] for data in runs.data]
    text = f"The accuracy of NCPD is {_plain(paper)}."
    defaults = [runs.mean(data, NCPD) for data in runs.data]
    plain = [float(np.mean(readings()[data]["plainest network"])) for data in runs.data]
    for network, means in {"our defaults": defaults, "the plainest network": plain}.items():
        to_paper = np.subtract(means, paper)
        verdict = HELD if to_paper.min() >= 0 else FAILED
        claims.append(Claim(text, verdict, f"{network}: {_plain(means)} ({_signed(to_paper)})"))
    for rival in RIVALS:
        text, data = f"NCPD is significantly better than {rival} on every set.", None
        if rival == "AGGD":
            text, data = "NCPD is significantly better than AGGD on MSRCv2.", ["msrcv2"]
        found, verdict = _signed(ours.differences(rival)), by_wins(ours.tests([rival], data))
        claims.append(Claim(text, verdict, found, *ours.where_better(rival)))
    every = ours.tests(RIVALS)
    losses = [
        f"worse in {count.losses} of {len(every['paired'])}" for count in _counts(every).values()
    ]
    text = "NCPD is never significantly worse than any of the five."
    return [*claims, Claim(text, by_losses(every), "", *losses)]


# ---- Figures 2 to 4


def corrupted() -> list[Claim]:
    """Return what the paper says of corrupted UCI sets (Sec. 4.2, Figures 2 to 4)."""
    ours = Comparison.read("curves", (NCPD, *RIVALS))
    ranks = rank_methods(ours.runs).ranks
    best = Counter(name for data in ours.runs.data for name in ours.runs.best_methods(data))
    in_order = sorted(ranks, key=lambda name: ranks[name])
    claims = [
        Claim(
            "NCPD is better than the others on these sets.",
            HELD if in_order[0] == NCPD else FAILED,
            f"highest mean in {best[NCPD]} of {len(ours.runs.data)} settings; average ranks "
            + ", ".join(f"{name} {ranks[name]:.2f}" for name in in_order),
        )
    ]
    for rival in RIVALS:
        tests = ours.tests([rival])
        above, below = _above_and_below(ours, rival, ours.runs.data)
        text = f"NCPD is better than {rival} or level with it in all settings."
        verdict = by_losses(tests)
        found = f"above in {above}, below in {below}"
        if rival in ("SURE", "AGGD"):
            text = f"{rival} is ahead of NCPD in a few settings and behind it in most."
            found += f"; average ranks {rival} {ranks[rival]:.2f}, NCPD {ranks[NCPD]:.2f}"
            in_most = _counts(tests)["corrected"].wins > len(ours.runs.data) / 2
            verdict = FAILED if ranks[rival] <= ranks[NCPD] else HELD if in_most else TIE
        counts = [str(count) for count in _counts(tests).values()]
        claims.append(Claim(text, verdict, found, *counts))
    return claims


def _above_and_below(ours: Comparison, rival: str, data: Iterable[str]) -> tuple[int, int]:
    """Count where the mean of NCPD is above that of a rival, and below, as means are shown."""
    means = [[round(ours.runs.mean(one, name), DECIMALS) for name in (NCPD, rival)] for one in data]
    return sum(own > other for own, other in means), sum(own < other for own, other in means)


def corrupted_by_set() -> str:
    """Return, for each UCI set, how NCPD does against the rivals that come close."""
    ours = Comparison.read("curves", (NCPD, *RIVALS))
    rows = []
    for dataset in dict.fromkeys(setting.dataset for setting in ours.runs.settings.values()):
        data = [one for one, setting in ours.runs.settings.items() if setting.dataset == dataset]
        row = [dataset]
        for rival in ("SURE", "AGGD"):
            mean = np.mean([test.difference for test in ours.tests([rival], data)["paired"]])
            above, below = _above_and_below(ours, rival, data)
            row += [f"{mean:+.3f}", f"above in {above}, below in {below} of {len(data)}"]
        rows.append(row)
    return markdown_table(["data", "to SURE", "settings", "to AGGD", "settings"], rows)


# ---- Figure 5


def ablation() -> list[Claim]:
    """Return what the paper says of NCPD without its parts (Sec. 4.4, Figure 5)."""
    parts = {"w/o PD": "progressive disambiguation", "w/o NC": "cooperation"}
    ours = Comparison.read("ablation", (NCPD, *parts))
    (data,) = ours.runs.data
    means = {name: ours.runs.mean(data, name) for name in (NCPD, *parts)}
    claims = [
        Claim(
            "NCPD is more accurate than without either of its parts.",
            HELD if max(means, key=lambda name: means[name]) == NCPD else FAILED,
            ", ".join(f"{name} {mean:.3f}" for name, mean in means.items()),
        )
    ]
    for name, part in parts.items():
        tests = ours.tests([name])
        found = _signed(-ours.differences(name))
        text = f"Without {part} the accuracy falls."
        p_values = [_p(test) for (test,) in tests.values()]
        claims.append(Claim(text, by_wins(tests), found, *p_values))
    return claims


# ---- the plainest network


def plainest() -> str:
    """Return how other readings of the paper do among the six, on the folds of the table."""
    jobs = pd.read_csv(FOLDER / "table" / "jobs.csv")
    rivals = jobs[jobs["method"].isin(RIVALS)]
    names = {
        "the defaults, measured again": "defaults",
        "plainest network": "plainest network",
        "plainest network, two hidden layers": "plainest network, two hidden layers",
    }
    rows = []
    for shown, reading in names.items():
        for data, title in TITLES.items():
            scores = readings()[data][reading]
            own = rivals[rivals["dataset"] == data]
            ncpd = own[own["method"] == "SURE"].sort_values("fold").copy()
            ncpd["accuracy"], ncpd["method"] = scores, NCPD
            ours = Comparison.of(pd.concat([ncpd, own]))
            mean, to_paper = np.mean(scores), published_accuracies()[data][NCPD][0]
            place = 1 + sum(ours.runs.mean(data, rival) > mean for rival in RIVALS)
            counts = [str(count) for count in _counts(ours.tests(RIVALS)).values()]
            text = f"{mean_and_std_text(scores)} ({mean - to_paper:+.3f})"
            rows.append([shown, title, text, f"{place} of {1 + len(RIVALS)}", *counts])
    header = ["network", "data", "accuracy (to the paper's)", "place", "paired", "corrected"]
    return markdown_table(header, rows)


# ---- the page


def blocks() -> dict[str, str]:
    """Return what stands between the marks of the page, by name."""
    claims = {
        "real-world sets": real_world(),
        "corrupted sets": corrupted(),
        "ablation": ablation(),
    }
    counts = Counter(claim.verdict for of_section in claims.values() for claim in of_section)
    summary = (
        f"Of {counts.total()} claims that our data can speak to, {counts[HELD]} held, "
        f"{counts[TIE]} came out as ties, and {counts[FAILED]} were not reproduced."
    )
    tables = {
        name: markdown_table(HEADER, [claim.row for claim in of_section])
        for name, of_section in claims.items()
    }
    return {
        "summary": summary,
        **tables,
        "corrupted sets by set": corrupted_by_set(),
        "plainest network": plainest(),
    }


def with_blocks(page: str) -> str:
    """Return the page with every block between its two marks."""
    for name, text in blocks().items():
        begin, end = (mark.format(name=name) for mark in MARKS)
        if page.count(begin) != 1 or page.count(end) != 1:
            raise SystemExit(f"The page needs the marks of {name!r} once: {begin} and {end}")
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
    return page


def main() -> int:
    """Write the tables, or say that they are old."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--page", type=Path, default=PAGE, help="a page with the marks")
    arguments = parser.parse_args()
    found = arguments.page.read_text(encoding="utf-8")
    wanted = with_blocks(found)
    if arguments.check:
        if found != wanted:
            print("The tables of docs/paper.md are old. Run: python benchmarks/paper_claims.py")
        return int(found != wanted)
    arguments.page.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
