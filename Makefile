# Two commands do everything on a machine with Python 3.11 or newer and pip: make run, make test.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Exact versions, resolved on Python 3.11. On a newer Python: make test CONSTRAINTS=
CONSTRAINTS ?= constraints.txt

.PHONY: install run test suite lint docs screenshots bench faults reproduce clean

install: $(INSTALLED)

run: $(INSTALLED)
	$(BIN)/disambig reproduce curves --quick --jobs 2

test: lint suite

# Two processes, each with whole files of tests, because some files share what they have set up.
# The order is that of tests/conftest.py: slow files first, so that none is left over at the end.
TWO_PROCESSES := --numprocesses 2 --dist loadfile --no-loadscope-reorder
# These cover their packages whole. Following every line takes half as long again as the tests
# themselves, so the others run without.
COVERING := tests/_core tests/candidates tests/solvers tests/test_metrics.py

suite: $(INSTALLED)
	$(BIN)/pytest $(TWO_PROCESSES) --cov --cov-report= $(COVERING)
	$(BIN)/coverage report --include='*/_core/*,*/candidates/*,*/metrics/*,*/solvers/*' --fail-under=100 --skip-covered --show-missing
	$(BIN)/pytest $(TWO_PROCESSES) $(COVERING:%=--ignore=%)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, examples run and all; a warning is an error. Nothing is asked of the network.
docs: $(INSTALLED)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs out/docs
	@echo "The site is in out/docs/index.html"

# The pictures in the docs, as the browser tests see the pages. Needs Chromium.
screenshots: $(INSTALLED)
	DISAMBIG_SCREENSHOTS=docs/images $(BIN)/python -m pytest tests/web/test_screenshots.py

# Needs the real-world files in the folder named by DISAMBIG_DATA; writes docs/results/. On a
# machine with a CUDA card there is benchmarks/ncpd_gpu.py too.
bench: $(INSTALLED)
	$(BIN)/python benchmarks/candidate_sets_at_scale.py
	$(BIN)/python benchmarks/rows_on_disk.py
	$(BIN)/python benchmarks/plknn_scaling.py
	$(BIN)/python benchmarks/rivals_accuracy.py --jobs 2
	$(BIN)/python benchmarks/draw_rivals.py
	$(BIN)/python benchmarks/rivals_at_scale.py
	$(BIN)/python benchmarks/rivals_speed.py
	$(BIN)/python benchmarks/row_order.py
	$(BIN)/python benchmarks/ranks.py
	$(BIN)/python benchmarks/small_jobs.py
	$(BIN)/python benchmarks/any_classifier.py
	$(BIN)/python benchmarks/annotators.py
	$(BIN)/python benchmarks/text_tables.py
	$(BIN)/python benchmarks/llm_answers.py
	$(BIN)/python benchmarks/early_stopping.py
	$(BIN)/python benchmarks/many_classes.py
	$(BIN)/python benchmarks/time_estimates.py
	$(BIN)/python benchmarks/conformal.py
	$(BIN)/python benchmarks/groups.py
	$(BIN)/python benchmarks/draw_groups.py
	$(BIN)/python benchmarks/networks.py measure
	$(BIN)/python benchmarks/networks.py page
	$(BIN)/python benchmarks/calibration.py
	$(BIN)/python benchmarks/ncpd_accuracy.py
	$(BIN)/python benchmarks/ncpd_cpu.py
	$(BIN)/python benchmarks/ncpd_plus_cost.py
	$(BIN)/python benchmarks/busy_machine.py
	$(BIN)/python benchmarks/own_file_cleaning.py
	$(BIN)/python benchmarks/ask.py
	$(BIN)/python benchmarks/draw_what_you_get.py
	$(BIN)/python benchmarks/own_file_at_scale.py
	$(BIN)/python benchmarks/image_columns.py
	$(BIN)/python benchmarks/wide_tables.py
	$(BIN)/python benchmarks/report_at_scale.py
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/results_index.py

# Kills, hostile files, requests and arrays by the thousand, before a release: an hour, on Linux.
# Writes docs/results/faults.md.
faults: $(INSTALLED)
	$(BIN)/python tools/faults

# The paper's whole evaluation into docs/results/: hours on two cores, and it can be interrupted.
# Needs DISAMBIG_DATA too.
reproduce: $(INSTALLED)
	$(BIN)/disambig reproduce table --jobs 2 --out docs/results
	$(BIN)/disambig reproduce curves --jobs 2 --out docs/results
	$(BIN)/disambig reproduce ablation --jobs 2 --out docs/results
	$(BIN)/disambig reproduce groups --jobs 2 --out docs/results
	$(BIN)/disambig reproduce networks --jobs 2 --out docs/results
	$(BIN)/python benchmarks/results_index.py

# Installed anew only when what is to be installed has changed. The constraints reach the build
# of the package itself through the environment.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=$(CONSTRAINTS) PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet --editable '.[dev,docs]'
	touch $(INSTALLED)

clean:
	rm -rf $(VENV) docs/gallery docs/api/*/ .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
