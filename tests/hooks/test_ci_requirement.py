from __future__ import annotations

import json

import pytest

from hooks.ci_requirement import installed, requirement

URL = "https://example.org/x.git"


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, "xpstore==1.2"),
        ({"url": "file:///home/ann/xpstore", "dir_info": {"editable": True}}, "xpstore==1.2"),
        ({"url": URL, "vcs_info": {"vcs": "git", "commit_id": "ab12"}}, f"xpstore @ git+{URL}@ab12"),
        (
            {"url": "https://example.org/x-1.2.whl", "archive_info": {}},
            "xpstore @ https://example.org/x-1.2.whl",
        ),
    ],
)
def test_it_is_installed_from_where_it_came_if_others_can_reach_that(origin, wanted):
    assert requirement("1.2", json.dumps(origin) if origin else None) == wanted


def test_the_one_that_runs_can_be_named():
    assert installed().startswith("xpstore")
