"""What of a case and of a policy goes over the wire, and what is made of it on the other side. Pure.

A service lets agents work in its process, so it is sent no label: of a case only what is on a list. Its own
cases it knows by their names; `case_id` tells whether both sides mean the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Case
from trainer.remote.protocol import PINNED, CaseJson, PolicyJson, PolicySetJson
from trainer.suite import LABELS as TRAINING_LABELS
from xpstore.errors import DocumentError, UsageError
from xpstore.experience import Experience, ExperienceSet, experience_uri
from xpstore.frontmatter import dump, locate
from xpstore.names import check_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic import JsonValue

SCENE = frozenset({"dataset", "domain", "source", "split", "task_id", "task_no", "user_query"})
"""Fields that say which case it is and what is asked for (RFC §15.6.1): they are always sent."""
LABELS = TRAINING_LABELS | {
    "answer",
    "evaluation",
    "evaluation_criteria",
    "expected",
    "expected_answer",
    "expected_output",
    "gold",
    "gold_actions",
    "ground_truth",
    "label",
    "labels",
    "reference_answer",
    "solution",
}
"""Fields of inputs and metadata that say how a case is to come out: only who names one is sent it."""


def unlabelled(case: Case) -> Case:
    """Return the case without what says how it is to come out."""
    return Case(
        name=case.name,
        task_signature=case.task_signature,
        input=_without_labels(case.input),
        rubric=case.rubric.model_copy(
            update={
                "metadata": _without_labels(case.rubric.metadata),
                "criteria": tuple(
                    c.model_copy(update={"metadata": _without_labels(c.metadata)})
                    for c in case.rubric.criteria
                ),
            }
        ),
        metadata=_without_labels(case.metadata),
    )


def case_id(case: Case) -> str:
    """Return the id by which both sides name a case, whatever labels either of them has."""
    return unlabelled(case).id


def sent_case(case: Case, wanted: Collection[str], told: Collection[str] | None = None) -> CaseJson:
    """Return what a service is sent of a case: name, signature, rubric, and the fields on the list.

    The list is `SCENE` and what the service wants, without labels; or, instead, the fields that the user has
    told, labels or not.
    """
    fields = SCENE | (set(wanted) - LABELS) if told is None else set(told)
    rubric = unlabelled(case).rubric
    plain = rubric.model_copy(
        update={
            "metadata": {},
            "criteria": tuple(c.model_copy(update={"metadata": {}}) for c in rubric.criteria),
        }
    )
    return CaseJson.of(
        Case(
            name=case.name,
            task_signature=case.task_signature,
            input={key: value for key, value in case.input.items() if key in fields},
            rubric=plain,
            metadata={key: value for key, value in case.metadata.items() if key in SCENE},
        )
    )


def is_of(returned: Case, sent: Case) -> bool:
    """Say whether a case that came back is the one that was sent; the service may know more of it."""
    if returned.name != sent.name or returned.task_signature not in {sent.task_signature, ""}:
        return False
    return all(returned.input[key] == value for key, value in sent.input.items() if key in returned.input)


def policy_set_json(policy_set: ExperienceSet, root_uri: str = "") -> PolicySetJson:
    """Return the experiences as they are sent, all of them; `root_uri` instead of the set's own."""
    return PolicySetJson(
        root_uri=root_uri or policy_set.root_uri,
        policies=tuple(map(_policy_json, policy_set.policies)),
        metadata={PINNED: True},
    )


def experience_set(sent: PolicySetJson, snapshot_id: str) -> ExperienceSet:
    """Return the experiences that were sent, as the store of the client has them.

    Raises UsageError for a name that no experience has, for two of one name, and for fields that no file has.
    """
    policies = tuple(map(_experience, sent.policies))
    names = [policy.name for policy in policies]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two experiences are called {twice!r}")
    return ExperienceSet(root_uri=sent.root_uri, policies=policies, snapshot_id=snapshot_id)


def _without_labels(fields: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: value for key, value in fields.items() if key not in LABELS}


def _policy_json(experience: Experience) -> PolicyJson:
    text = experience.text
    try:
        content, status, front = experience.content, experience.status, experience.metadata
    except DocumentError:  # no agent reads it, here or there
        content, status, front = text, "draft", {}
    return PolicyJson(
        name=experience.name,
        uri=experience_uri(experience.name),
        version=experience.version or 0,
        status=status,
        content=content,
        metadata=front,
        front_matter=text.removesuffix(content),
    )


def _experience(policy: PolicyJson) -> Experience:
    check_name(policy.name)
    is_ours = policy.front_matter is not None
    text = f"{policy.front_matter}{policy.content}" if is_ours else _written(policy)
    return Experience.read(policy.name, text, policy.version or None)


def _written(policy: PolicyJson) -> str:
    """Return the file of an experience that another client sent, in fields or whole as `content`."""
    if locate(policy.content) is not None:
        return policy.content
    return f"---\n{dump({**policy.metadata, 'status': policy.status})}---\n{policy.content}"
