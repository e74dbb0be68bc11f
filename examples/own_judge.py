"""A custom metric that asks a judge: how much of the treatment is justified by the case?

    wardround run --plugin examples/own_judge.py --limit 2
    wardround run --plugin examples/own_judge.py --models treatment_judge=openai:gpt-4o-mini

The prompts are in `own_judge_prompts/LANGUAGE/examples/treatment.md`, one for each language of the cases.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

import wardround as wr

wr.add_prompts(Path(__file__).with_name("own_judge_prompts"))


class Verdict(BaseModel):
    """What is given without a reason."""

    needless: list[str]


@dataclass(frozen=True)
class View:
    """All that the judge sees; its fields are the variables of the prompt."""

    diagnosis: list[str]
    treatment: list[str]
    reference: list[str]


def beside_the_key(view: View) -> Verdict:
    """Without a model: the treatments that the key does not name."""
    return Verdict(needless=[item for item in view.treatment if item not in view.reference])


treatment_judge = wr.Role("treatment_judge", "evaluation", "examples/treatment", Verdict, offline=beside_the_key)


@wr.metric("reasoned", suite="medchain")
async def reasoned(case: wr.Case, answers: wr.Answers, settings: wr.ModelSettings) -> float | None:
    """The share of justified treatments, in [0, 1]; higher is better; None if the key has no treatments."""
    if not case.key.treatment_items:
        return None
    if not answers.treatment:
        return 0.0
    view = View(case.key.diagnosis, answers.treatment, case.key.treatment_items)
    verdict = await wr.ask(treatment_judge, view, settings, language=case.language, place="treatment")
    return 1 - len({*answers.treatment} & {*verdict.needless}) / len({*answers.treatment})
