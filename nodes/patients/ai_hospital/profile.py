"""The author of the patient's profile: its personality and its opening words (AI Hospital, section 2.4)."""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases.case import PatientRecord
from cases.strict import Strict
from cases.text.record_sentences import occupation_of
from cases.vocabulary import Language
from llm import Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Presentation, Turn
from prompts import age, load_words


class ProfileState(TypedDict, total=False):
    """The author's view of the state: the patient's own record."""

    presentation: Presentation
    patient_record: PatientRecord


class Profile(Strict):
    """Who the patient is in this run of the case, made once before the dialogue."""

    personality: str = Field(
        min_length=1, description="Way of life, temper and manner of speaking, in the second person."
    )
    statement: str = Field(min_length=1, description="The patient's first words to the doctor.")


@dataclass(frozen=True)
class ProfileView:
    """What the profile is made from."""

    record: PatientRecord
    language: Language


def plain_profile(view: ProfileView) -> Profile:
    """Offline: age, sex and occupation as recorded, a plain way of speaking, and the complaint as opening words."""
    record, words = view.record, load_words("ai_hospital/words", view.language)["profile"]
    occupation = occupation_of(record)
    years = record.age_years
    age_text = "" if years is None else age(years, words["years"], words["months"], words["days"])
    person = words["joint"].join(part for part in (age_text, words[record.sex] if record.sex else "") if part)
    personality = words["personality"].format(
        about=words["about"].format(person) if person else "",
        work=words["work"].format(occupation) if occupation else "",
    )
    return Profile(personality=personality, statement=words["statement"].format(record.chief_complaint.rstrip(".。")))


profile_author = Role("patient_profile", "ai_hospital", "ai_hospital/profile", Profile, offline=plain_profile)


@node(asks=profile_author)
async def introduce(state: ProfileState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Ask for the profile, and let the patient open the dialogue with its statement."""
    language = state["presentation"].language
    view = ProfileView(record=state["patient_record"], language=runtime.context.prompt_language(language))
    profile = await ask(profile_author, view, runtime.context, language=language)
    return {"profile": profile, "dialogue": [Turn(speaker="patient", addressee="doctor", text=profile.statement)]}
