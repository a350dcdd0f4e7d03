"""The site is built without a warning, stands on its own, and says what the code says."""

import enum
import html
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from PIL import Image

import disambig
from disambig.methods import all_methods
from web.conftest import WIDE, chromium  # noqa: F401  # a fixture

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted([*(ROOT / "examples").glob("plot_*.py"), ROOT / "examples/ncpd_in_one_file.py"])
PACKAGES = [name for name in disambig.__all__ if inspect.ismodule(getattr(disambig, name))]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # From a copy, because the gallery writes its pages beside their sources.
    copy = tmp_path_factory.mktemp("repository")
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("gallery"))
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, copy)
    (copy / "src").symlink_to(ROOT / "src", target_is_directory=True)
    build = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0",
         "-D", "run_commands=0", "-D", "sidebar_contents=0", "docs", "site"],
        cwd=copy, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert build.returncode == 0, build.stderr
    return copy / "site"


@pytest.fixture(scope="module")
def tags(site):
    """Every tag of every page that we wrote, with its attributes."""
    return {page: tags_of(page) for page in site.rglob("*.html") if "_modules" not in page.parts}


def tags_of(page):
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(page.read_text(encoding="utf-8"))
    return found


def text_of(page):
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_page_of_the_repository_is_on_the_site(site):
    docs = ROOT / "docs"
    pages = [page.relative_to(docs) for page in docs.rglob("*.md")]
    pages = [page for page in pages if "gallery" not in page.parts]
    assert len(pages) > 40
    pages += [Path("gallery", example.name) for example in EXAMPLES]
    assert [str(page) for page in pages if not (site / page.with_suffix(".html")).exists()] == []


def test_no_page_asks_for_anything_from_the_network(site, tags):
    loaded = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
    for page, found in tags.items():
        for tag, attributes in found:
            address = attributes.get(loaded.get(tag)) or ""
            assert not re.match(r"(https?:)?//", address), (page.name, tag, address)
            assert "url(http" not in attributes.get("style", "")
    for style in site.rglob("*.css"):
        assert not re.search(
            r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")
        )


def test_what_a_page_shows_or_links_to_is_there(tags):
    for page, found in tags.items():
        for tag, attributes in found:
            address = attributes.get({"img": "src", "a": "href"}.get(tag)) or ""
            parts = urlsplit(address)
            if parts.path and not parts.scheme:
                assert (page.parent / unquote(parts.path)).exists(), (page.name, address)


def test_the_guide_to_methods_has_a_row_for_each_ours_first_and_baselines_last(site):
    page = (site / "methods.html").read_text(encoding="utf-8")
    table = page[page.index('class="method-guide') :]
    rows = re.findall(r"<tr.*?</tr>", table[: table.index("</table>")], re.S)[1:]
    cells = [re.findall(r"<td.*?>(.*?)</td>", row, re.S) for row in rows]
    texts = [[html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in cells]
    names = [row[0] for row in texts]
    assert sorted(names) == sorted(all_methods())
    assert names[:2] == ["ncpd_plus", "ncpd"]
    assert "method" not in {all_methods()[name].card.role for name in names[-3:]}
    means = (ROOT / "docs" / "results" / "rivals_accuracy.csv").read_text(encoding="utf-8")
    for name, when, lost, *_, sparse, _ in texts:
        method = all_methods()[name]
        assert plain(when) == plain(method.card.when)
        assert sparse == ("yes" if method.accepts_sparse else "no")
        measured = re.search(rf"^{name},lost,([\d.]+),", means, re.M)
        if measured:
            assert float(lost) == pytest.approx(float(measured[1]), abs=0.0006)


def test_the_table_of_methods_has_every_method_with_its_card(site):
    page = (site / "methods.html").read_text(encoding="utf-8")
    table = page[page.index('class="method-table') :]
    rows = re.findall(r"<tr.*?</tr>", table[: table.index("</table>")], re.S)[1:]
    assert len(rows) == len(all_methods())
    departures = plain(text_of(site / "methods.html"))
    for method in all_methods().values():
        card = method.card
        (row,) = [row for row in rows if f">{card.name}<" in row]
        name = method.__name__
        assert f'href="api/methods/{name}.html#disambig.methods.{name}"' in row
        for text in (card.title, card.paper, card.year, card.doi):
            assert str(text or "") in html.unescape(row)
        for deviation in card.deviations:
            assert plain(deviation) in departures


def plain(text):
    # Quotation marks and apostrophes become those of print.
    return re.sub(r"[\"'\u2018\u2019\u201c\u201d]", "", text)


def test_equations_are_mathml_with_the_numbers_of_the_paper_beside_their_code(site):
    page = (site / "ncpd-by-equation.html").read_text(encoding="utf-8")
    equations = re.findall(r'<div class="equation">(.*?)</div>', page)
    numbers = re.findall(r'<span class="number">\((\d)\)', "".join(equations))
    assert numbers == list("123456789")
    assert all(equation.startswith("<math ") for equation in equations)
    formulas = re.findall(r"<math .*?</math>", page)
    assert len(formulas) > 30
    # A command that is not known stays as it is.
    assert not [formula for formula in formulas if "\\" in formula]
    text = text_of(site / "ncpd-by-equation.html")
    for code in (
        "def share_of_small_losses(", "def has_small_loss(", "def reliable_candidates(",
        "def disambiguated_confidences(", "def group_confidences(", "def exchange(",
        "def _train_step(", "class ProgressiveCooperation(",
    ):  # fmt: skip
        assert code in text


def test_code_beside_equations_has_no_docstrings(site):
    assert '"""' not in text_of(site / "ncpd-by-equation.html")


@pytest.mark.browser
def test_no_code_of_a_guide_is_cut_at_1280_pixels(site, chromium):  # noqa: F811
    page = chromium.new_page(viewport=WIDE)
    cut = "[...document.querySelectorAll('pre')].filter(e => e.scrollWidth > e.clientWidth).length"
    wide = {}
    for path in sorted(site.glob("*.html")):
        page.goto(path.as_uri())
        wide[path.stem] = page.evaluate(cut)
    page.close()
    # The map, and code as it is in the source.
    assert {name for name, count in wide.items() if count} <= {"architecture", "fidelity"}


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "ground"), [("light", 255), ("dark", 18)])
def test_a_figure_follows_the_theme_that_a_reader_chose(site, chromium, tmp_path, theme, ground):  # noqa: F811
    page = chromium.new_page(viewport=WIDE)
    page.goto((site / "results" / "rivals_accuracy.html").as_uri())
    page.evaluate(f"document.body.dataset.theme = '{theme}'")
    page.locator("article img").first.screenshot(path=tmp_path / "figure.png")
    page.close()
    with Image.open(tmp_path / "figure.png") as image:
        assert image.convert("RGB").getpixel((2, 2))[0] == ground


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_page_with_its_parameters(site, package):
    index = (site / "api" / f"{package}.html").read_text(encoding="utf-8")
    module = importlib.import_module(f"disambig.{package}")
    assert module.__all__
    for name in module.__all__:
        page = (site / "api" / package / f"{name}.html").read_text(encoding="utf-8")
        assert f'id="disambig.{package}.{name}"' in page
        assert f'href="{package}/{name}.html#disambig.{package}.{name}"' in index
        listed = " ".join(re.findall(r"<strong>([\w, *]+)</strong>", page))
        described = set(re.split(r"[ ,*]+", listed))
        assert parameters_of(getattr(module, name)) - described == set(), name


def parameters_of(value):
    # FoldScore is made by our code alone, and its signature is that of C code; members of an Enum
    # are attributes.
    is_enum = isinstance(value, type) and issubclass(value, enum.Enum)
    if not callable(value) or value is disambig.bench.FoldScore or is_enum:
        return set()
    return set(inspect.signature(value).parameters)


def test_the_top_of_the_reference_leads_to_the_pages_of_its_names(site):
    index = (site / "api" / "disambig.html").read_text(encoding="utf-8")
    assert 'href="methods/NCPDClassifier.html#disambig.methods.NCPDClassifier"' in index
    assert 'href="disambig/DisambigError.html#disambig.DisambigError"' in index


def test_a_page_of_a_class_lists_what_it_inherits(site):
    page = (site / "api" / "methods" / "NCPDPlusClassifier.html").read_text(encoding="utf-8")
    base = 'href="PartialLabelClassifier.html#disambig.methods.PartialLabelClassifier'
    for method in ("predict", "predict_proba", "disambiguate", "score", "save"):
        assert f'{base}.{method}"' in page
    for method in ("fit", "load"):  # with weights of rows, and from a file with networks
        of_networks = f'href="NetworkClassifier.html#disambig.methods.NetworkClassifier.{method}"'
        assert of_networks in page
    assert "<strong>batch_size</strong>" in page  # which only NetworkClassifier describes
    assert "<strong>classes_</strong>" in page
    assert "<strong>selection_</strong>" in page


def test_see_also_leads_somewhere(site):
    boxes = 0
    for page in (site / "api").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for box in re.findall(r'<div class="admonition seealso">.*?</div>', text, re.S):
            boxes += 1
            for term in re.findall(r"<dt>.*?</dt>", box, re.S):
                assert '<a class="reference internal"' in term, (page.name, term)
    assert boxes > 80


def test_formulas_of_the_reference_are_mathml(site):
    for name in ("AGGD", "CLPL", "EMClassifier", "IPAL", "LSBCMM", "M3PL", "PLSVM", "SURE"):
        page = (site / "api" / "methods" / f"{name}.html").read_text(encoding="utf-8")
        assert '<div class="equation"><math ' in page, name
        # A command that is not known stays as it is.
        assert not [one for one in re.findall(r"<math .*?</math>", page, re.S) if "\\" in one]


def test_the_contents_of_the_gallery_have_every_example(site):
    found = tags_of(site / "gallery" / "index.html")
    linked = {attributes.get("href") for tag, attributes in found if tag == "a"}
    pages = {f"{example.stem}.html" for example in EXAMPLES}
    assert pages <= linked
    text = text_of(site / "gallery" / "index.html")
    assert "The surer it is, the more often it is right." in " ".join(text.split())
