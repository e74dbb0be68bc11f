"""Interview planning: ten sections of steps, filled with the prepared knowledge (CliniChat, Figure 4).

The plan is data written by people, which the model only carries out. Filling it is deterministic; a step whose
knowledge is missing is left out, so that no placeholder can remain.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases.notes import Note
from cases.strict import Strict
from cases.text.prose import phrase
from cases.vocabulary import Language, data_file, normalise, spelled
from nodes.context import Context
from nodes.node import node
from nodes.reconstruction.exchanges import SectionName
from nodes.reconstruction.knowledge import ClinicalKnowledge
from nodes.reconstruction.naming import names_disease
from nodes.reconstruction.role_setting import RoleSetting
from prompts import load_words, mark

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PRONOUN: dict[Any, int] = {"male": 1, "female": 2, None: 3}
_FINDINGS_AT_ONCE = 4  # maximum sentences of one turn, to stay easy to follow
_LONGEST_TURN = 45  # words
_LISTED = 2  # maximum symptoms or conditions in one question

Techniques = Literal["open", "closed", "reassure", "inform"]


class PlannedStep(Strict):
    """One step: what the physician says or asks, and what the patient is to ask then, if that is planned."""

    name: str
    technique: Techniques
    physician: str
    patient: str = ""


class PlannedSection(Strict):
    """One section of the interview with its steps, all words filled in."""

    name: SectionName
    title: str
    steps: list[PlannedStep] = Field(default_factory=list)


class PlanState(TypedDict, total=False):
    """The input of the plan."""

    note: Note
    roles: RoleSetting
    knowledge: ClinicalKnowledge


@node
async def plan_interview(state: PlanState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Plan the whole interview for this patient; no model calls."""
    note = state["note"]
    language = runtime.context.prompt_language(note.language)
    ours = runtime.context.plan == "ours"
    return {"plan": fill_plan(note, state["roles"], state["knowledge"], language, ours=ours)}


def fill_plan(
    note: Note, roles: RoleSetting, knowledge: ClinicalKnowledge, language: Language, *, ours: bool = True
) -> list[PlannedSection]:
    """Return the plan of one interview; ``ours`` includes the steps that the paper's plan does not have."""
    single, lists = _values(note, knowledge, language)
    words = _words(language)
    return [
        PlannedSection(
            name=section["name"],
            title=words[section["name"]]["title"],
            steps=[
                filled
                for step in section["step"]
                if ours or not step.get("ours") or single.get(step.get("stands_for", ""))
                for filled in _filled_steps(step, words[section["name"]][step["name"]], single, lists, roles, language)
            ],
        )
        for section in plan_sections()
    ]


def opening_words(roles: RoleSetting, language: Language) -> str:
    """Return the patient's greeting, since chat dialogues begin with the user."""
    opening = "opening" if roles.speaker == "self" else "opening_family"
    return _addressed(_words(language)[opening], roles, language, mine=True)


def farewell_words(language: Language) -> str:
    """Return the physician's last words."""
    return str(_words(language)["farewell"])


def plan_sections() -> list[dict[str, Any]]:
    """Return the sections and their steps, without their wording."""
    sections: list[dict[str, Any]] = data_file("nodes.reconstruction", "interview_plan")["section"]
    return sections


def _words(language: Language) -> Mapping[str, Any]:
    return load_words("reconstruction/interview_plan", language)


def _filled_steps(
    step: Mapping[str, Any],
    wording: Mapping[str, str],
    single: Mapping[str, str],
    lists: Mapping[str, list[str]],
    roles: RoleSetting,
    language: Language,
) -> Iterator[PlannedStep]:
    if single.get(step.get("unless", "")) or ("needs" in step and not single.get(step["needs"])):
        return
    entries = lists[step["each"]] if "each" in step else [""]
    for number, entry in enumerate(entries):
        first = number == 0 or "next" not in wording
        words = _addressed(wording["says" if first else "next"], roles, language)
        values = {name: single.get(name) or entry for name in _PLACEHOLDER.findall(words)}
        if all(values.values()):
            yield PlannedStep(
                name=step["name"],
                technique=step["technique"],
                physician=_PLACEHOLDER.sub(lambda match, values=values: values[match[1]], words),  # type: ignore[misc]
                patient=wording.get("reply" if first else "next_reply", ""),
            )


def _addressed(words: str, roles: RoleSetting, language: Language, mine: bool = False) -> str:
    """Fill in the forms of address: to the patient, or about the family's child or relative."""
    plan = _words(language)
    form = 0 if roles.speaker == "self" else _PRONOUN[roles.sex]
    kin = plan["kin"].get(roles.speaker, ["", ""])
    for token, *forms in plan["address"]:
        words = words.replace(token, forms[form])
        words = words.replace(f"{token[0]}{token[1].upper()}{token[2:]}", forms[form][:1].upper() + forms[form][1:])
    return words.replace("{kin}", kin[1 if mine else 0])


def _values(
    note: Note, knowledge: ClinicalKnowledge, language: Language
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the value of each placeholder, and the lists of repeated steps; "none mentioned" etc. is empty."""
    sections, diagnostic, disease = note.sections, knowledge.diagnostic, knowledge.disease
    risks = disease.risk_factors
    described = ((phrase(sign.name), phrase(sign.description)) for sign in disease.signs_and_symptoms)
    systems = (
        (phrase(check.system), _enumerated(_meaningful(check.symptoms), language))
        for check in disease.review_of_systems
    )
    suspected = diagnostic.most_likely_disease

    def unrevealing(entries: Any) -> list[str]:
        return _without_disease(_meaningful(entries), suspected)

    signs = unrevealing(mark("clause", language).join(filter(None, parts)) for parts in described)
    names = unrevealing(sign.name for sign in disease.signs_and_symptoms)
    complaint = normalise("\n".join(sections.get("chief_complaint", ())))
    unmentioned = [name for name in names if not spelled(normalise(name)).search(complaint)]
    relatives = _meaningful(risks.family_history)
    family = unrevealing(relatives)
    examined = _without_disease(sections.get("physical_examination", ()), suspected)
    tested = _without_disease(sections.get("test_results", ()), suspected)
    complains = any(sections.get(section) for section in ("chief_complaint", "present_illness"))
    single = {
        "found": "yes" if examined or tested else "",
        "complaint": "yes" if complains else "",
        "known": "yes" if complains or phrase(suspected) else "",
        "disease": phrase(suspected),
        "basis": diagnostic.diagnosis_basis.strip() if phrase(diagnostic.diagnosis_basis) else "",
        "information": diagnostic.basic_information.strip() if phrase(diagnostic.basic_information) else "",
        "differentials": _enumerated(_meaningful(diagnostic.differential_diagnosis), language),
        "tests": _enumerated(_meaningful(diagnostic.confirmation_tests), language),
        "symptoms": _enumerated(unmentioned[:_LISTED], language),
        "family_unsaid": "yes" if relatives and not family else "",
        "conditions": _enumerated(unrevealing(disease.associated_conditions)[:_LISTED], language),
    }
    return single, {
        "signs": signs,
        "inquiries": unrevealing(question.rstrip("?？ ") for question in disease.customized_inquiry),
        "family_factors": family,
        "other_factors": unrevealing(
            [*risks.lifestyle, *risks.living_environment, *risks.exposure, *risks.mental_health]
        ),
        "systems": unrevealing(mark("clause", language).join(filter(None, parts)) for parts in systems),
        "findings": _grouped(examined, language),
        "results": _grouped(tested, language),
    }


def _meaningful(entries: Any) -> list[str]:
    return list(dict.fromkeys(text for entry in entries if (text := phrase(entry))))


def _without_disease(lines: Iterable[str], disease: str) -> list[str]:
    """Drop what names the disease, which the physician reveals later."""
    return [line for line in lines if not names_disease(line, [disease])]


def _grouped(lines: list[str], language: Language) -> list[str]:
    """Group findings into turns that are easy to follow."""
    groups: list[list[str]] = []
    for line in [part for finding in lines for part in _portions(finding, language)]:
        full = not groups or len(groups[-1]) == _FINDINGS_AT_ONCE or _length([*groups[-1], line]) > _LONGEST_TURN
        groups.append([line]) if full else groups[-1].append(line)
    return [mark("space", language).join(group) for group in groups]


def _portions(line: str, language: Language) -> list[str]:
    if _length([line]) <= _LONGEST_TURN:
        return [line]
    portions: list[str] = []
    for part in re.split(r"(?<=[;；])\s*", line):
        fits = portions and _length([portions[-1], part]) <= _LONGEST_TURN
        portions[-1:] = [f"{portions[-1]}{mark('space', language)}{part}"] if fits else [*portions[-1:], part]
    return [part.rstrip(";； ") + ("" if part.endswith((".", "。")) else mark("stop", language)) for part in portions]


def _length(lines: list[str]) -> int:
    return sum(len(re.findall(r"[\w/.-]+", re.sub(r"[\u4e00-\u9fff]{2}", " x ", line))) for line in lines)


def _enumerated(items: list[str], language: Language) -> str:
    *others, last = items or [""]
    return f"{mark('listed', language).join(others)}{mark('last', language)}{last}" if others else last
