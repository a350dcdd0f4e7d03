"""The folder that downloads, and features of tables that stay on disk, are kept in."""

from pathlib import Path


def cache_folder() -> Path:
    """Return the folder that this package keeps things in which can be made again."""
    from platformdirs import user_cache_dir  # not needed where nothing is kept

    return Path(user_cache_dir("disambig"))
