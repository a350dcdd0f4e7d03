"""What the pages about accuracy are called, and what they found: a sentence from their tables."""

import numpy as np

from disambig.datasets.card import dataset_title
from page_tables import Finding, Table, number, span

COUNTED_AND_WEIGHED = ("votes counted, EM", "weighed, EM")


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


def misses(tables: list[Table]) -> str:
    """Say what sets without the truth cost, and what accuracy is then with ``miss_rate="auto"``."""
    (table,) = tables
    words = []
    for name in dict.fromkeys(table.cells("data")):
        complete = table.row(name, "0")[0]
        believed, tolerant = table.row(name, "0.1")[:2]
        words.append(f"on {dataset_title(name)} from {complete} to {believed} ({tolerant})")
    return (
        "One set in ten without the truth takes the accuracy of NCPD+ "
        f"{', '.join(words)}; in brackets with miss_rate='auto'."
    )


def groups(tables: list[Table]) -> str:
    """Say what new groups cost every method, and what a promise wins back."""
    protocols, promises, *_ = tables
    words = []
    for name in dict.fromkeys(protocols.cells("data")):
        rows = [row for row in protocols.rows if row[0] == name]
        lost = [-number(row[4]) for row in rows]
        words.append(f"{span(lost)} on {dataset_title(name)}")
    won = [f"{row[1]} to {row[2]} on {dataset_title(row[0])}" for row in promises.rows]
    return (
        "With whole groups held out instead of rows, methods lose "
        f"{', '.join(words)}. What groups promise takes NCPD+ on new groups from "
        f"{', '.join(won)}."
    )


def conformal(tables: list[Table]) -> str:
    """Say how often prediction sets hold the truth, by kind, and how large they are."""
    held_out, _, strange = tables
    words = []
    for kind in ("safe", "weak", "estimated"):
        rows = [row for row in held_out.rows if row[4] == kind and number(row[2]) > 0]
        covered = span([number(row[5]) for row in rows])
        words.append(
            f"{covered} of the {kind} sets ({span([number(row[7]) for row in rows], '.1f')} labels)"
        )
    unseen = strange.numbers("its rows")
    return (
        "Where 0.9 is asked for and some rows are ambiguous, the truth is in "
        f"{', '.join(words[:-1])} and {words[-1]}; rows of a class that nothing was trained on "
        f"get no label in {span(unseen)} of the cases, ordinary ones in "
        f"{span(strange.numbers('ordinary rows'))}."
    )


def annotators(tables: list[Table]) -> str:
    """Compare annotators weighed with the best that does without features, by answers a row."""
    table = tables[0]
    alone = np.max([table.numbers(name) for name in ("majority", "Dawid-Skene", "MACE")], axis=0)
    counted, ours = (np.array(table.numbers(name)) for name in COUNTED_AND_WEIGHED)
    counts = np.array(table.numbers("answers a row"))
    words = [
        f"{span(ours[counts == count])} with {count} (by the best of majority, Dawid-Skene and "
        f"MACE {span(alone[counts == count])})"
        for count in (1, 3, 10)
    ]
    return (
        "Share of rows set right by annotators who are weighed beside EM, by answers a row: "
        f"{', '.join(words)}. Against votes that count alike, with EM too, that is "
        f"{span(ours - counted, '+.3f')}."
    )


def llm_answers(tables: list[Table]) -> str:
    """Say how many answers miss the truth, and how expected errors compare with those made."""
    answers, labels, errors, _ = tables
    rights = [np.array(labels.numbers(name)) for name in ("most frequent", "weights", "annotators")]

    def ratios(way: str) -> list[float]:
        cells = [cell.split(" of ") for cell in errors.cells(way) if cell]
        return [float(expected) / float(made) for expected, made in cells]

    return (
        f"Simulated answers miss the truth in {span(answers.numbers('missed'), '.0f')} % of "
        f"the rows. `clean` sets {span(rights[1], '.2f')} of the labels right, the most frequent "
        f"answer {span(rights[0], '.2f')}, models as annotators {span(rights[2], '.2f')}. Of the "
        f"errors made, it expects {span(ratios('as votes'), '.0%')} by default, "
        f"{span(ratios('as beliefs'), '.0%')} where shares are said to be beliefs, and "
        f"{span(ratios('100 rows checked'), '.0%')} after 100 rows were checked."
    )


def calibration(tables: list[Table]) -> str:
    """Compare stated with actual errors; say how few checked rows do where sets show nothing."""
    brief, looks, confused = tables[0], tables[4], tables[-1]
    means, largest, beyond, far, error = map(
        brief.row,
        (
            "mean factor",
            "largest factor",
            "beyond 1.25",
            "beyond 1.6",
            "calibration error of NCPD+",
        ),
    )
    parts = [
        "The stated number of wrong choices is off by a factor of "
        f"{means[0]} on average as methods give it (at most {largest[0]}), and of {means[1]} after "
        f"calibration by sets alone (at most {largest[1]}); it is off by more than 1.25 in "
        f"{beyond[0]} pairs of method and data, then in {beyond[1]}, by more than 1.6 in {far[0]}, "
        f"then in {far[1]}. The calibration error of NCPD+ goes from {error[0]} to {error[1]}.",
        f"A second look, meant to find 0.9 of the errors of NCPD+ and NCPD, finds "
        f"{span(looks.numbers('found, given'))} as given and {span(looks.numbers('found'))} "
        "calibrated.",
    ]
    return " ".join([*parts, checked_rows_finding(confused)])


def checked_rows_finding(table: Table) -> str:
    """Say what sets show of another classifier's mistakes, and how few checked rows do better."""
    counts = table.header[5:-1]
    given, on_sets, *checked = (
        float(np.exp(np.abs(np.log(table.numbers(column))).mean()))
        for column in ("given", "on sets", *counts)
    )
    enough = [count for count, factor in zip(counts, checked, strict=True) if factor <= 1.25]
    which = counts.index(enough[0]) if enough else -1
    return (
        "Where false labels are the likely mistakes of another classifier, sets cannot show it: "
        f"the factor is {given:.2f} as given, {on_sets:.2f} calibrated by sets, and "
        f"{checked[which]:.2f} with {counts[which]} checked rows."
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


def table_features(tables: list[Table]) -> str:
    """Say what shaped numbers and dates add, and where they cost most."""
    chosen, afterwards, _ = tables
    gains = zip(afterwards.header[1:], afterwards.row("mean gain"), strict=True)
    each = ", ".join(f"{method} {gain}" for method, gain in gains)
    changes = [
        number(cell.partition("(")[2])
        for table in (chosen, afterwards)
        for row in table.rows[:-1]
        for cell in row[1:]
    ]
    return (
        "Marks for values that stand out, scores for heavy tails and lighter parts of dates change "
        f"the mean accuracy on a draw by which they were not chosen by {each}; on a single table "
        f"by {span(changes, '+.3f')}."
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


def text_tables(tables: list[Table]) -> str:
    """Compare the default with logistic regression on the same texts."""
    (table,) = tables
    accuracy = dict(zip(table.cells("trained"), table.cells("accuracy"), strict=True))
    regression = {
        name.removeprefix("logistic regression, "): value
        for name, value in accuracy.items()
        if name.startswith("logistic regression, ")
    }
    return (
        f"With two false labels a row, the default reaches {accuracy['auto']} on descriptions of "
        f"Debian's packages, logistic regression on TF-IDF "
        f"{regression['candidates, weighted']} with weighted candidates, "
        f"{regression['a random candidate']} with a random one, and {regression['true labels']} "
        f"with true labels."
    )


def audit_findings(tables: list[Table]) -> str:
    """Say what is found of planted errors, and what is reported without any."""
    clean, planted, wrong = tables
    rows = sum(clean.numbers("rows"))
    disputed, twins = (
        sum(clean.numbers(f"`{kind}`"))
        for kind in ("neighbours_disagree", "near_duplicates_disagree")
    )
    columns = sum(clean.numbers("`leaking_columns`"))
    n_planted, reported, right, by_model = map(number, wrong.row("all", ""))
    return (
        f"Of {rows:,.0f} rows whose sets all hold the true label, {disputed:.0f} are reported as "
        f"disputed by their neighbours and {twins:.0f} as near duplicates, and {columns:.0f} "
        "columns "
        f"as giving the label away. Of wrong sets {right / n_planted:.2f} are found, and "
        f"{right / reported:.2f} of the rows that are reported are wrong (a model finds "
        f"{by_model / right:.2f} times as many in as many rows); of planted near duplicates "
        f"{np.mean(planted.numbers('near duplicates')):.2f}, of copies of the label "
        f"{np.mean(planted.numbers('words')):.2f}."
    )


def image_columns(tables: list[Table]) -> str:
    """Compare the built-in descriptor with pixels, and a convolutional network with both."""
    accuracy, _ = tables
    found = {tuple(row[:3]): number(row[3]) for row in accuracy.rows}
    compared = []
    for images in dict.fromkeys(accuracy.cells("images")):
        pixels, described = (
            max(found[images, features, method] for method in ("EM", "NCPD"))
            for features in ("pixels", "built-in descriptor")
        )
        compared.append(f"{described:.3f} on {images} (from pixels {pixels:.3f})")
    network = found["digits", "images", "NCPD, convolutional"]
    return (
        "From the built-in descriptor, the better of EM and NCPD reaches an accuracy of "
        f"{' and '.join(compared)}. NCPD with a small convolutional network reaches {network:.3f} "
        "on digits."
    )


ACCURACY_PAGES: dict[str, Finding] = {
    "headline": ("Accuracy on real data: NCPD+, NCPD, the best rival, true labels", headline),
    "auto": ("Several kinds of learners, mixed to suit the data", auto),
    "ncpd_accuracy": ("Accuracy of NCPD beside the paper's", ncpd_accuracy),
    "ncpd_readings": ("NCPD with the plainest network, and what each choice adds", ncpd_readings),
    "rivals_accuracy": ("Accuracy of the rivals beside published figures", rivals_accuracy),
    "plknn": ("What scaling does to PLKNN", plknn),
    "misses": ("Sets that miss the truth: what they cost, and what is won back", misses),
    "groups": ("Rows, and new pictures, recordings and scenes", groups),
    "conformal": ("Prediction sets: how often they hold the truth, and their size", conformal),
    "text_tables": ("Columns of free text", text_tables),
    "annotators": ("Annotators who disagree: weighed, counted, and without features", annotators),
    "llm_answers": ("Answers of language models, simulated", llm_answers),
    "audit_findings": ("What an audit finds of planted errors", audit_findings),
    "calibration": ("Confidences: stated and actual errors", calibration),
    "early_stopping": ("What NCPD loses by stopping early", early_stopping),
    "table_features": ("What the columns of a table give to models", table_features),
    "image_columns": ("Columns of images: a descriptor without weights, and pixels", image_columns),
    "any_classifier": ("Any classifier on candidate sets, by rounds", any_classifier),
    "row_order": ("How many labels change with the order of rows", row_order),
    "ncpd_plus_accuracy": ("Accuracy of NCPD+ beside NCPD's", ncpd_plus_accuracy),
    "ncpd_plus_ablation": ("What each part of NCPD+ is worth", ncpd_plus_ablation),
    "ncpd_plus_corrupted": ("NCPD+ on corrupted UCI sets", ncpd_plus_corrupted),
    "ncpd_plus_cost": ("What NCPD+ costs beside NCPD", ncpd_plus_cost),
    "ncpd_plus_selection": ("How NCPD+ chooses without true labels", ncpd_plus_selection),
    "ncpd_plus_collapse": ("How noise makes NCPD collapse on Lost", ncpd_plus_collapse),
}
