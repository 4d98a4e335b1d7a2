"""Reports as a gate makes them, with whatever text a hostile store has."""

from __future__ import annotations

from trainer.gate.decide import CaseChange, judge
from trainer.gate.report import Cost, Flip, GateReport, Lesson, Page, Quotation
from xpstore.evaluation import TrialFailure
from xpstore.gate_record import GateRecord
from xpstore.settings import GatePolicy

NASTY = "a|b `c` **d** <img src=x onerror=alert(1)> @everyone [x](http://e.example) \x1b[2J\u202e\x00 #1 -->"


def changes(*rows: tuple[int, int], name: str = "case") -> tuple[CaseChange, ...]:
    return tuple(
        CaseChange(case=f"c{n}", name=f"{name} {n}", n=4, baseline=a, candidate=b)
        for n, (a, b) in enumerate(rows)
    )


def report_of(
    decision: str = "accept", text: str = "harmless", lessons: int = 1, flips: int = 2, url: str = ""
) -> GateReport:
    """Return a report in which every text that a store holds is `text`."""
    policy = GatePolicy()
    judged = judge(changes(*[(1, 2)] * 12), 4, policy)
    record = GateRecord.model_validate(
        {
            "candidate": "a" * 40,
            "against": "b" * 40,
            "experiences": "c" * 40,
            "baseline": "d" * 40,
            "suite": "gate",
            "suite_digest": "e" * 20,
            "trials": 4,
            "policy": policy,
            "evaluations": ("evaluations/aa/x.json", "evaluations/bb/y.json"),
            "decision": decision,
            "progress": decision == "accept",
            "reason": text,
        }
    )
    failure = TrialFailure(case="c1", name=text, trial=1, seed=1, stage="execute", error=text)
    return GateReport(
        branch="train/1",
        main="main",
        how="fast-forward",
        record=record,
        path="gates/ab/abc.json",
        measured=True,
        needed=None,
        figures=judged.figures,
        flips=tuple(
            Flip(name=f"{text} {n}", baseline="+--?", candidate="+++-", difference=0.25) for n in range(flips)
        ),
        pages=(Page(name=text[:60], change="added"),),
        suspects=(text,),
        lessons=tuple(
            Lesson(commit=f"{n:040x}", author=text, subject=text, body=f"{text}\n" * 80, plan_ids=("p",))
            for n in range(lessons)
        ),
        quotations=(Quotation(sentence=text, is_blatant=False),),
        unscored=(failure,),
        environment="desk",
        agent="clerk/1",
        model="",
        simulator="",
        code="1 x",
        cost=Cost(ran=10, reused=6, seconds=1.5),
        again="xp gate train/1",
        url=url,
        evidence_branch="xp/evidence",
        store="s1",
    )
