"""Where jobs run: processes of this machine, or a cluster of Dask or Ray."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Protocol

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_choice, check_integer
from disambig.study.clusters import open_dask, open_ray
from disambig.study.local_processes import open_local

__all__ = ["BACKENDS", "Backend", "open_backend"]


class Backend(Protocol):
    """What the runner asks of a place where jobs run."""

    def width(self) -> int:
        """Return how many calls can run at once, now."""
        ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call elsewhere. Called only while fewer than ``width`` are under way."""
        ...


def open_backend(
    name: str, *, jobs: int = 1, address: str | None = None
) -> AbstractContextManager[Backend]:
    """Return a context that opens a backend and closes it.

    Parameters
    ----------
    name : {"local", "dask", "ray"}
        Processes of this machine, or a cluster.
    jobs : int, default=1
        Processes, on this machine; a cluster elsewhere has its own.
    address : str, optional
        Of the cluster; one on this machine is started without it.
    """
    check_choice("backend", name, BACKENDS)
    check_integer("jobs", jobs, minimum=1)
    if name == "local" and address is not None:
        raise ParameterError(
            f"'address' is that of a cluster, and the backend is 'local'. Got {address!r}. Say "
            "backend='dask' or backend='ray' too."
        )
    return BACKENDS[name](jobs, address)


BACKENDS: dict[str, Callable[[int, str | None], AbstractContextManager[Backend]]] = {
    "local": open_local,
    "dask": open_dask,
    "ray": open_ray,
}
