"""What the pages about data, and about answers to rely on, are called, and what they found."""

import numpy as np

from disambig.datasets.card import dataset_title
from page_tables import Finding, Table, number, span

COUNTED_AND_WEIGHED = ("votes counted, EM", "weighed, EM")


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


DATA_PAGES: dict[str, Finding] = {
    "misses": ("Sets that miss the truth: what they cost, and what is won back", misses),
    "groups": ("Rows, and new pictures, recordings and scenes", groups),
    "conformal": ("Prediction sets: how often they hold the truth, and their size", conformal),
    "text_tables": ("Columns of free text", text_tables),
    "annotators": ("Annotators who disagree: weighed, counted, and without features", annotators),
    "llm_answers": ("Answers of language models, simulated", llm_answers),
    "audit_findings": ("What an audit finds of planted errors", audit_findings),
    "calibration": ("Confidences: stated and actual errors", calibration),
    "table_features": ("What the columns of a table give to models", table_features),
    "image_columns": ("Columns of images: a descriptor without weights, and pixels", image_columns),
}
