"""The OpenAPI description of a server of predictions, made from its model."""

from collections.abc import Mapping
from typing import Any, get_args

from disambig._version import __version__
from disambig.candidates.groups import PromiseKind
from disambig.tabular.columns.dates import example_of
from disambig.tabular.columns.values import PlannedColumn
from disambig.tabular.model_folder import ModelParts
from disambig.tabular.ranked_labels import POSSIBLE
from disambig.web.serve_batches import ServeLimits

_MOST_EXAMPLES = 20
_REFUSALS: dict[int, str] = {
    400: "The request cannot be read: the query, or JSON that is none.",
    401: "The token is missing or wrong.",
    406: "The header Accept asks for another form than JSON or CSV.",
    408: "The body did not come in time.",
    413: "The body is too large, or has too many rows.",
    415: "The body is neither JSON nor CSV, or not in UTF-8.",
    422: "The rows cannot be predicted: a column is missing, or holds something else.",
    429: "Too many requests are waiting; try again in a second.",
    503: "The server is ending.",
}


def openapi(model: ModelParts, *, name: str, limits: ServeLimits) -> dict[str, Any]:
    """Return the description, in version 3.1."""
    schemas = {
        "Row": row_schema(model),
        "Prediction": _prediction_schema(model),
        "Error": _object({"error": {"type": "string"}}, required=["error"]),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"Predictions by {name}",
            "version": __version__,
            "description": f"A model of {len(model.classes):,} labels, served by disambig.",
        },
        "security": [{"token": []}],
        "paths": {
            "/predict": {"post": _predict(model, limits)},
            "/health": {"get": _health()},
            "/metrics": {"get": _plain("What the server has counted", "text/plain")},
            "/openapi.json": {"get": _plain("This description", "application/json")},
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def row_schema(model: ModelParts) -> dict[str, Any]:
    """Return the schema of a row: the columns of the model, null where nothing is known."""
    columns = {column.name: _column_schema(model, column) for column in model.plan.columns}
    return _object(columns, required=list(columns))


def example_row(model: ModelParts) -> dict[str, Any]:
    """Return a row that could be sent: medians, and categories that were frequent."""
    return {name: of["examples"][0] for name, of in row_schema(model)["properties"].items()}


def example_body(model: ModelParts) -> dict[str, Any]:
    """Return a body that could be sent, of one row."""
    body: dict[str, Any] = {"rows": [example_row(model)]}
    if model.plan.embeddings:
        body["embeddings"] = [[0.0] * model.plan.embeddings]
    return body


def _column_schema(model: ModelParts, column: PlannedColumn) -> dict[str, Any]:
    transformer = model.transformer
    if column.is_string and column.kind == "category":
        codes = transformer.state.categories[column.name]
        known = [one for one in codes.frequent if one is not None]
        return _nullable("string", "A category.", known[:_MOST_EXAMPLES] or [None])
    if column.kind == "number":
        place = transformer.numbers.index(column.name)
        low, high = float(transformer.low[place]), float(transformer.high[place])
        example: Any = float(transformer.medians[place])
        what = f"A number; {low:g} to {high:g} in training."
        written = column.writing.example
        if written != "1234.5":
            what += f" As a string it is written like {written}."
        return _nullable(["number", "string"], what, [example])
    if column.kind == "boolean":
        return _nullable(["boolean", "string"], "True or false.", [True])
    if column.kind == "date":
        assert column.date_format is not None
        example = example_of(column.date_format)
        return _nullable("string", f"A date, written like {example}.", [example])
    return _nullable("string", "A text.", ["some words"])


def _prediction_schema(model: ModelParts) -> dict[str, Any]:
    classes = model.classes.tolist()
    label = {"enum": [*classes, None]}
    share = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    properties: dict[str, Any] = {
        "predicted_label": label | {"description": "The most probable label."},
        "probability": share,
    }
    if model.coverage is not None:
        properties[POSSIBLE] = {
            "type": "array",
            "items": {"enum": classes},
            "description": "The labels that cannot be ruled out, the most probable first: "
            f"{model.coverage.coverage:.0%} of the rows have the right one among them.",
        }
    required = list(properties)
    more = {"^label_[0-9]+$": label, "^probability_[0-9]+$": share}
    return _object(properties, required=required) | {"patternProperties": more}


def _predict(model: ModelParts, limits: ServeLimits) -> dict[str, Any]:
    rows = {
        "type": "array",
        "items": _of("Row"),
        "minItems": 1,
        "maxItems": limits.request_rows,
    }
    properties: dict[str, Any] = {"rows": rows}
    if model.plan.embeddings:
        width = model.plan.embeddings
        numbers: dict[str, Any] = {"type": "array", "items": {"type": "number"}}
        numbers |= {"minItems": width, "maxItems": width}
        properties["embeddings"] = {"type": "array", "items": numbers}
    needed = list(properties) if model.plan.columns else ["embeddings"]
    wrapped = _object(properties, required=needed)
    answer = _object(
        {
            "predictions": {"type": "array", "items": _of("Prediction")},
            "notices": {"type": "array", "items": {"type": "string"}},
        },
        required=["predictions", "notices"],
    )
    answered = {
        "description": "A prediction for each row, in order.",
        "content": {
            "application/json": {"schema": answer},
            "text/csv": {"schema": {"type": "string"}},
        },
    }
    whole = wrapped if model.plan.embeddings else {"anyOf": [rows, wrapped]}
    return {
        "summary": "Predict the labels of rows",
        "parameters": _parameters(),
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": whole, "example": example_body(model)},
                "text/csv": {"schema": {"type": "string"}},
            },
        },
        "responses": {"200": answered}
        | {str(status): _refusal(what) for status, what in _REFUSALS.items()},
    }


def _parameters() -> list[dict[str, Any]]:
    text, truth = {"type": "string"}, {"type": "boolean", "default": False}
    described: dict[str, tuple[str, Mapping[str, Any]]] = {
        "top": (
            "How many labels to give for a row.",
            {"type": "integer", "minimum": 1, "default": 1},
        ),
        "labels": (
            "Column of candidate labels of the rows, of which one is then predicted.",
            {"type": "array", "items": text},
        ),
        "separator": ("Separator between the labels of a cell.", text | {"default": "|"}),
        "votes": ("Whether each label column is an annotator.", truth),
        "literal_labels": ("Whether !, ?, : and the like are parts of labels.", truth),
        "column_per_label": ("Whether each label column is a label.", truth),
        "empty": ("What a row without a label means.", {"enum": ["refuse", "all"]}),
        "group": ("Column that says which rows come together, or runs.", text),
        "promise": ("What is known of a group as a whole.", {"enum": list(get_args(PromiseKind))}),
        "promise_strength": (
            "Share of the groups for which the promise is believed.",
            {"type": "number", "minimum": 0, "maximum": 1},
        ),
    }
    return [
        {"name": name, "in": "query", "description": what, "schema": dict(schema)}
        for name, (what, schema) in described.items()
    ]


def _health() -> dict[str, Any]:
    content = {
        "application/json": {"schema": _object({"ready": {"type": "boolean"}}, required=["ready"])}
    }
    return {
        "summary": "Whether requests are answered",
        "security": [],
        "responses": {
            "200": {"description": "They are.", "content": content},
            "503": {"description": "The server is ending.", "content": content},
        },
    }


def _plain(summary: str, kind: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {"200": {"description": summary, "content": {kind: {}}}},
    }


def _refusal(what: str) -> dict[str, Any]:
    return {"description": what, "content": {"application/json": {"schema": _of("Error")}}}


def _object(properties: Mapping[str, Any], *, required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": required}


def _nullable(kind: str | list[str], what: str, examples: list[Any]) -> dict[str, Any]:
    kinds = [kind] if isinstance(kind, str) else kind
    return {"type": [*kinds, "null"], "description": what, "examples": examples}


def _of(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
