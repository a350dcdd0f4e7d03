"""Pictures in a review: which columns name local files, and the route that serves them."""

import os
from collections.abc import Sequence
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.described.image_files import is_image_path
from disambig.tabular.reasons.column_reading import hidden_columns
from disambig.tabular.table_cells import is_collection, text_of
from disambig.web.picture_files import PictureRefused, read_picture
from disambig.web.reasons_route import row_number
from disambig.web.token_guard import error_response

# Rows, to know whether a column is one of pictures; and files of them.
_MOST_ROWS, _MOST_FILES = 1_000, 20
_MISSING = 404


class Pictures:
    """The pictures that a table names: files in one folder.

    Parameters
    ----------
    rows : CleanedTable
        The table.
    folder : path
        Paths in the table begin here, and no file elsewhere is read: the folder of the table.
    """

    def __init__(self, rows: CleanedTable, folder: str | os.PathLike[str]) -> None:
        self.n_rows = len(rows.candidates)
        self._values = rows.values
        self._folder = Path(folder)
        learned = set(rows.features.get("image", ()))
        hidden = hidden_columns(rows)
        self.columns: Sequence[str] = [
            name
            for name in rows.values
            if name not in hidden and self._holds_pictures(name, surely=name in learned)
        ]

    def read(self, row: int, column: str) -> tuple[bytes, str]:
        """Return the picture of a row, counted from 0, and its media type; or refuse it."""
        if column not in self.columns:
            raise PictureRefused(_MISSING, "This is not a column of pictures.")
        cell = self._values[column].iloc[row]
        text = None if is_collection(cell) else text_of(cell)
        if text is None:
            raise PictureRefused(_MISSING, "The row has no picture.")
        return read_picture(self._folder, text)

    def _holds_pictures(self, name: str, *, surely: bool) -> bool:
        """Tell whether cells mostly end like image files, and some of these can be shown."""
        step = max(1, -(-len(self._values) // _MOST_ROWS))
        cells = [cell for cell in self._values[name].iloc[::step] if isinstance(cell, str)]
        texts = [text for cell in cells if (text := text_of(cell)) is not None]
        paths = [text for text in texts if is_image_path(text)]
        if surely:
            paths = texts
        elif 2 * len(paths) <= len(texts):
            return False
        return any(map(self._can_be_shown, paths[:: max(1, -(-len(paths) // _MOST_FILES))]))

    def _can_be_shown(self, path: str) -> bool:
        try:
            read_picture(self._folder, path)
        except PictureRefused:
            return False
        return True


def pictures_route(pictures: Pictures) -> Route:
    """Return the route ``picture?row=N&column=NAME``, with rows counted from 1."""

    async def picture(request: Request) -> Response:
        number = row_number(request.query_params.get("row", ""), pictures.n_rows)
        if number is None:
            return error_response(f"The rows are 1 to {pictures.n_rows}.", _MISSING)
        column = request.query_params.get("column", "")
        try:
            content, media_type = await run_in_threadpool(pictures.read, number - 1, column)
        except PictureRefused as refused:
            return error_response(refused.reason, refused.status)
        return Response(content, media_type=media_type)

    return Route("/picture", picture, methods=["GET"])
