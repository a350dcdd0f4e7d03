"""What the pages about the accuracy of methods are called, and what they found."""

import numpy as np

from disambig.datasets.card import dataset_title
from page_tables import Finding, Table, number, span


def headline(tables: list[Table]) -> str:
    """Compare NCPD+ with its rivals."""
    (table,) = tables
    ours = np.array(table.numbers("NCPD+"))
    others = np.array([table.numbers("NCPD"), table.numbers("best of five rivals")])
    ahead = int((ours > others.max(axis=0)).sum())
    below = np.array(table.numbers("NCPD's networks on true labels")) - ours
    return (
        f"NCPD+ is the most accurate on {ahead} of {len(ours)} real-world sets, "
        f"{span(table.numbers('NCPD+ to it'))} ahead of the best of five rivals and "
        f"{span(below)} below NCPD's networks trained on true labels."
    )


def ncpd_accuracy(tables: list[Table]) -> str:
    """Compare NCPD with the paper."""
    (table,) = tables
    gaps = np.array(table.numbers("accuracy")) - table.numbers("paper")
    return (
        f"NCPD reaches the paper's figure on {(gaps >= 0).sum()} of {len(gaps)} sets "
        f"({span(gaps, '+.3f')}), with a network that was chosen on these sets."
    )


def ncpd_readings(tables: list[Table]) -> str:
    """Say what NCPD reaches without what was chosen on these sets."""
    rows = [table.row("plainest network") for table in tables]
    below_paper = sum(number(row[3]) < 0 for row in rows)
    below = [sum(is_significantly_below(row[place]) for row in rows) for place in (1, 2)]
    return (
        f"The plainest network that the paper's words allow is below the paper's figure on "
        f"{below_paper} of {len(rows)} sets; by both tests it is significantly below our defaults "
        f"on {below[0]} and below SURE on {below[1]}."
    )


def is_significantly_below(cell: str) -> bool:
    """Tell by a cell such as ``-0.064 (< 0.001; 0.002)``."""
    p_values = [number(part) for part in cell.partition("(")[2].split(";")]
    return number(cell) < 0 and all(p < 0.05 for p in p_values)


def rivals_accuracy(tables: list[Table]) -> str:
    """Name the best on each set, and compare all with their references."""
    best = []
    for table, name in zip(tables, ("lost", "birdsong", "msrcv2"), strict=True):
        means = dict(zip(table.cells("method"), table.numbers("accuracy"), strict=True))
        winner = max(means, key=lambda method: means[method])
        best.append(f"{winner.upper()} on {dataset_title(name)} ({means[winner]:.3f})")
    gaps = [gap for table in tables for gap in table.numbers("difference")]
    return (
        f"The most accurate are {', '.join(best)}; of {len(gaps)} published or independent figures "
        f"{sum(gap >= 0 for gap in gaps)} are reached, and the others missed by "
        f"{-min(gaps):.3f} at most."
    )


def plknn(tables: list[Table]) -> str:
    """Compare the default scaling with the best."""
    real, _, corrupted, _ = tables
    accuracy = np.array(
        [[number(cell) for cell in row[1:]] for row in (*real.rows, *corrupted.rows)]
    )
    behind = accuracy.max(axis=1) - accuracy[:, -1]
    return (
        f"With its default scaling PLKNN is at most {behind.max():.3f} below the best of six "
        f"scalings on each of {len(accuracy)} sets; with raw features it is up to "
        f"{(accuracy.max(axis=1) - accuracy[:, 0]).max():.3f} below."
    )


def row_order(tables: list[Table]) -> str:
    """Say which methods depend on the order of rows."""
    shares: dict[str, float] = {}
    for table in tables:
        if "another order, new" in table.header:
            changed = table.numbers("another order, new")
            for method, share in zip(table.cells("method"), changed, strict=True):
                shares[method] = max(share, shares.get(method, 0))
    moved = {method: share for method, share in shares.items() if share}
    each = ", ".join(f"{method} {share:g}%" for method, share in sorted(moved.items()))
    return (
        f"Another order of the rows changes no prediction of {len(shares) - len(moved)} of "
        f"{len(shares)} methods; it changes these shares of the others', at most: {each}."
    )


def any_classifier(tables: list[Table]) -> str:
    """Say what rounds add to classifiers that average over candidates, if they take weights."""
    measured = np.array(
        [
            [number(cell) for cell in row[2:]]
            for table in tables
            for row in table.rows
            if all(row[2:]) and "neighbours" not in row[0]
        ]
    )
    weighted, rounds, truth = measured.T
    gains = rounds - weighted
    return (
        f"For classifiers that take weights, learning by rounds is more accurate than training on "
        f"weighted candidates in {(gains > 0).sum()} of {len(gains)} pairs of classifier and data "
        f"({span(gains, '+.3f')}; on average {weighted.mean():.3f} becomes {rounds.mean():.3f}, "
        f"and with true labels it is {truth.mean():.3f})."
    )


def ncpd_plus_accuracy(tables: list[Table]) -> str:
    """Compare NCPD+ with NCPD and with its former version."""
    held_out, _ = tables
    gains, since = held_out.cells("to NCPD"), held_out.cells("to 0.1.0")
    return (
        f"NCPD+ is {span([number(gain) for gain in gains])} more accurate than NCPD on held-out "
        f"rows, significantly on {n_significant(gains)} of {len(gains)} sets; to NCPD+ 0.1.0 it "
        f"differs significantly on {n_significant(since)}."
    )


def n_significant(cells: list[str]) -> int:
    """Count cells such as ``+0.043 (p = 0.0036)``."""
    return sum(number(cell.partition("p =")[2]) < 0.05 for cell in cells)


def ncpd_plus_ablation(tables: list[Table]) -> str:
    """Compare the mix with its best part."""
    (table,) = tables
    mix, part = table.row("NCPD+, the mix"), table.row("and a second view (noisy_views)")
    better, worse = ([sum(mark in cell for cell in row) for row in (mix, part)] for mark in "●○")
    return (
        f"The whole of NCPD+ is significantly better than NCPD on {better[0]} of {len(mix)} sets "
        f"and worse on {worse[0]}; noise and a second view alone are better on {better[1]} and "
        f"worse on {worse[1]}."
    )


def ncpd_plus_corrupted(tables: list[Table]) -> str:
    """Rank NCPD+ among all methods."""
    means, ranks = tables
    gains = np.array(means.numbers("NCPD+")) - means.numbers("NCPD")
    order = sorted(zip(ranks.numbers("with NCPD+"), ranks.cells(0), strict=True))
    more = "more" if gains.mean() > 0 else "less"
    return (
        f"NCPD+ is {abs(gains.mean()):.4f} {more} accurate than NCPD on average over corrupted UCI "
        "sets; average ranks: "
        f"{', '.join(f'{name} {rank:.2f}' for rank, name in order)}."
    )


def ncpd_plus_cost(tables: list[Table]) -> str:
    """Say what NCPD+ costs."""
    (table,) = tables
    return (
        f"NCPD+ takes {span(table.numbers('times NCPD'), '.2f')} times the processor time of NCPD."
    )


def ncpd_plus_selection(tables: list[Table]) -> str:
    """Compare choosing without true labels with choosing by them."""
    accuracy, _ = tables
    mixed, picked, best, ncpd = (
        np.mean([number(cell) for cell in accuracy.row(name)])
        for name in ("mix by weight", "weight", "best (true labels)", "NCPD")
    )
    return (
        f"Mixing configurations by their weight reaches {mixed:.3f} on average over "
        f"{len(accuracy.header) - 1} sets, picking one of them by it {picked:.3f}, picking by true "
        f"labels {best:.3f}, NCPD {ncpd:.3f}."
    )


def ncpd_plus_collapse(tables: list[Table]) -> str:
    """Compare a long ramp with a short one."""
    (table,) = tables
    long, short, plain = (
        [number(cell) for cell in table.row(way, "right")]
        for way in ("noise, ramp of 100 epochs", "noise, ramp of 10 epochs", "NCPD")
    )
    return (
        f"With noise and NCPD's ramp of 100 epochs the share of rows set right falls from "
        f"{long[0]:.2f} to {long[-1]:.2f}; with a ramp of 10 it rises to {short[-1]:.2f}, and NCPD "
        f"reaches {plain[-1]:.2f}."
    )


def early_stopping(tables: list[Table]) -> str:
    """Say what stopping early loses."""
    (table,) = tables
    whole = np.array(table.numbers("all rows"))
    lost = {name: whole - table.numbers(name) for name in table.header[3:]}
    means = "; ".join(
        f"{name}: {values.mean():.3f}, {values.max():.3f} at most" for name, values in lost.items()
    )
    return (
        "Stopped by the covering rate of held-out rows, NCPD loses accuracy on average, so it is "
        f"not the default ({means})."
    )


def auto(tables: list[Table]) -> str:
    """Say how far the mix is from the best single learner, and how it ranks."""
    *on_data, ranked = tables
    gaps = [number(row[-1]) for table in on_data for row in table.rows[:-1]]
    ranks = dict(zip(ranked.cells("method"), ranked.numbers("average rank"), strict=True))
    first, second = sorted(ranks, key=ranks.__getitem__)[:2]
    return (
        f"Mixed by held-out sets, learners are {-np.mean(gaps):.3f} below the best single one on "
        f"average, {-min(gaps):.3f} at most; which one that is nobody knows beforehand. On the 84 "
        f"corrupted settings {first} has the best average rank ({ranks[first]:.2f}; {second} "
        f"{ranks[second]:.2f})."
    )


def networks(tables: list[Table]) -> str:
    """Say what is left of claims, and where methods differ from PRODEN by more than chance."""
    signs: dict[str, str] = {}
    n_cells = 0
    claims = tables[0].cells("so")
    measured = [verdict for verdict in claims if verdict != "not measured"]
    held, opposite = measured.count("holds"), measured.count("the opposite")
    for table in tables[1:3]:
        for method, *cells in table.rows:
            signs[method] = signs.get(method, "") + "".join(cell[-1] for cell in cells if cell)
            n_cells += 0 if method == "proden" else sum(map(bool, cells))
    better = {method: found.count("+") for method, found in signs.items() if "+" in found}
    worse = {method: found.count("-") for method, found in signs.items() if "-" in found}

    def listed(counts: dict[str, int]) -> str:
        order = sorted(counts, key=lambda method: (-counts[method], method))
        return ", ".join(f"{method} {counts[method]}" for method in order) or "none"

    return (
        f"Of {len(measured)} claims that a network method is more accurate than another, {held} "
        f"hold, of {opposite} the opposite does, and the others show no difference. Of "
        f"{len(signs) - 1} methods in {n_cells} comparisons with PRODEN on the same folds and "
        f"networks, these are significantly better, by number of comparisons: {listed(better)}; "
        f"these worse: {listed(worse)}."
    )


def network_references(tables: list[Table]) -> str:
    """Count the figures of others that ours agree with."""
    verdicts = [
        row[-1]
        for table in tables
        for row in table.rows
        # Others only show what a setting is worth.
        if row[2] in ("linear", "500", "3 x 300")
    ]
    return (
        f"Of {len(verdicts)} accuracies that others have measured with networks of the same shape, "
        f"{verdicts.count('yes')} are within two standard errors of ours, which are above "
        f"{verdicts.count('above')} and below {verdicts.count('below')}."
    )


ACCURACY_PAGES: dict[str, Finding] = {
    "network_references": ("Network methods beside the accuracies of others", network_references),
    "networks": ("Every network method of the field under one protocol", networks),
    "headline": ("Accuracy on real data: NCPD+, NCPD, the best rival, true labels", headline),
    "auto": ("Several kinds of learners, mixed to suit the data", auto),
    "ncpd_accuracy": ("Accuracy of NCPD beside the paper's", ncpd_accuracy),
    "ncpd_readings": ("NCPD with the plainest network, and what each choice adds", ncpd_readings),
    "rivals_accuracy": ("Accuracy of the rivals beside published figures", rivals_accuracy),
    "plknn": ("What scaling does to PLKNN", plknn),
    "early_stopping": ("What NCPD loses by stopping early", early_stopping),
    "any_classifier": ("Any classifier on candidate sets, by rounds", any_classifier),
    "row_order": ("How many labels change with the order of rows", row_order),
    "ncpd_plus_accuracy": ("Accuracy of NCPD+ beside NCPD's", ncpd_plus_accuracy),
    "ncpd_plus_ablation": ("What each part of NCPD+ is worth", ncpd_plus_ablation),
    "ncpd_plus_corrupted": ("NCPD+ on corrupted UCI sets", ncpd_plus_corrupted),
    "ncpd_plus_cost": ("What NCPD+ costs beside NCPD", ncpd_plus_cost),
    "ncpd_plus_selection": ("How NCPD+ chooses without true labels", ncpd_plus_selection),
    "ncpd_plus_collapse": ("How noise makes NCPD collapse on Lost", ncpd_plus_collapse),
}
