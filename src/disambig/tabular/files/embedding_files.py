"""Embeddings in a file beside a table: numbers for every row, by position or by identifier."""

import os
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.lib.format import open_memmap

from disambig._core.errors import DisambigError, TableError
from disambig._core.messages import describe_table_rows, join_names, quote_value, row_name
from disambig._core.typing import AnyArray
from disambig.tabular.embeddings import check_embeddings
from disambig.tabular.files.content import FileContent, find_content
from disambig.tabular.files.npz_format import ArrayMember, find_members, read_header
from disambig.tabular.table_cells import find_column, number_text, text_of, texts_of

_IDS = "the identifier of every row"
SUFFIXES = (".npy", ".npz")
_NAMES, _NAMES_OF_IDS = ("embeddings", "X"), ("ids", "id")


def read_embeddings(
    path: str | os.PathLike[str],
    frame: Any,
    *,
    id: str | None = None,
    max_memory: int | str | None = None,
) -> AnyArray:
    """Read embeddings of the rows of a table: an array with a row for each of them.

    An ``.npy`` file holds one array of numbers, in the order of the table; it is not loaded but
    mapped, so only what is used of it takes memory. An ``.npz`` file holds such an array and may
    hold identifiers beside it, an array of one dimension: rows are then matched by a column of the
    table. Python objects are refused, so no code in a file can run.

    Parameters
    ----------
    path : path
        The file.
    frame : DataFrame
        The table.
    id : str, optional
        Column of the table that names its rows, for a file with identifiers.
    max_memory : int or str, optional
        Most memory that an ``.npz`` file may take once it is unpacked, as in ``read_table``.

    See Also
    --------
    fit_table : Takes it as ``embeddings``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from disambig.tabular import read_embeddings
    >>> frame = pd.DataFrame({"photo": ["b", "a"], "label": ["cat", "cat|dog"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/embeddings.npz"
    ...     np.savez(path, embeddings=[[0.5, 1.0], [2.0, 0.1]], ids=["a", "b"])
    ...     read_embeddings(path, frame, id="photo").tolist()
    [[2.0, 0.1], [0.5, 1.0]]
    """
    source = find_content(path, max_memory)
    is_archive = source.path is not None and source.path.suffix.lower() == ".npz"
    try:
        matrix, place_of = _read_archive(source) if is_archive else (_map(source), None)
    except (DisambigError, MemoryError):
        raise
    except Exception as error:  # damaged files make Python and NumPy raise anything
        raise TableError(
            f"{source.name} is damaged, not an array of NumPy, or holds Python objects, which are "
            f"never loaded: {str(error).rstrip('.')}. Write it by numpy.save or numpy.savez, from "
            "arrays of numbers; identifiers may be strings (ids.astype(str))."
        ) from error
    if place_of is not None:
        matrix = matrix[_places(source.name, place_of, frame, id)]
    return check_embeddings(matrix, len(frame), source.name)


def _map(source: FileContent) -> AnyArray:
    if source.path is None:
        raise TableError("Embeddings are read from a file. Give its path.")
    return open_memmap(source.path, mode="r")  # refuses Python objects


def _read_archive(source: FileContent) -> tuple[AnyArray, dict[str, int] | None]:
    """Return the matrix of an archive, and where each identifier is; None where it has none."""
    with source.open() as stream, ZipFile(stream) as archive:
        members = [read_header(archive, *found) for found in find_members(archive)]
        matrix = _choose(members, 2, _NAMES)
        ids = _choose(members, 1, _NAMES_OF_IDS)
        if matrix is None:
            found = join_names(f"{member.name} of shape {member.shape}" for member in members)
            raise TableError(
                f"{source.name} needs one array of two dimensions, a row for each row of the "
                f"table, called embeddings if there are more. It has {found or 'none'}."
            )
        others = [member for member in members if len(member.shape) == 1]
        if ids is None and any(member.dtype.kind in "US" for member in others):
            raise TableError(
                f"{source.name} has several arrays of one dimension: "
                f"{join_names(member.name for member in others)}. Call the one with the "
                "identifiers of the rows ids."
            )
        needed = sum(_size(member) for member in (matrix, ids) if member is not None)
        source.check_memory(needed, "The arrays")
        numbers = matrix.read(archive)
        if ids is None:
            return numbers, None
        names = ids.read(archive)
        if len(names) != len(numbers):
            raise TableError(
                f"{source.name} needs an identifier for each of its {len(numbers):,} embeddings. "
                f"It has {len(names):,} ({ids.name})."
            )
        return numbers, _place_of(names, f"{ids.name!r} of {source.name}")


def _choose(
    members: list[ArrayMember], n_dimensions: int, names: tuple[str, ...]
) -> ArrayMember | None:
    """Return the array of so many dimensions: the only one, or the one of these names."""
    fitting = [member for member in members if len(member.shape) == n_dimensions]
    named = [member for name in names for member in fitting if member.name == name]
    return named[0] if named else fitting[0] if len(fitting) == 1 else None


def _size(member: ArrayMember) -> int:
    """Return the bytes that an array takes; identifiers become strings of Python."""
    count = int(np.prod(member.shape, dtype=object))
    return count * (member.dtype.itemsize + (0 if len(member.shape) == 2 else 150))


def _place_of(ids: AnyArray, array: str) -> dict[str, int]:
    """Return where each identifier is."""
    place_of: dict[str, int] = {}
    for place, cell in enumerate(ids.tolist()):
        name = _as_identifier(cell)
        if name is None or name in place_of:
            what = "is empty" if name is None else f"is there twice: {quote_value(name)}"
            raise TableError(
                f"Every embedding needs an identifier of its own. In {array} that of "
                f"{row_name(place)} {what}."
            )
        place_of[name] = place
    return place_of


def _places(
    file: str,
    place_of: dict[str, int],
    frame: Any,
    id: str | None,
) -> AnyArray:
    """Return where the embedding of every row is."""
    if id is None:
        raise TableError(
            f"{file} has identifiers. Name the column of the table that has them: --id (in Python "
            "id=)."
        )
    cells = texts_of(find_column(frame, id, what=_IDS), what=_IDS)
    names = map(_as_identifier, cells)
    places = np.array([-1 if name is None else place_of.get(name, -1) for name in names], dtype=int)
    missing = places < 0
    if missing.any():
        first = cells[int(missing.argmax())]
        raise TableError(
            f"Every row needs an embedding. {file} has none for {quote_value(first)} in column "
            f"{id!r} ({describe_table_rows(missing)}). Add it, or leave such rows out."
        )
    return places


def _as_identifier(cell: Any) -> str | None:
    """Return a cell as a string, the same for 3, 3.0 and "3"; None where it is blank."""
    text = text_of(cell)
    return None if text is None else number_text(text)


def is_embedding_file(name: str) -> bool:
    """Tell whether a name is that of a file of embeddings."""
    return name.lower().endswith(SUFFIXES)
