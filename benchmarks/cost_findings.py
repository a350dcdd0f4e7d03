"""What the pages about time, memory, files and faults are called, and what they found."""

import numpy as np

from disambig._core.messages import join_with_and
from disambig.datasets.card import dataset_title
from disambig.tabular.defaults import DEFAULT_ERRORS_TO_FIND
from page_tables import Finding, Table, number, span


def own_file_cleaning(tables: list[Table]) -> str:
    """Say how often cleaned labels are right, and what a second look finds."""
    (table,) = tables
    return (
        f"NCPD chooses the right label in {span(table.numbers('NCPD right'), '.0%')} of the rows, "
        f"a uniform guess in {span(table.numbers('uniform guess right'), '.0%')}; the rows marked "
        f"for a second look hold {span(table.numbers('errors among them'), '.0%')} of the errors, "
        f"where {DEFAULT_ERRORS_TO_FIND:.0%} are promised."
    )


def own_file_at_scale(tables: list[Table]) -> str:
    """Say what commands take on a million rows."""
    (table,) = tables
    seconds = dict(zip(table.cells("command"), table.numbers("seconds"), strict=True))
    each = "; ".join(f"{command}: {taken:.0f} s" for command, taken in seconds.items())
    return (
        f"A million rows need {max(table.numbers('peak memory, GB')):g} GB of memory at most "
        f"({each})."
    )


def tables_on_disk(tables: list[Table]) -> str:
    """Say what the largest table takes, and how time grows."""
    (table,) = tables
    sizes = table.numbers("rows")
    largest = [place for place, size in enumerate(sizes) if size == max(sizes)]
    of_a_million = table.numbers("seconds for a million rows")
    smallest = [place for place, size in enumerate(sizes) if size == min(sizes)]
    growth = [
        of_a_million[late] / of_a_million[early]
        for early, late in zip(smallest, largest, strict=True)
    ]
    memory = max(table.numbers("peak memory, GB")[place] for place in largest)
    each = "; ".join(
        f"{table.cells('command')[place]}: {table.numbers('seconds')[place]:,.0f} s"
        for place in largest
    )
    return (
        f"{max(sizes):,.0f} rows need {memory:g} GB of memory at most ({each}). A row takes "
        f"{span(growth, '.2g')} times as long as one of {min(sizes):,.0f}."
    )


def wide_tables(tables: list[Table]) -> str:
    """Say what the widest table takes."""
    reading, commands = tables
    widest = commands.rows[-1]
    seconds, memory = ([number(cell.split(", ")[place]) for cell in widest[1:]] for place in (0, 1))
    (as_csv,) = (row[3] for row in reading.rows if row[0] == widest[0] and row[2] == "CSV")
    return (
        f"A CSV of {widest[0]} columns is read in {number(as_csv):.0f} s; whole commands on it "
        f"take {span(seconds, '.0f')} s and {max(memory):g} GB at most."
    )


def report_at_scale(tables: list[Table]) -> str:
    """Say how long a page of many rows takes to open."""
    (table,) = tables
    return (
        f"The page opens in {span(table.numbers('seconds, median'), 'g')} s and has "
        f"{span(table.numbers('megabytes'), 'g')} MB."
    )


def small_jobs(tables: list[Table]) -> str:
    """Say how busy workers are."""
    (table,) = tables
    busy = [f"{row[3]} ({row[0]})" for row in table.rows]
    return f"With {table.rows[0][1]} small jobs, workers are busy {join_with_and(busy)}."


def waiting_times(tables: list[Table]) -> str:
    """Say how long commands take, and how many are too slow."""
    (table,) = tables
    now, aims = table.numbers("now"), table.numbers("aim")
    missed = sum(taken > aim for taken, aim in zip(now, aims, strict=True))
    *commands, study = now
    return (
        f"The commands of the README take {span(commands, '.0f')} s, the quick study {study:.0f} "
        f"s, {span(table.numbers('times quicker'), 'g')} times quicker than before; {missed} of "
        f"{len(now)} take longer than they should."
    )


def mat_reading(tables: list[Table]) -> str:
    """Compare our reader with SciPy's."""
    (table,) = tables
    return (
        "With every claim of a MATLAB file checked, a dataset is read in "
        f"{span(table.numbers('dataset'), '.2f')} times the time that SciPy's reader takes."
    )


def rows_on_disk(tables: list[Table]) -> str:
    """Say what the largest table takes, and how time grows."""
    table, beside, *_ = tables
    counts = table.numbers("rows")
    largest, fewest = max(counts), min(counts)

    def of(n_rows: float, column: str) -> list[float]:
        return [number(row[table.header.index(column)]) for row in table.rows
                if number(row[1]) == n_rows]  # fmt: skip

    growth = sum(of(largest, "processor seconds")) / sum(of(fewest, "processor seconds"))
    slower = number(beside.rows[0][1]) / number(beside.rows[0][2])
    return (
        f"{largest:,.0f} rows that stay on disk need {max(of(largest, 'resident, GB')):.1f} GB at "
        f"most, {max(of(largest, 'anonymous, GB')):.1f} GB of them not pages of files, and "
        f"{growth:.1f} times the time of {largest / fewest:.0f} times fewer rows; to fit takes "
        f"{slower:.2f} times as long as in memory."
    )


def rivals_at_scale(tables: list[Table]) -> str:
    """Name the quickest and the slowest, the smallest and the largest."""
    table, *_ = tables
    parts = []
    for column, unit in (("fit, seconds", "s"), ("peak memory, GB", "GB")):
        taken = dict(zip(table.cells("method"), table.numbers(column), strict=True))
        low, high = min(taken, key=lambda name: taken[name]), max(taken, key=lambda n: taken[n])
        parts.append(f"{taken[low]:g} {unit} ({low}) to {taken[high]:g} {unit} ({high})")
    return f"A fit takes {parts[0]}, and {parts[1]} of memory."


def rivals_speed(tables: list[Table]) -> str:
    """Compare our solvers with SciPy's."""
    (table,) = tables
    aim = 10
    faster = {
        method: [
            number(row[3]) for row in table.rows if row[table.header.index("method")] == method
        ]
        for method in ("AGGD", "IPAL")
    }
    missed = sum(times < aim for times in faster["IPAL"])
    return (
        f"AGGD's problems are solved {span(faster['AGGD'], '.0f')} times faster than by a loop "
        f"over SciPy; IPAL's {span(faster['IPAL'], 'g')} times, below the aim of {aim} in {missed} "
        f"of {len(faster['IPAL'])} cases."
    )


def ncpd_cpu(tables: list[Table]) -> str:
    """Compare training with the paper taken literally."""
    speed, _, memory = tables
    return (
        f"Training is {span(speed.numbers('times faster than literal'), '.1f')} times faster than "
        f"the paper taken literally; with {span(memory.numbers('candidates a row'), 'g')} "
        f"candidates a row it needs {span(memory.numbers('ours'), 'g')} MB of memory, the literal "
        f"one {span(memory.numbers('literal'), 'g')}."
    )


def many_classes(tables: list[Table]) -> str:
    """Say how far a step is from its products, and what was gained."""
    bound, *before = tables
    many = [row for row in bound.rows if number(row[2]) >= 300]
    gained = [number(row[5]) for table in before for row in table.rows if number(row[2]) >= 300]
    faster = f", {span(gained, '.2f')} times less than before" if gained else ""
    return (
        f"With {span([number(row[2]) for row in many], '.0f')} classes a step takes "
        f"{span([number(row[6]) for row in many], '.2f')} times as long as its matrix products and "
        f"Adam alone{faster}. So no step that computes these products can be much faster."
    )


def time_estimates(tables: list[Table]) -> str:
    """Say how near estimates come where anybody waits."""
    waited = [row for table in tables for row in table.rows if row[2] and number(row[2]) >= 2]
    ratios = [number(row[3]) for row in waited]
    near = sum(0.5 <= ratio <= 2 for ratio in ratios)
    return (
        f"Of {len(ratios)} fits of two seconds and more, {near} take between half and twice as "
        f"long as foretold ({span(ratios, '.2f')} times); an estimate takes "
        f"{max(number(row[4]) for table in tables for row in table.rows):.1f} s at most."
    )


def ncpd_gpu(tables: list[Table]) -> str:
    """Compare our kernels with operations of torch."""
    (table,) = tables
    seconds, torch = table.row("all")[1:3]
    return (
        f"Ten folds on all {len(table.rows) - 1} sets of the paper's sizes take {seconds} s on one "
        f"card, {number(torch) / number(seconds):.1f} times less than with operations of torch "
        "alone."
    )


def network_steps(tables: list[Table]) -> str:
    """Say how much longer than PRODEN the methods take, and which take longest."""
    (table,) = tables
    by_name = dict(zip(table.cells("method"), table.numbers("times PRODEN"), strict=True))
    slow = sorted((name for name, times in by_name.items() if times > 3), key=by_name.__getitem__)
    beyond = f"; above 3 are {', '.join(slow)}" if slow else ""
    times = span(list(by_name.values()), ".1f")
    return f"Ten folds of Lost take {times} times as long as with PRODEN on the card{beyond}."


def busy_machine(tables: list[Table]) -> str:
    """Compare default threads with one."""
    (table,) = tables
    return (
        f"With its default threads a fit takes {span(table.numbers('idle'), '.2f')} times as long "
        f"as with one on an idle machine, {span(table.numbers('busy'), '.2f')} on a busy one."
    )


def candidate_sets(tables: list[Table]) -> str:
    """Compare candidate sets with a dense mask."""
    memory, slicing = tables
    ours, _, mask = memory.numbers("MB")
    return (
        f"Candidate sets of a million rows take {ours:.0f} MB, where a dense mask would take "
        f"{mask:.0f}; slicing takes {span(slicing.numbers('ratio'), '.2f')} times as long as "
        "SciPy needs for the bare array."
    )


def ranks(tables: list[Table]) -> str:
    """Say how much faster most processes are, and what that would be on many machines."""
    speeds, sent, on_paper = tables
    most = speeds.header[-1]
    trainings = [row for row in on_paper.rows if not row[0].startswith("...")]
    computed, measured = (
        np.array(sent.numbers(f"{name}, MB")) for name in ("computed", "measured")
    )
    return (
        f"Training in {most} is {span(speeds.numbers(most), '.1f')} times faster than in one; what "
        f"is sent is {span(list(measured / computed), '.2f')} times what was computed. On paper "
        f"{on_paper.header[-1]} on machines of their own are "
        f"{span([number(row[-1]) for row in trainings], '.1f')} times faster than one."
    )


def faults(tables: list[Table]) -> str:
    """Count attempts and failures."""
    (table,) = tables
    tried, failed = (sum(table.numbers(column)) for column in ("tried", "failed"))
    succeeded = f"{failed:,.0f}" if failed else "none"
    return (
        f"Of {tried:,.0f} attempts to break it by kills, power cuts, hostile files, requests and "
        f"arrays, {succeeded} succeeded."
    )


def ask(tables: list[Table]) -> str:
    """Compare what is left with asking about the least sure rows first."""
    right, *_ = tables
    ours, rival = (np.array(right.numbers(name)) for name in ("query", "least confidence"))
    saved = 1 - ours / rival
    sets = [dataset_title(name) for name in right.cells("table")]
    ahead = [f"{name} ({share:.0%})" for name, share in zip(sets, saved, strict=True) if share > 0]
    behind = [
        f"{name} ({-share:.0%})" for name, share in zip(sets, saved, strict=True) if share < 0
    ]
    more = f"; more on {join_with_and(behind)}" if behind else ""
    return (
        "While 200 questions are asked, fewer errors are left than by asking about the least sure "
        f"rows first on {join_with_and(ahead)}{more}."
    )


def serving(tables: list[Table]) -> str:
    """Say what HTTP costs, and what many clients get."""
    load = tables[-1]
    rows, ratios = load.cells("rows"), load.numbers("processor / in process")
    clients = load.cells("clients")
    of = dict(zip(zip(rows, clients, strict=True), ratios, strict=True))
    return (
        f"A request of one row takes {of['1', '1']:g} times the processor time of a call in "
        f"process where one client asks, {of['1', '32']:g} times where 32 ask, because their "
        f"requests are predicted in one go; one of 1,000 rows takes {of['1,000', '1']:g} times."
    )


COST_PAGES: dict[str, Finding] = {
    "small_jobs": ("Many small jobs on the workers of a cluster", small_jobs),
    "ask": ("Errors left against questions asked", ask),
    "own_file_cleaning": ("How accurate cleaned labels are", own_file_cleaning),
    "tables_on_disk": ("Time and memory for tables that stay on disk", tables_on_disk),
    "own_file_at_scale": ("Time and memory for a table of a million rows", own_file_at_scale),
    "wide_tables": ("Time and memory for tables of many columns", wide_tables),
    "report_at_scale": ("Time to open a report of ten thousand doubtful rows", report_at_scale),
    "waiting_times": ("How long people wait for the commands", waiting_times),
    "mat_reading": ("Time to read MATLAB files", mat_reading),
    "rivals_at_scale": ("Time and memory of methods on the largest set", rivals_at_scale),
    "rivals_speed": ("Speed of the small quadratic problems of IPAL and AGGD", rivals_speed),
    "ncpd_cpu": ("Training time of NCPD on one CPU thread", ncpd_cpu),
    "many_classes": ("Training steps with many classes", many_classes),
    "time_estimates": ("Estimates of time beside the time taken", time_estimates),
    "ncpd_gpu": ("Training time of NCPD on a CUDA card", ncpd_gpu),
    "network_steps": ("Training time of every network method on a CUDA card", network_steps),
    "busy_machine": ("What threads cost on a busy machine", busy_machine),
    "rows_on_disk": ("Time and memory where rows stay on disk", rows_on_disk),
    "ranks": ("Training in several processes", ranks),
    "candidate_sets": ("Memory and slicing time of candidate sets", candidate_sets),
    "serving": ("Predictions over HTTP against the model in process", serving),
    "faults": ("How many attempts to break disambig failed", faults),
}
