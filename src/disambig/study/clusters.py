"""Jobs on a cluster of Dask or Ray."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from disambig._core.errors import ClusterError
from disambig._core.optional import import_extra

__all__ = ["DaskCluster", "RayCluster", "open_dask", "open_ray"]


class DaskCluster:
    """The workers of a Dask scheduler. What a worker that dies was at goes to another."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)

    def width(self) -> int:
        """Return how many workers there are; each runs one job at a time, whatever its threads."""
        with _told("Dask"):
            return max(1, len(self._client.nthreads()))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call on some worker."""
        with _told("Dask"):
            future: Future[Any] = self._executor.submit(function, *arguments)
        return future


@contextmanager
def open_dask(jobs: int, address: str | None) -> Iterator[DaskCluster]:
    """Connect to a scheduler, or start one with so many workers on this machine."""
    distributed = import_extra("distributed", extra="dask")
    local = {} if address else {"n_workers": jobs, "threads_per_worker": 1}
    with _told("Dask", address):
        client = distributed.Client(address, **local)
    with client:
        yield DaskCluster(client)


class RayCluster:
    """The processors of a Ray cluster."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def width(self) -> int:
        """Return how many processors the cluster has."""
        with _told("Ray"):
            return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call on some processor."""
        with _told("Ray"):
            future: Future[Any] = self._ray.remote(function).remote(*arguments).future()
        return future


@contextmanager
def open_ray(jobs: int, address: str | None) -> Iterator[RayCluster]:
    """Connect to a cluster, or start one with so many processors on this machine."""
    ray = import_extra("ray", extra="ray")
    with _told("Ray", address):
        ray.init(address=address, num_cpus=None if address else jobs, log_to_driver=False)
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


@contextmanager
def _told(kind: str, address: str | None = None) -> Iterator[None]:
    """Say in words that there is no cluster, or no longer."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        where = f" at {address}" if address else ""
        raise ClusterError(
            f"The {kind} cluster{where} cannot be reached: {error}. Is it running there? What was "
            "done is kept; the same command goes on from there."
        ) from error
