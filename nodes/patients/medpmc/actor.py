"""The patient-actor: puts the plain patient's words into the manner of a persona (Med-PMC, section 3.2.3).

It must not change the facts: a rewriting that loses or adds a number, a denial or a medical term is rejected. If the
repaired answers are rejected too, the plain words are used, and the trace has the rejection as the error of the call.
"""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from cases.text.fact_preservation import changes
from cases.text.words import rules_of
from cases.vocabulary import Language
from llm import Role, Speech
from llm.errors import AnswerError
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.patients.medpmc.personas import Persona, Profession, profession_of
from nodes.state.chart import Presentation
from nodes.state.patient_side import HeardState

_ROOM: dict[str, int] = {"en": 12, "zh": 20}  # words or characters that a manner may always add


class ActorState(HeardState, total=False):
    """The actor's view of the state: who the patient is, and the plain words, without the record."""

    profession: Profession


class Rewriting(Strict):
    """The words in the persona's manner."""

    text: str = Field(min_length=1, description="Every fact of the plain words, and no other.")


@dataclass(frozen=True)
class ActorView:
    """What the actor sees."""

    plain: str
    persona: Persona
    language: Language
    most: int  # the most words, or Chinese characters, of the rewriting
    turn: int  # the number of the patient's earlier turns


def with_manners(view: ActorView) -> Rewriting:
    """Offline: add phrases in the persona's manner to the unchanged words."""
    return Rewriting(text=view.persona.in_manner(view.plain, view.language, view.turn))


def keeps_the_facts(view: ActorView, answer: Rewriting) -> str | None:
    """Return what is wrong if the rewriting changes facts or is too long, else None."""
    if changed := changes(view.plain, answer.text, view.language):
        return f"the facts are not those of the plain words ({changed.shown(view.language)})"
    length = _length(answer.text, view.language)
    return f"it has {length} words; at most {view.most} are allowed" if length > view.most else None


def _length(text: str, language: Language) -> int:
    return len("".join(text.split()) if language == "zh" else text.split())


def most_words(plain: str, language: Language, longer: bool = True) -> int:
    """Return the most words of a rewriting: half as many again and at least a few more, or no more.

    Med-PMC allows no more words than the plain ones (Table 22), which leaves no room for a manner: "No." stays "No.".
    """
    length = _length(plain, language)
    return length + longer * max(_ROOM[rules_of(language)], length // 2)


spoken = Speech.of_text(Rewriting)
actor = Role("actor", "medpmc", "medpmc/actor", Rewriting, with_manners, speech=spoken, check=keeps_the_facts)


@node(asks=actor)
async def act(state: ActorState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Rewrite the patient's last turn in the persona's manner; the plain words are kept in ``plain``."""
    context, presentation, dialogue = runtime.context, state["presentation"], state["dialogue"]
    language = context.prompt_language(presentation.language)
    plain = dialogue[-1].text
    view = ActorView(
        plain=plain,
        persona=persona_of(presentation, context, state.get("profession")),
        language=language,
        most=most_words(plain, language, context.rewriting == "half_longer"),
        turn=sum(turn.speaker == "patient" for turn in dialogue[:-1]),
    )
    try:
        text = (await ask_in_turn(actor, view, state, context)).text
    except AnswerError:
        text = plain
    return {"dialogue": [*dialogue[:-1], dialogue[-1].model_copy(update={"text": text, "plain": plain})]}


def persona_of(presentation: Presentation, context: Context, drawn: Profession | None = None) -> Persona:
    """Return the patient's persona: the recorded sex, and the profession as drawn, set or else recorded."""
    profession = context.patient_profession if drawn is None else drawn
    if profession in ("record", "drawn"):
        profession = profession_of(presentation.occupation, presentation.language)
    return Persona(sex=presentation.sex, profession=profession)
