from __future__ import annotations

import pytest

from tests.builders import git
from tests.env_world import serving
from tests.served import service, small_store
from trainer.env_kit.experiences import reader_of
from trainer.remote import client as http_client
from trainer.remote.client import HttpError
from xpstore.errors import NotAStoreError, NotFoundError, UsageError
from xpstore.snapshot import snapshot


@pytest.fixture
def loc(tmp_path):
    return small_store(tmp_path / "s", "cancel", "refund")


def texts(policy_set):
    return {p.name: p.text for p in policy_set.policies}


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_from_a_clone_any_commit_is_read(loc, form):
    before = loc.resolve("main")
    git(loc.repo.place, "rm", "-q", "experiences/refund.md")
    git(loc.repo.place, "commit", "-q", "-m", "Forget refunds")
    read = reader_of(form.format(loc.repo.place))
    assert texts(read("whatever the client says", before)) == texts(snapshot(loc, before))
    assert texts(read("", loc.resolve("main"))).keys() == {"cancel", "unsure"}
    assert read("", before).snapshot_id == before
    assert "refund" in texts(read("", before))


def test_a_commit_that_the_clone_does_not_have(loc):
    with pytest.raises(NotFoundError):
        reader_of(str(loc.repo.place))("", "5" * 40)


@pytest.mark.parametrize("name", ["main", "HEAD", "../x", "", "--help", "A" * 40])
def test_only_commits_are_snapshots(loc, name):
    with pytest.raises(UsageError, match="no commit"):
        reader_of(str(loc.repo.place))("", name)


def test_no_store(tmp_path):
    with pytest.raises(NotAStoreError):
        reader_of(str(tmp_path))
    with pytest.raises(UsageError):
        reader_of("http://")


def test_from_a_service_what_it_serves_is_read_if_it_is_that_commit(loc, monkeypatch):
    monkeypatch.setattr(http_client, "_backoff", lambda _: 0.0)
    commit = loc.resolve("main")
    with serving(service(loc)) as url:
        read = reader_of(url)
        served = {name: text for name, text in texts(snapshot(loc, commit)).items() if name != "unsure"}
        assert texts(read("", commit)) == served
        with pytest.raises(NotFoundError, match=f"serves experiences at {commit[:12]}, not at 555555555555"):
            read("", "5" * 40)
    with pytest.raises(HttpError):
        read("", commit)
