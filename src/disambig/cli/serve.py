"""``disambig serve``: predictions over HTTP."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from disambig.cli.option_groups import with_option_groups


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What a server takes, and when it predicts."""

    max_body: Annotated[
        str,
        typer.Option(
            help="Largest request, such as 10MB.", metavar="SIZE", rich_help_panel="Limits"
        ),
    ] = "10MB"
    max_rows: Annotated[
        int,
        typer.Option(
            min=1, help="Most rows of a request.", metavar="COUNT", rich_help_panel="Limits"
        ),
    ] = 10_000
    queue: Annotated[
        int,
        typer.Option(
            min=1,
            help="Most requests that may be there at once, waiting or being answered; others are "
            "told to come again.",
            metavar="COUNT",
            rich_help_panel="Limits",
        ),
    ] = 64
    batch_rows: Annotated[
        int,
        typer.Option(
            min=1,
            help="Most rows that are predicted in one go, of requests that came together.",
            metavar="COUNT",
            rich_help_panel="Limits",
        ),
    ] = 1_000
    max_wait: Annotated[
        float,
        typer.Option(
            min=0,
            max=10_000,
            help="Milliseconds to wait for more requests before some are predicted.",
            metavar="MS",
            rich_help_panel="Limits",
        ),
    ] = 0.0


@with_option_groups
def serve(
    model: Annotated[
        Path, typer.Argument(help="Folder that 'disambig fit' wrote.", metavar="MODEL")
    ],
    limits: LimitOptions,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen at. One that other machines can reach needs --token.",
            metavar="HOST",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.", metavar="PORT")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            help="What requests must show. By default the environment variable DISAMBIG_TOKEN, or "
            "else a new one, which is printed. Others on this machine can see what is typed here.",
            metavar="TOKEN",
            envvar="DISAMBIG_TOKEN",
            show_envvar=False,
        ),
    ] = None,
) -> None:
    """Predict over HTTP, for other programs.

    POST /predict takes rows as JSON or CSV and answers with labels and probabilities, the same as
    'disambig predict'. There are /health, /metrics, /openapi.json and a page for people. Ends on
    Ctrl-C or SIGTERM, once all requests are answered.

    Example: disambig serve vehicles-model

    Example, a request: curl -H "Authorization: Bearer TOKEN" -H "Content-Type: text/csv"
    --data-binary @new-vehicles.csv http://127.0.0.1:8000/predict
    """
    # keeps --help quick
    from disambig._core.errors import import_extra
    from disambig.cli.console import say

    for module in ("starlette", "uvicorn"):
        import_extra(module, extra="serve")
    from disambig.tabular.files.content import read_size
    from disambig.tabular.table_model import load_model
    from disambig.web.serve import check_host, is_loopback, serve_model
    from disambig.web.serve_batches import ServeLimits

    token = token or None  # an empty variable is none
    check_host(host, token)
    checked = ServeLimits(
        body_bytes=read_size(limits.max_body),
        request_rows=limits.max_rows,
        queue=limits.queue,
        batch_rows=limits.batch_rows,
        wait_ms=limits.max_wait,
    )
    fitted = load_model(model, only_predict=True)

    def ready(address: str, shown: str) -> None:
        say(f"Serving at {address}", wrap=False)
        if token is None:
            say(f"Token: {shown}", wrap=False)
            say(f"Open {address}{shown}/", wrap=False)
        else:
            say(f"Open {address}TOKEN/, with your token in its place.", wrap=False)
        if not is_loopback(host):
            say("Nothing is encrypted: put a proxy with TLS before it.")
        say("Press Ctrl-C to end.")

    name = model.resolve().name
    serve_model(fitted, name=name, host=host, port=port, token=token, limits=checked, ready=ready)
    say("Ended.")
