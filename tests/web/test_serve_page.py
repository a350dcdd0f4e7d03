"""The page of a server of predictions: a row is predicted, and what is wrong is said."""

from dataclasses import replace

import pytest

from disambig.web.serve_page import serve_page
from web.conftest import HOSTILE
from web.served_models import TOKEN, expected, served, served_model


def test_names_are_never_markup():
    model = served_model()
    first, *others = model.plan.columns
    columns = (first.model_copy(update={"name": HOSTILE}), *others)
    plan = model.plan.model_copy(update={"columns": columns})
    transformer = replace(model.transformer, numbers=[HOSTILE, *model.transformer.numbers[1:]])
    page = serve_page(replace(model, plan=plan, transformer=transformer), name=HOSTILE)
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4


@pytest.mark.browser
def test_a_row_is_predicted_in_the_browser(visit):
    from disambig.web.serve_openapi import example_row

    with served() as server:
        page = visit(f"http://127.0.0.1:{server.port}/{TOKEN}/", calm=False)
        page.click("#predict")
        page.wait_for_selector("#answer table")
        cells = page.locator("#answer tbody td").all_inner_texts()
        (said,) = expected([example_row(served_model())], top=3)
        shown = [", ".join(one) if isinstance(one, list) else str(one) for one in said.values()]
        assert cells == shown
        assert f"http://127.0.0.1:{server.port}/predict" in page.inner_text("#command-0")
        page.fill("#rows", '[{"size": 1}]')
        page.click("#predict")
        page.wait_for_selector("#answer .error")
        assert "Row 1 has no 'weight', 'color', 'tame', 'seen'." in page.inner_text("#answer")
