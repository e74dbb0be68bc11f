"""The author of the patient's profile: who this patient is and how the patient opens (AI Hospital, section 2.4)."""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from cases.case import PatientRecord
from cases.vocabulary import Language
from llm import Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Presentation, Turn


class ProfileState(TypedDict, total=False):
    """The author's view of the state: the patient's own record."""

    presentation: Presentation
    patient_record: PatientRecord


class Profile(BaseModel):
    """Who the patient is in this run of the case, made once before the dialogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    """Offline: age, sex and occupation as recorded, a plain way of speaking, and the complaint as the first words."""
    record, complaint = view.record, view.record.chief_complaint.rstrip(".。")
    years = record.age_years
    if view.language == "zh":
        age = "" if years is None else f"{years:.0f}岁" if years >= 2 else f"{years * 12:.0f}个月大"
        person = "，".join(part for part in (age, {"male": "男", "female": "女"}.get(record.sex or "", "")) if part)
        work = f"，职业是{record.occupation}" if record.occupation else ""
        personality = f"你是一名患者{f'（{person}）' if person else ''}{work}。你不懂医学术语，说话简短直接。"
        return Profile(personality=personality, statement=f"医生您好，我的情况是：{complaint}。")
    age = "" if years is None else f"{years:.0f}-year-old " if years >= 2 else f"{years * 12:.0f}-month-old "
    work = f", by occupation: {record.occupation}" if record.occupation else ""
    personality = (
        f"You are a {age}{f'{record.sex} ' if record.sex else ''}patient{work}. "
        "You know no medical terms; you speak briefly and to the point."
    )
    return Profile(personality=personality, statement=f"Hello, doctor. This is why I have come: {complaint}.")


profile_author = Role("patient_profile", "ai_hospital", "ai_hospital/profile", Profile, offline=plain_profile)


@node
async def introduce(state: ProfileState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Make the profile, and let the patient open the dialogue with its statement."""
    language = state["presentation"].language
    profile = await ask(
        profile_author,
        ProfileView(record=state["patient_record"], language=runtime.context.language or language),
        runtime.context,
        language=language,
    )
    return {
        "profile": profile,
        "dialogue": [Turn(speaker="patient", addressee="doctor", text=profile.statement)],
    }
