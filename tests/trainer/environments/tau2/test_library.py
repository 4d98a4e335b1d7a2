from __future__ import annotations

import pytest

from trainer.environments.tau2 import guard
from trainer.environments.tau2.settings import settings_of
from xpstore.errors import UsageError

if not guard.is_here():
    pytest.skip("`make tau2` runs this where tau2-bench is", allow_module_level=True)
guard.check_here()

from trainer.environments.tau2 import library  # noqa: E402  # only where tau2 is

pytestmark = pytest.mark.tau2


def test_versions_and_digests_are_in_every_case():
    tasks = library.load_tasks("airline", settings_of({}, {}))
    assert library.api() in {"0.2", "1"}
    assert library.distribution().split()[0] in library.DISTRIBUTIONS
    for name in ("tasks_sha256", "db_sha256", "policy_sha256"):
        assert len(tasks.provenance[name]) == 64
    assert tasks.provenance.items() <= tasks.cases("test")[0].metadata.items()


def test_a_domain_that_there_is_not():
    with pytest.raises(UsageError, match="no domain"):
        library.load_tasks("hotel", settings_of({}, {}))


def test_a_policy_beside_the_tasks_is_the_agents(tmp_path):
    folder = tmp_path / "mock"
    folder.mkdir()
    (folder / "tasks.json").write_text("[]", "utf-8")
    settings = settings_of({"data": str(tmp_path)}, {})
    assert library.policy_text("mock", settings) == ""
    before = library.load_tasks("mock", settings).provenance["policy_sha256"]
    (folder / "policy.md").write_text("Be kind.", "utf-8")
    assert library.policy_text("mock", settings) == "Be kind."
    assert library.load_tasks("mock", settings).provenance["policy_sha256"] != before
    assert library.policy_text("airline", settings) == ""
