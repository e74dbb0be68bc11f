"""Interactive role-play, the second comparison: physician and patient take turns, both with the note (Figure 11)."""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from cases.notes import Note
from cases.strict import Strict
from cases.vocabulary import Language
from llm import Role, Speech, ask
from nodes.context import Context
from nodes.node import node
from nodes.offline.doctor_actions import kind_of
from nodes.reconstruction.dialogue_writer import short_script
from nodes.reconstruction.exchanges import Exchange, PhysicianUtterance, Utterance
from nodes.reconstruction.plan import farewell_words
from nodes.reconstruction.role_setting import RoleSetting, roles_of
from nodes.reconstruction.script import answer_to
from nodes.state.chart import Ended

_AT_ONCE = (3, 6, 12, 24, 48)  # sentences in a turn of the script; the more, the fewer the turns


class PlayState(TypedDict, total=False):
    """The note and the exchanges so far; ``dialogue_ended`` is set with the last turn of the physician, ``spoken``."""

    note: Note
    roles: RoleSetting
    exchanges: list[Exchange]
    spoken: str
    dialogue_ended: Ended


class PhysicianTurn(Strict):
    """What the physician says."""

    text: PhysicianUtterance
    finished: bool


class PatientTurn(Strict):
    """What the patient, or the family, says."""

    text: Utterance


@dataclass(frozen=True)
class PhysicianView:
    """What the physician of the role-play sees."""

    note: Note
    exchanges: list[Exchange]
    turns_left: int
    language: Language


@dataclass(frozen=True)
class PatientView(PhysicianView):
    """What the patient of the role-play sees: also who speaks, and the physician's last words."""

    roles: RoleSetting
    spoken: str
    words_alone: bool = False  # whether a model sees these words alone


def next_of_the_script(view: PhysicianView) -> PhysicianTurn:
    """Offline: return the next exchange of the script that fits the turns."""
    planned, done = _script_of(view), len(view.exchanges)
    if done < len(planned):
        return PhysicianTurn(text=planned[done].physician, finished=False)
    return PhysicianTurn(text=farewell_words(view.language), finished=True)


def reply_of_the_script(view: PatientView) -> PatientTurn:
    """Offline: reply as the script does to these words; otherwise with a matching sentence of the note."""
    for exchange in _script_of(view):
        if exchange.physician == view.spoken:
            return PatientTurn(text=exchange.patient)
    heard = [exchange.patient for exchange in view.exchanges]
    disease = view.note.diseases[0] if view.note.diseases else ""
    return PatientTurn(text=answer_to(view.spoken, view.note, view.roles, disease, heard))


def _script_of(view: PhysicianView) -> list[Exchange]:
    """Return the script with as short turns as fit all of it before the farewell; cut off if none do."""
    turns = len(view.exchanges) + view.turns_left - 1
    planned: list[Exchange] = []
    for at_once in _AT_ONCE:
        if len(planned := short_script(view.note, at_once)) <= turns:
            break
    return planned[:turns]


def in_plain_words(view: PhysicianView, words: str) -> PhysicianTurn:
    """Read plain words as the physician's turn; a farewell ends the dialogue."""
    return PhysicianTurn(text=words, finished=kind_of(words, view.language) == "conclusion")


said = Speech(None, in_plain_words)
physician = Role("doctor", "reconstruction", "reconstruction/physician", PhysicianTurn, next_of_the_script, speech=said)
replied = Speech.of_text(PatientTurn, lambda view: view.spoken)
patient = Role("patient", "reconstruction", "reconstruction/patient", PatientTurn, reply_of_the_script, speech=replied)


@node(asks=physician)
async def physician_speaks(state: PlayState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Take the physician's next turn; it is the last if the physician ends, or the turns are used up."""
    context, note, exchanges = runtime.context, state["note"], state["exchanges"]
    left = context.max_turns - len(exchanges)
    view = PhysicianView(note, exchanges, left, context.prompt_language(note.language))
    turn = await ask(physician, view, context, language=note.language, place=f"turn{len(exchanges)}")
    concluded = turn.finished and bool(exchanges)  # the patient must have replied
    ended: Ended = "concluded" if concluded else "turn_limit" if left == 1 else ""
    return {"spoken": turn.text, "dialogue_ended": ended}


@node(asks=patient)
async def patient_replies(state: PlayState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Take the patient's reply."""
    context, note, exchanges = runtime.context, state["note"], state["exchanges"]
    roles = state.get("roles") or roles_of(note)
    words_alone = context.reply_context == "words"
    language, left = context.prompt_language(note.language), context.max_turns - len(exchanges)
    view = PatientView(note, exchanges, left, language, roles, state["spoken"], words_alone)
    turn = await ask(patient, view, context, language=note.language, place=f"turn{len(exchanges)}")
    return {"exchanges": [*exchanges, Exchange(physician=state["spoken"], patient=turn.text)]}
