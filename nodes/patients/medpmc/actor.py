"""The patient-actor: puts the plain patient's words into the manner of a persona (Med-PMC, section 3.2.3).

It adds manner and no facts: a rewriting that loses or adds a number, a denial or a medical term is refused, and after
the repairs the plain words are said as they are. The refusal stands in the trace, as the error of the actor's call.
"""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from cases.text.fact_preservation import changes
from cases.vocabulary import Language
from llm import Role, Speech
from llm.errors import AnswerError
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.patients.medpmc.personas import Persona, profession_of
from nodes.state.chart import Presentation
from nodes.state.patient_side import HeardState


class ActorState(HeardState, total=False):
    """The actor's view of the state: who the patient is, and the plain words; no record, so nothing to add from."""


class Rewriting(Strict):
    """The words in the persona's manner."""

    text: str = Field(min_length=1, description="Every fact of the plain words, and none besides.")


@dataclass(frozen=True)
class ActorView:
    """What the actor sees."""

    plain: str
    persona: Persona
    language: Language


def with_manners(view: ActorView) -> Rewriting:
    """Offline: the plain words as they are, with the persona's manner around them."""
    return Rewriting(text=view.persona.in_manner(view.plain, view.language))


def keeps_the_facts(view: ActorView, answer: Rewriting) -> str | None:
    """What the rewriting loses or adds, if anything."""
    changed = changes(view.plain, answer.text, view.language)
    return f"the facts are not those of the plain words ({changed})" if changed else None


actor = Role(
    "actor",
    "medpmc",
    "medpmc/actor",
    Rewriting,
    offline=with_manners,
    speech=Speech.of_text(Rewriting),
    check=keeps_the_facts,
)


@node
async def act(state: ActorState, runtime: Runtime[Context]) -> dict[str, Any]:
    """The patient's last words, said in the persona's manner; the plain ones are kept beside them."""
    context, presentation, dialogue = runtime.context, state["presentation"], state["dialogue"]
    plain = dialogue[-1].text
    view = ActorView(
        plain=plain,
        persona=persona_of(presentation, context),
        language=context.language or presentation.language,
    )
    try:
        said = (await ask_in_turn(actor, view, state, context)).text
    except AnswerError:
        said = plain
    return {"dialogue": [*dialogue[:-1], dialogue[-1].model_copy(update={"text": said, "plain": plain})]}


def persona_of(presentation: Presentation, context: Context) -> Persona:
    """Who the patient is played as: the recorded sex, and the set or else the recorded profession."""
    profession = context.patient_profession
    if profession == "record":
        profession = profession_of(presentation.occupation, presentation.language)
    return Persona(sex=presentation.sex, profession=profession)
