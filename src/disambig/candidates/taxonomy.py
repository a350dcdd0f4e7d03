"""Taxonomies: the leaves below every node, and the deepest node that holds a set of leaves."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from disambig._core.errors import CandidateError
from disambig._core.messages import quoted_list
from disambig._core.typing import AnyArray, BoolArray, Label


def leaves_of_nodes(children: Mapping[Label, Collection[Label]]) -> dict[Label, frozenset[Label]]:
    """Return the leaves below every node of a taxonomy; a node always comes after its children."""
    known: dict[Label, frozenset[Label]] = {}
    for node in children:
        _collect_leaves(node, children, known, path=())
    return known


def _collect_leaves(
    node: Label,
    children: Mapping[Label, Collection[Label]],
    known: dict[Label, frozenset[Label]],
    path: tuple[Label, ...],
) -> frozenset[Label]:
    if node in path:
        circle = " > ".join(str(step) for step in (*path[path.index(node) :], node))
        raise CandidateError(
            f"A taxonomy must not have circles. Got {circle}. Remove one of the links."
        )
    if node not in known:
        below = as_collection(children.get(node, ()))
        branches = [_collect_leaves(child, children, known, (*path, node)) for child in below]
        known[node] = frozenset().union(*branches) if branches else frozenset({node})
    return known[node]


def as_collection(row: Any) -> Collection[Any]:
    """Return a single label (a string, a number) as a collection of one."""
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        return (row,)
    return tuple(row)


def deepest_nodes(
    mask: BoolArray, classes: AnyArray, children: Mapping[Label, Collection[Label]]
) -> AnyArray:
    """Return, for every set of classes, the deepest node that has all of them below it.

    None where the set is empty, or where no node has all of them below it.
    """
    leaves = leaves_of_nodes(children)
    names = classes.tolist()
    unknown = [name for name in names if leaves.get(name) != frozenset({name})]
    if unknown:
        raise CandidateError(
            "Every class must be a leaf of the taxonomy. This is not so for "
            f"{quoted_list(unknown)}. Add each as a child of its parent."
        )
    # Smallest first. Among nodes with the same leaves a child comes before its parent.
    nodes = sorted(leaves, key=lambda node: len(leaves[node]))
    outside = np.array([[name not in leaves[node] for name in names] for node in nodes])
    # In floats, because products of integers are slow.
    holds = mask.astype(np.float32) @ outside.T.astype(np.float32) == 0
    found = np.empty(len(mask), dtype=object)
    for row in np.flatnonzero(mask.any(axis=1) & holds.any(axis=1)):
        found[row] = nodes[holds[row].argmax()]
    return found
