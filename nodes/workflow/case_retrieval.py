"""Case retrieval: refines the patient's words into a symptom description, and recalls similar cases by it."""

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.case import Case
from cases.strict import Strict
from cases.vocabulary import DEPARTMENTS, Language
from llm import ModelSettings, Role, ask
from llm.specs import OFFLINE
from llm.trace import RECALLED
from nodes.context import Context
from nodes.node import file_found, member, node
from nodes.offline.whole_picture import seen_whole
from nodes.state.chart import Findings
from nodes.workflow.stages import DIAGNOSIS, LEVEL1, Stage, read_chart
from prompts import with_full_stop
from retrieval import Memory, Neighbour, RememberedCase, describe_symptoms, open_memory


class SymptomDescription(Strict):
    """The symptoms by which similar cases are found."""

    # MedChain, B.3: about 70 Chinese characters, the key under which a case is remembered.

    symptoms: str = Field(min_length=1, description="The symptoms with site, character and duration, and nothing else.")


@dataclass(frozen=True)
class WordsView:
    """The words to refine, and their language."""

    words: str
    language: Language


def cut_to_symptoms(view: WordsView) -> SymptomDescription:
    """Offline: keep the clauses that state a symptom, up to the usual length; all words if none does."""
    return SymptomDescription(symptoms=describe_symptoms(view.words, language=view.language) or view.words)


refiner = Role("refiner", "memory", "medchain/refiner", SymptomDescription, offline=cut_to_symptoms)


def words_as_told(state: Findings) -> dict[str, Any]:
    """Search by the patient's own words if the description cannot be read."""
    return {"symptoms": read_chart(state, DIAGNOSIS.name, None).patients_words}


@member(words_as_told, asks=refiner)
async def refine(state: Findings, runtime: Runtime[Context]) -> dict[str, Any]:
    """Describe the symptoms that the patient has told so far."""
    chart = read_chart(state, DIAGNOSIS.name, runtime.context.language)
    words = WordsView(words=chart.patients_words, language=chart.presentation.language)
    again = state.get("dialogue") and state.get("symptoms")  # a patient's opening is no history yet
    place = "history" if again else "complaint"
    return {"symptoms": await described(words, runtime.context, place)}


async def described(words: WordsView, settings: ModelSettings, place: str) -> str:
    """Return the refiner's symptom description, by which new and remembered cases are compared (MedChain, B.3)."""
    return (await ask(refiner, words, settings, language=words.language, place=place)).symptoms


def recorded_words(case: Case) -> WordsView:
    """Return the words by which a case is remembered: its complaint and present illness."""
    texts = (case.patient.chief_complaint, case.patient.present_illness)
    return WordsView(" ".join(with_full_stop(text, case.language) for text in texts if text), case.language)


@node
async def recall(state: Findings, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Recall the nearest remembered cases for one stage; the trace records their ids and similarities.

    Nothing where retrieval is off, as in a plug-in's strategy that always goes this way.
    """
    context = runtime.context
    if not context.retrieval:
        return {"recalled": []}
    found = await neighbours_for(state, stage, context)
    shown = [
        {
            "case": neighbour.case.id,
            "similarity": round(neighbour.similarity, 4),
            "verified": neighbour.case.verified,
            "diagnosis": neighbour.case.diagnosis,
        }
        for neighbour in found
        if not neighbour.aside
    ]
    place = (f"visit{state.get('backtracks', 0)}", f"recalled{len(state.get('dialogue', []))}")
    content = {"symptoms": state["symptoms"], "cases": shown}
    return {"recalled": found, "trace": file_found(context, RECALLED, stage.name, place, content)}


async def neighbours_for(findings: Findings, stage: Stage, context: Context) -> list[Neighbour]:
    """Return the nearest remembered cases: of the department in charge, or of all before there is one.

    Where the department has too few, cases whose source names no department (AgentClinic's, MedQA's) fill up, and
    pseudo-cases only where there are too few verified ones of both.

    If some role has no model, further cases from all departments follow, for its offline rule.
    """
    found = await asyncio.to_thread(_search_memory, findings, stage, context)
    return found if context.personalized else [replace(near, case=near.case.impersonal()) for near in found]


def _search_memory(findings: Findings, stage: Stage, context: Context) -> list[Neighbour]:
    chart = read_chart(findings, stage.name, context.language)
    department = chart.department
    search = partial(
        memory_of(context).recall,
        findings["symptoms"],
        kin=findings.get("kin"),
        language=chart.presentation.language if context.recall_language == "case" else None,
    )
    grown = {"off": 0, "in_order": context.position or 0, "as_finished": None}[context.grow]  # 0: no pseudo-cases
    searched = department if department in DEPARTMENTS.names else None  # a free-text name has no memory
    found: list[Neighbour] = []
    for before in dict.fromkeys((0, grown)):  # verified cases, then pseudo-cases
        for shelf in (searched, "") if searched else (None,):
            if (missing := context.neighbours - len(found)) > 0:
                known = (findings["case_id"], *(near.case.id for near in found))
                found += search(shelf, before=before, exclude=known, k=missing)
    if OFFLINE in context.models.values() or "default" not in context.models:
        # The rules, too, meet pseudo-cases only where others are too few.
        seen = 0 if all(near.case.verified for near in found) else grown
        others = partial(search, before=seen, exclude=(findings["case_id"],))
        symptoms = findings["symptoms"] if stage.single else ""
        return seen_whole(chart, found, others, context.embedding, symptoms, with_clinics=stage is LEVEL1)
    return found


def memory_of(context: Context) -> Memory:
    """Return the run's case memory; opened once per process, as that reads files and may load a model."""
    return open_memory(context.memory, context.embedding).for_run(context.run)


async def add_to_memory(course: RememberedCase, context: Context) -> None:
    """Remember a finished case as a pseudo-case of the run."""
    await asyncio.to_thread(lambda: memory_of(context).add([course]))
