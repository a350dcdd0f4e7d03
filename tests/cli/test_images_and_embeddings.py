"""Tables whose rows are described by image files, or by embeddings in a file beside them."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from cli.command_runs import accepted, check_manners, run_command_here, written
from tabular.described.image_tables import write_signs

QUICK = ("--method=plknn", "--folds=2", "--ignore=truth")


@pytest.fixture(scope="module")
def signs(tmp_path_factory):
    """A folder with a table of images, and one of new images; another than the working one."""
    folder = tmp_path_factory.mktemp("signs")
    written(folder / "signs.csv", write_signs(folder))
    written(folder / "new.csv", write_signs(folder, n_rows=12, first=500))
    return folder


def test_images_are_found_beside_the_table_and_kept_as_numbers_there(signs, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(signs, folder)
    said = accepted("audit", folder / "signs.csv", "--truth=truth").out
    assert "60 rows, 1 feature (1 image)" in said
    assert "each described by 484 numbers (--image-model built-in)." in " ".join(said.split())
    kept = sorted((folder / "signs.csv.described").iterdir())
    assert len(kept) == 1

    fitted = accepted("fit", folder / "signs.csv", *QUICK, f"--out={folder / 'model'}", "--json")
    out = folder / "out.csv"
    accepted("predict", folder / "model", folder / "new.csv", f"--out={out}")
    cleaned = folder / "clean.csv"
    accepted("clean", folder / "signs.csv", *QUICK, f"--out={cleaned}")

    assert sorted((folder / "signs.csv.described").iterdir()) == kept
    assert json.loads(fitted.out)["features"] == ["photo"]
    predicted = pd.read_csv(out)
    assert (predicted["predicted_label"] == predicted["truth"]).mean() > 0.8
    assert list(pd.read_csv(cleaned).columns[:3]) == ["photo", "label", "truth"]


def test_of_a_table_in_a_pipe_paths_begin_in_the_working_folder(signs, monkeypatch, tmp_path):
    monkeypatch.chdir(signs)
    table = (signs / "signs.csv").read_bytes()

    run = run_command_here(
        "fit", "-", *QUICK, "--image=photo", f"--out={tmp_path / 'm'}", standard_input=table
    )

    check_manners(run, codes=(0,))
    assert not list(signs.glob("*.described"))


def test_an_image_model_that_is_not_known_is_refused(signs, tmp_path):
    run = run_command_here(
        "fit", signs / "signs.csv", "--image-model=resnet", f"--out={tmp_path / 'm'}"
    )

    check_manners(run, codes=(2,))
    assert "built-in" in run.err
    assert "torchvision:resnet18" in run.err


@pytest.fixture
def embedded(tmp_path):
    """A folder with tables and their embeddings: a cloud of points for each label."""
    generator = np.random.default_rng(0)
    names = np.array(["cat", "dog", "fox"])
    for name, n_rows in (("pets", 60), ("new", 9)):
        kinds = np.arange(n_rows) % 3
        numbers = np.eye(3, 8)[kinds] * 6 + generator.normal(size=(n_rows, 8))
        np.save(tmp_path / f"{name}.npy", numbers.astype(np.float16))
        ids = np.array([f"n{row}" for row in range(n_rows)])
        order = generator.permutation(n_rows)
        np.savez(tmp_path / f"{name}.npz", embeddings=numbers[order], ids=ids[order])
        labels = [f"{names[k]}|{names[(k + 1) % 3]}" if n % 2 else names[k]
                  for n, k in enumerate(kinds)]  # fmt: skip
        frame = pd.DataFrame({"item": ids, "label": labels, "truth": names[kinds]})
        written(tmp_path / f"{name}.csv", frame)
    return tmp_path


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_embeddings_are_named_among_the_features(embedded, suffix, monkeypatch):
    monkeypatch.chdir(embedded)
    table = ("pets.csv", f"--features=pets.{suffix}", "--id=item")
    accepted("fit", *table, *QUICK, "--out=model")

    new = ("new.csv", f"--features=new.{suffix}", "--id=item")
    accepted("predict", "model", *new, "--out=out.csv")
    accepted("clean", *table, *QUICK, "--out=clean.csv")

    predicted, cleaned = pd.read_csv("out.csv"), pd.read_csv("clean.csv")
    assert (predicted["predicted_label"] == predicted["truth"]).all()
    assert (cleaned["chosen_label"] == cleaned["truth"]).mean() > 0.9
    assert list(cleaned.columns[:4]) == ["item", "label", "truth", "chosen_label"]


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_the_items_of_a_long_table_have_embeddings(embedded, suffix, monkeypatch):
    monkeypatch.chdir(embedded)
    items = pd.read_csv("pets.csv")
    votes = items.assign(vote=items["label"].str.split("|")).explode("vote")
    written(embedded / "votes.csv", votes.assign(who="ann")[["item", "who", "vote"]])
    long = ("--item=item", "--annotator=who", "--label=vote", f"--features=pets.{suffix}")

    accepted("clean", "votes.csv", *long, "--method=plknn", "--folds=2", "--out=clean.csv")

    cleaned = pd.read_csv("clean.csv")
    assert list(cleaned["item"]) == list(items["item"])
    assert (cleaned["chosen_label"] == items["truth"]).mean() > 0.9


def test_a_file_of_embeddings_that_is_not_there_is_not_taken_for_a_column(embedded, monkeypatch):
    monkeypatch.chdir(embedded)

    run = run_command_here("fit", "pets.csv", "--features=pet.npy", "--out=model")

    check_manners(run, codes=(2,))
    assert "There is no file pet.npy" in run.err


def test_a_model_that_needs_embeddings_says_so(embedded, monkeypatch):
    monkeypatch.chdir(embedded)
    run = accepted("fit", "pets.csv", "--features=pets.npy", "--id=item", *QUICK, "--out=model")
    assert "disambig predict model NEW.csv --features NEW.npy --out predictions.csv" in run.err

    missing = run_command_here("predict", "model", "new.csv", "--out=out.csv")
    others = run_command_here("predict", "model", "new.csv", "--features=pets.npy", "--out=out.csv")

    for run in (missing, others):
        check_manners(run, codes=(2,))
    assert "trained with embeddings: 8 numbers for each row" in missing.err
    assert "has 9 rows, and pets.npy has 60" in others.err


def test_one_file_of_embeddings_is_enough_and_a_column_may_have_its_name(embedded, monkeypatch):
    monkeypatch.chdir(embedded)
    run = run_command_here(
        "fit", "pets.csv", "--features=pets.npy", "--features=pets.npz", "--out=model"
    )
    check_manners(run, codes=(2,))
    assert "one file of embeddings" in run.err
    frame = pd.read_csv("pets.csv").assign(**{"pets.npy": np.arange(60) % 7})
    written(embedded / "named.csv", frame)

    said = accepted("fit", "named.csv", "--features=pets.npy", *QUICK, "--out=m", "--json").out

    assert json.loads(said)["features"] == ["pets.npy"]
