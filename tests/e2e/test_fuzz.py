"""Whatever a file holds, reading it ends in a value or in an error for people.

XP_FUZZ_SECONDS is the time for all targets together: four seconds in the suite, ten minutes in `make stress`.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import time
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests import recordings
from tests.builders import make_store, page
from tests.e2e.bad import chat
from tests.lessons import Lesson, teach
from trainer.importers import Problem, iter_rollouts
from trainer.importers.scores import Scores
from trainer.offline.facts import read_facts
from trainer.redaction import redact_rollout
from xpstore import events, evidence, frontmatter, layout, note, record, trailers, verify_record
from xpstore.config import StoreConfig, parse_config, render_config
from xpstore.document import Document, canonical
from xpstore.errors import XpError
from xpstore.evidence_check import Evidence
from xpstore.experience import Experience, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.merge import merge
from xpstore.patchfile import read_patch, write_patch
from xpstore.serving import rendered
from xpstore.settings import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xpstore.location import Location

pytestmark = pytest.mark.slow
TARGETS = 8
SECONDS = float(os.environ.get("XP_FUZZ_SECONDS", "4")) / TARGETS
SHAPES = rb"""[ ] { } " ' \ : , &a *a !!x ## ``` - null true -1 NaN 1e999 \ud800 Plan-Id: >8 --- +++ @@"""
BYTES = (b"\0", b"\n", b"\r\n", b"---\n", b"\xff", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xef\xbb\xbf")
LINES = (b"9" * 400, b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", b"[" * 5000, b"{'a':" * 3000)
PIECES = st.sampled_from([*SHAPES.split(b" "), *BYTES, *LINES]) | st.binary(max_size=6)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=8)
    | st.sampled_from(["", "x" * 70_000, "\0", "../x", "\ud800", "0" * 40, 10**400])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=5,
)


@st.composite
def spoilt_bytes(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A seed with some pieces replaced, repeated, cut out or put in."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 0, 1, 3, 20, 400])))
        piece = draw(PIECES) if draw(st.booleans()) else data[start:end] * draw(st.integers(0, 3))
        data = data[:start] + piece + data[end:]
    return data


@st.composite
def spoilt_json(draw: st.DrawFn, seeds: list[object]) -> object:
    """A seed with some of its values exchanged, taken out or put elsewhere."""
    value = json.loads(json.dumps(draw(st.sampled_from(seeds))))
    for _ in range(draw(st.integers(1, 3))):
        value = _spoilt(draw, value)
    return value


def _spoilt(draw: st.DrawFn, value: object) -> object:
    inner = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        inner = list(range(len(value)))
    if not inner or draw(st.integers(0, 4)) == 0:
        return draw(JSON)
    key = draw(st.sampled_from(inner))
    if draw(st.integers(0, 5)) == 0:
        value.pop(key)  # type: ignore[union-attr]
    else:
        value[key] = _spoilt(draw, value[key])  # type: ignore[index]
    return value


def hunt(strategy: st.SearchStrategy, target: Callable[[object], object]) -> None:
    """Feed the target until the time is over. Anything but an XpError is a find."""
    end = time.monotonic() + SECONDS
    number = 0 if settings().derandomize else random.getrandbits(40)
    while time.monotonic() < end:
        number += 1

        @seed(number)
        @settings(
            max_examples=100,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )
        @given(strategy)
        def once(value: object) -> None:
            with suppress(XpError):
                target(value)

        once()


def test_importers(tmp_path):
    messages = [*chat(1)["messages"], {"role": "assistant", "content": [{"type": "text", "text": "x"}]}]
    tool = {"type": "tool", "tool_id": "1", "tool_name": "t", "tool_input": {}}
    rfc = {
        "case": {"name": "c", "rubric": {"name": "r", "criteria": [{"name": "k"}]}, "input": {"q": "q"}},
        "messages": [{"role": "user", "parts": [{"type": "text", "text": "x"}, tool]}],
        "evaluation": {"passed": True, "score": 1.0, "criterion_results": []},
    }
    task = {"actions": [{"name": "a", "kwargs": {}}], "instruction": "i"}
    info = {"task": task, "reward_info": {"reward": 1}}
    tau = {"task_id": 1, "reward": 1.0, "trial": 0, "info": info, "traj": messages}
    seeds = [chat(1), {"messages": messages, "score": 1}, rfc, {"execution_id": "e", "rollout": rfc}, tau]
    texts = [json.dumps(seeds).encode()]
    texts += [json.dumps(s, indent=indent).encode() for s in seeds for indent in (None, 1)]
    hunt(spoilt_bytes(texts) | spoilt_json(seeds), importing(tmp_path))


def importing(tmp_path: Path) -> Callable[[object], None]:
    """Return what reads two files with these bytes, this JSON, or these lines of JSON."""
    file, other = tmp_path / "in.json", tmp_path / "in.cont-1.json"

    def read(value: object) -> None:
        written = value if isinstance(value, bytes) else json.dumps(value).encode()
        if isinstance(value, list):
            written = b"".join(json.dumps(line).encode() + b"\n" for line in value)
        file.write_bytes(written)
        other.write_bytes(written)
        for item in iter_rollouts([file, other]):
            if not isinstance(item, Problem):
                clean = redact_rollout(item.rollout)
                if clean.evaluation:
                    read_facts(clean, clean.evaluation)

    return read


def test_importers_of_other_programs(tmp_path):
    side = recordings.atif(trajectory_id="side")
    ref = {"subagent_trajectory_ref": [{"trajectory_id": "side", "trajectory_path": "in.cont-1.json"}]}
    whole = recordings.atif(subagent_trajectories=[side], continued_trajectory_ref="in.cont-1.json")
    whole["steps"].append(
        recordings.step("agent", "x", [("c9", "task", {})], [{"source_call_id": "c9", **ref}])
    )
    seeds = [whole, recordings.inspect(), recordings.swe_agent(), recordings.mini_swe_agent()]
    seeds += [recordings.mini_swe_agent()["messages"], recordings.tau2(), recordings.tau2()["simulations"][0]]
    seeds += [recordings.claude(), recordings.openinference(), recordings.otlp(recordings.openinference())]
    archive = recordings.eval_file(recordings.inspect())
    texts = [text.encode() for text in recordings.ALL.values()]
    packed = [
        archive,
        gzip.compress(texts[1]),
        recordings.eval_file(recordings.inspect(), zipfile.ZIP_STORED),
    ]
    hunt(spoilt_bytes([*texts, *packed]) | spoilt_json(seeds), importing(tmp_path))


def test_scores(tmp_path):
    texts = [b"id,score\na,1\nb,nan\n", b'{"a": 0.5, "b": {"passed": true}}', b'[{"id": "a", "score": 1}]']
    texts += [b'{"resolved_ids": ["a"], "unresolved_ids": []}', b"a,1\nb,0\n"]
    file = tmp_path / "scores"

    def read(value: object) -> None:
        file.write_bytes(value)  # type: ignore[arg-type]
        list(Scores.read(file).unused())

    hunt(spoilt_bytes(texts), read)


TEXTS = [
    page("refund", "Ask first.", "Then act.\n  *Support: 3 rollouts in 2 cases.*"),
    "---\nname: &a x\nlist: [1, *a]\nmap: {k: v}\n# why\ntext: |\n  a\n---\n## A\n\n1. x\n\n```\n- y\n```\n",
    "# Title\r\n\r\n* a\r\n\tb\r\n> quote\r\n\r\n| t |\r\n|---|\r\n",
    "\ufeff---\n---\n",
    "",
]
ENCODED = [text.encode() for text in TEXTS]


def test_documents():
    def read(value: object) -> None:
        before, text, other = (data.decode("utf-8", "surrogateescape") for data in value)  # type: ignore[union-attr]
        document = Document.parse(text, "x.md")
        document.statements()
        canonical(document.with_fields(status="draft", name=None).text)
        source, _ = frontmatter.split(text)
        if source is not None:
            frontmatter.load(source, "x.md")
        experience = Experience(name="x", text=text.encode("utf-8", "replace").decode())
        rendered(experience)
        merge(before, text, other, "x.md")

    hunt(st.tuples(*[spoilt_bytes(ENCODED)] * 3), read)


def test_patches():
    old, new = (MemoryFile(name="refund", content=text) for text in TEXTS[:2])
    fields = {"rationale": "Because\n\ndiff --git a/x b/x", "rollouts": ("00ff",), "confidence": 0.5}
    pairs = [(None, old), (old, new), (old, None)]
    patches = [
        write_patch(PatchSemanticGradient(before_file=b, after_file=a, base_commit="ab" * 20, **fields))
        for b, a in pairs
    ]
    hunt(spoilt_bytes(patches), lambda data: write_patch(read_patch(data, "x.patch")))


def test_xp_toml():
    config = render_config(StoreConfig(1, "ab12", "second", "main", Limits())).encode()
    dated = config + b"\nwhen = 1979-05-27T07:32:00Z\nf = [1.5, nan, 0xff]\n[[a.b]]\nc = '''x'''\n"
    hunt(
        spoilt_bytes([config, dated, b""]),
        lambda data: parse_config(data.decode("utf-8", "surrogateescape"), "xp.toml"),
    )


def test_messages_and_notes():
    message = b"Teach\n\nWhy.\n\nPlan-Id: 00ff\nStore: s\nRollouts: 1 passed=1\n\n    Plan-Id: 11\n"
    trajectory = b"---\nname: n\noutcome: failure\nretrieval_anchor: a\nrollout: 00\n---\ntext\n"

    def read(value: object) -> None:
        text = value.decode("utf-8", "surrogateescape")  # type: ignore[union-attr]
        events.stamps(text, "s")
        trailers.parse_trailers(text)
        trailers.plan_ids(text)
        trailers.format_message(text, text, [("Plan-Id", text)])
        note.from_text(text, "x.md")

    hunt(spoilt_bytes([message, trajectory]), read)


class Spoilt(Evidence):
    """The evidence of a plan, with one file exchanged."""

    path = ""
    data = b""

    def read(self, path: str) -> bytes:
        return self.data if path == self.path else Evidence.read(self, path)


@pytest.fixture
def lesson(tmp_path: Path) -> tuple[Location, Lesson]:
    loc = make_store(tmp_path / "s")
    return loc, teach(loc, "refund", None, ("Ask first.",))


def test_plan_records_and_their_evidence(lesson, monkeypatch):
    loc, taught = lesson
    plan = taught.plan
    path = layout.record_path(plan.plan_id, plan.digest)
    seeds = [json.loads(evidence.read(loc, path))]
    entry = events.entry_of(loc, taught.commit)
    paths = [p for p in evidence.listing(loc, "") if not p.startswith("gradients/")]
    original = evidence.read

    def read(value: object) -> None:
        where, content = value  # type: ignore[misc]
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        monkeypatch.setattr(evidence, "read", lambda at, p: data if p == path else original(at, p))
        shelf = Spoilt.open(loc)
        shelf.path, shelf.data = where, data
        found = verify_record.find(shelf, entry.stamps[0])
        verify_record.message_problems(shelf, entry, found)
        for one in [path, *paths]:
            shelf.problem(one)
        record.plan_from(loc, taught.commit)

    whole = json.dumps(seeds[0]).encode()
    hunt(st.tuples(st.sampled_from([path, *paths]), spoilt_json(seeds) | spoilt_bytes([whole])), read)
