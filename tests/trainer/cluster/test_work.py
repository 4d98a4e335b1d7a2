import asyncio
import json
import sys

import pytest

from tests.alone import alone
from tests.trainer.doubles import rollout
from trainer.cluster import work
from trainer.context import ExecutionContext, ExperienceGradientContext
from trainer.domain import Case, EditResult, Rollout, RubricEvaluation
from trainer.environment import world_of
from trainer.errors import ComponentError, NothingToNoteError, UnscoredError
from trainer.offline.extractor import OfflineExtractor
from trainer.suite import load_suites
from xpstore.experience import ExperienceSet
from xpstore.init import init
from xpstore.settings import EnvironmentSettings, LlmSettings
from xpstore.source import read_source


@pytest.fixture
def store(tmp_path, request):
    return init(tmp_path / "s", source=read_source(request.config.rootpath / "sample_repo"))


def test_a_rollout_of_a_worker_is_that_of_its_world(store):
    commit = store.resolve("main")
    case = load_suites(store, "main", "train")["train"][0]
    place = work.Place(str(store.repo.place), store.prefix, store.config)
    world = work.world_text(store.config.environment, store.config.llm)
    context = ExecutionContext(policy_snapshot_id=commit, seed=3, training=True)
    answers = [
        alone(work.play, place, world, code, commit, case.model_dump_json(), context.model_dump_json())
        for code in (our_code(store), our_code(store), "other/1")
    ]
    assert (answers[2].kind, "other code of order-desk" in answers[2].text) == ("error", True)
    assert answers[0] == answers[1]
    assert answers[0].kind == ""
    made = Rollout.model_validate_json(answers[0].text)
    assert (made.case.id, made.policy_snapshot_id) == (case.id, commit)


def our_code(store) -> str:
    return world_of(store.config.environment, store.config.llm).environment.code


def test_what_goes_wrong_is_an_answer(store):
    case = Case(name="x", rubric={"name": "r"}).model_dump_json()
    place = work.Place(str(store.repo.place / "nowhere"), "", store.config)
    world = work.world_text(EnvironmentSettings("nope"), LlmSettings())
    context = ExecutionContext(policy_snapshot_id="1" * 40).model_dump_json()
    answer = alone(work.play, place, world, "", "1" * 40, case, context)
    assert answer.kind == "error"
    assert "no environment is called 'nope'" in str(work.raised(answer))


def test_an_agent_that_ends_the_process_is_an_answer_too(store, monkeypatch):
    class Quitter:
        name, code = "quitter", "1"

        def executor(self):
            return self

        async def execute(self, *_):
            sys.exit(0)

    monkeypatch.setattr(work, "_world", lambda _: Quitter())
    case = Case(name="x", rubric={"name": "r"}).model_dump_json()
    commit = store.resolve("main")
    place = work.Place(str(store.repo.place), store.prefix, store.config)
    context = ExecutionContext(policy_snapshot_id=commit).model_dump_json()
    answer = alone(work.play, place, "", "1", commit, case, context)
    assert (answer.kind, answer.text) == ("error", "SystemExit: 0")


@pytest.mark.parametrize(
    ("kind", "error"),
    [("unscored", UnscoredError), ("nothing", NothingToNoteError), ("error", ComponentError)],
)
def test_errors_keep_their_kind_on_the_way(kind, error):
    raised = work.raised(work.Answer("why", kind))
    assert (type(raised), str(raised)) == (error, "why")


def test_settings_travel_without_a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    text = work.world_text(EnvironmentSettings("order-desk", {"seed": 7}), LlmSettings(model="m"))
    name, options, llm = json.loads(text)
    assert (name, options, llm["model"]) == ("order-desk", {"seed": 7}, "m")
    assert "secret" not in text


def test_notes_and_edits_are_those_of_the_learner():
    made = rollout("a")
    scored = RubricEvaluation(passed=True, score=1.0)
    mine = asyncio.run(OfflineExtractor().extract(made, scored))
    answer = alone(work.extract, made.model_dump_json(), scored.model_dump_json())
    assert json.loads(answer.text) == [note.model_dump(mode="json") for note in mine]
    policy = ExperienceSet(root_uri="experiences").model_dump_json()
    edited = alone(work.edit, "[]", policy, ExperienceGradientContext().model_dump_json())
    assert EditResult.model_validate_json(edited.text).gradients == ()
