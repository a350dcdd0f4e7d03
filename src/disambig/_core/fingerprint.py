"""Tell whether a file is the one a card describes."""

import hashlib
from pathlib import Path

from disambig._core.errors import HashMismatchError

__all__ = ["check_fingerprint", "fingerprint", "is_known"]


def fingerprint(content: bytes, kind: str) -> str:
    """Return ``kind:digest`` of ``content``; the kinds are ``sha256`` and ``git-blob``."""
    if kind == "git-blob":
        # The name git gives to a file: a digest of its length and its content.
        header = f"blob {len(content)}\0".encode()
        return f"git-blob:{hashlib.sha1(header + content, usedforsecurity=False).hexdigest()}"
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_known(content: bytes, expected: str) -> bool:
    """Tell whether ``content`` has the ``expected`` fingerprint."""
    return fingerprint(content, expected.partition(":")[0]) == expected


def check_fingerprint(content: bytes, expected: str, path: Path | str, advice: str) -> None:
    """Refuse ``content`` that does not have the ``expected`` fingerprint."""
    if not is_known(content, expected):
        found = fingerprint(content, expected.partition(":")[0])
        raise HashMismatchError(
            f"{path} is not the known file. Needed {expected}, got {found}. {advice}"
        )
