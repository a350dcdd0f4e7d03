"""The page of a server of predictions: try a row, what to send, what the model knows."""

import json

from markupsafe import Markup

from disambig._core.messages import plural, quoted_list
from disambig.bench.formats import Table
from disambig.tabular.model_folder import ModelParts
from disambig.web.markup import details_list, element, fragment, table_html
from disambig.web.serve_openapi import example_body, row_schema
from disambig.web.shell import Section, render_page

_MOST_COLUMNS = 1_000


def serve_page(model: ModelParts, *, name: str) -> str:
    """Return the page, which asks the server that it comes from."""
    n_labels, n_columns = len(model.classes), len(model.plan.columns)
    return render_page(
        title=f"Predictions by {name}",
        lead=f"A model of {plural(n_labels, 'label')} from {plural(n_columns, 'column')}.",
        sections=[
            Section("try", "Try it", _form(model)),
            Section("requests", "Send requests", _requests()),
            Section("model", "What the model knows", _about(model)),
        ],
        scripts=("elements.js", "tables.js", "copy.js", "serve.js"),
        styles=("style.css", "serve.css"),
        connects=True,
    )


def _form(model: ModelParts) -> Markup:
    body = example_body(model)
    rows = body if model.plan.embeddings else body["rows"]
    area = {"id": "rows", "rows": 12, "spellcheck": "false", "autocomplete": "off"}
    return fragment(
        element("p", None, "A list of rows, as JSON. Write null where nothing is known."),
        element("label", {"for": "rows"}, "Rows"),
        element("textarea", area, json.dumps(rows, indent=1, ensure_ascii=False)),
        element("p", None, element("button", {"type": "button", "id": "predict"}, "Predict")),
        element("div", {"id": "answer", "aria-live": "polite"}),
    )


def _requests() -> Markup:
    """Return commands; a script puts the address of the server into them."""
    commands = {
        "JSON": '--json @rows.json "ADDRESS/predict?top=3"',
        "A file": '-H "Content-Type: text/csv" -H "Accept: text/csv" --data-binary @new.csv '
        '"ADDRESS/predict" -o predictions.csv',
    }
    entries = []
    for number, (title, words) in enumerate(commands.items()):
        line = element(
            "code",
            {"id": f"command-{number}", "class": "with-address"},
            f'curl -H "Authorization: Bearer $DISAMBIG_TOKEN" {words}',
        )
        copy = {"type": "button", "class": "copy", "data-copy": f"command-{number}", "hidden": True}
        whole = element("span", {"class": "command"}, line, element("button", copy, "Copy"))
        entries.append((title, whole))
    links = [
        element("a", {"href": path}, what)
        for path, what in (
            ("openapi.json", "its OpenAPI description"),
            ("metrics", "its metrics"),
            ("health", "its health"),
        )
    ]
    return fragment(
        details_list(entries),
        element("p", None, "The server also has ", Markup(", ").join(links), "."),
    )


def _about(model: ModelParts) -> Markup:
    entries = [("labels", quoted_list(model.classes.tolist()))]
    estimate = model.estimate
    if estimate is not None:
        shown = f"{100 * estimate.covering_rate:.1f} % of the predictions for held-out rows"
        entries.append(("how good it is", f"{shown} are labels of the row's set."))
    if estimate is not None and estimate.accuracy is not None:
        known = estimate.accuracy
        entries.append(
            (
                "accuracy",
                f"{known.share:.3f}, {known.low:.3f} to {known.high:.3f} (95 %), from "
                f"{plural(known.n_rows, 'true label')}",
            )
        )
    if model.coverage is not None:
        entries.append(("prediction sets", str(model.coverage)))
    if model.plan.embeddings:
        entries.append(("embeddings", f"{model.plan.embeddings:,} numbers for each row"))
    properties = row_schema(model)["properties"]
    columns = model.plan.columns[:_MOST_COLUMNS]
    rows = tuple((column.name, properties[column.name]["description"]) for column in columns)
    if not rows:
        return details_list(entries)
    left_out = len(model.plan.columns) - len(columns)
    notes = (f"{left_out:,} more are left out here.",) if left_out else ()
    table = Table(title="Columns of a row", header=("column", "what it is"), rows=rows, notes=notes)
    return fragment(details_list(entries), table_html(table, name="columns"))
