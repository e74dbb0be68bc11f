"""The doctor at the end of a consultation: writes the final report in five parts."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import NonEmpty, Strict
from cases.text.record_sentences import RecordSentence
from cases.text.sentences import sentences
from cases.vocabulary import Language, labels
from llm import Role, ask
from nodes.consultation.doctors_chart import chart_of_doctor
from nodes.context import Context
from nodes.node import node
from nodes.offline.group_words import is_undetermined, undetermined
from nodes.offline.own_words import in_own_words, voice_of
from nodes.offline.votes import Evidence, majority
from nodes.offline.whole_picture import results_told, seen_now, sorted_replies, with_results_told
from nodes.state.chart import Chart, Findings, labelled_results
from nodes.state.decisions import Diagnosis, Treatment
from nodes.state.stage import Recalled
from nodes.workflow.stages import DIAGNOSIS, TREATMENT
from prompts import load_words, mark, with_full_stop
from retrieval import Neighbour


class DoctorState(Findings, total=False):
    """A consulting doctor's view of the state: the findings, the similar cases, and the seat of an intern."""

    recalled: list[Neighbour]
    seat: int


class FinalReport(Strict):
    """What the doctor holds at the end of a consultation."""

    # Source: AI Hospital, section 2.5.

    symptoms: str = Field(description="The patient's symptoms and history, as far as they came up.")
    examinations: str = Field(description="The examinations that were done and what they showed.")
    diagnosis: list[NonEmpty] = Field(min_length=1, description="Diagnoses, the principal one first.")
    basis: str = Field(description="The symptoms and results that the diagnosis rests on.")
    treatment: str = Field(description="What is to be done.")


class CaseReport(Strict):
    """What the doctor holds at the end of a consultation, in the parts of a case report."""

    # Source: Med-PMC, Table 14.

    person: str = Field(description="Who the patient is.")
    present_illness: str = Field(description="The present illness, as far as it came up.")
    past_history: str = Field(description="Earlier illnesses, habits and family.")
    examinations: str = Field(description="The examinations that were done and what they showed.")
    diagnosis: list[NonEmpty] = Field(min_length=1, description="Diagnoses, the principal one first.")
    treatment: str = Field(description="What is to be done.")

    def in_five_parts(self) -> FinalReport:
        """Convert it to the form that is filed and scored: the first three parts as symptoms, an empty basis."""
        symptoms = "\n".join(filter(None, (self.person, self.present_illness, self.past_history)))
        rest = self.model_dump(include={"examinations", "diagnosis", "treatment"})
        return FinalReport(symptoms=symptoms, basis="", **rest)


@dataclass(frozen=True)
class ReportView:
    """What the reporting doctor sees."""

    chart: Chart
    neighbours: Sequence[Neighbour]
    form: str = "five_parts"
    seat: int = 0  # of an intern; offline rules differ by seat


def report_by_neighbours(view: ReportView) -> FinalReport:
    """Offline: report what was said and found, with diagnosis and treatment from the findings or similar cases.

    A diagnosis and treatment told in the dialogue are kept, even if other cases are recalled by its end.
    """
    chart, language = view.chart, view.chart.presentation.language
    full_chart = _as_found(chart)
    similar = seen_now(view.neighbours, full_chart)
    diagnosis = majority(Evidence(DIAGNOSIS, full_chart, similar, seat=view.seat))
    assert isinstance(diagnosis, Diagnosis)
    known = {*diagnosis.names, *(name for each in view.neighbours for name in each.case.diagnosis)}
    names, plan = told_already(chart, known) or (diagnosis.names, "")
    names = names or [undetermined(full_chart)]
    diagnosed = replace(full_chart, diagnosis=Diagnosis(names=names, basis=diagnosis.basis))
    options = TREATMENT.options(chart, Context())
    treatment = majority(Evidence(TREATMENT, diagnosed, similar, options, seat=view.seat))
    assert isinstance(treatment, Treatment)
    results = labelled_results({**chart.results, **chart.reports}, language)
    return FinalReport(
        symptoms=load_words("consultation/words", language)["doctor"]["reported"].format(_told_by(full_chart)),
        examinations="\n".join([*results, *results_told(chart)]),
        diagnosis=names,
        basis=diagnosis.basis,
        treatment=plan or mark("listed", language).join(labels(treatment.items, language)),
    )


def _as_found(chart: Chart) -> Chart:
    """Return the chart with the results told in the dialogue, and the complaint without its greeting."""
    entry, language = chart.presentation, chart.presentation.language
    greeting = load_words("ai_hospital/words", language)["profile"]["statement"].partition("{}")[0]
    opening = entry.chief_complaint.removeprefix(greeting)
    complaint = mark("space", language).join(_statements([opening], language)) or opening
    return replace(with_results_told(chart), presentation=entry.model_copy(update={"chief_complaint": complaint}))


def _told_by(chart: Chart) -> str:
    """Return what the patient told, as one text: complaint, present illness, replies, and what history is known."""
    entry, (talk, _) = chart.presentation, sorted_replies(chart)
    complaint = entry.chief_complaint.rstrip(".。")
    talk = [text for text in talk if not text.rstrip(".。").endswith(complaint)]  # the complaint again, with a greeting
    history = (entry.past_history, entry.personal_history, entry.family_history)
    told = _statements((entry.chief_complaint, entry.present_illness, *talk, *history), entry.language)
    as_recorded = RecordSentence("chief_complaint", entry.chief_complaint)
    own = in_own_words([as_recorded], voice_of(entry, entry.language))  # the complaint again, as the patient says it
    again = {*chain(*map(sentences, own))} - {*sentences(with_full_stop(entry.chief_complaint, entry.language))}
    once = [text for text in (with_full_stop(text, entry.language) for text in told) if text not in again]
    return mark("space", entry.language).join(once)


def _statements(texts: Iterable[str], language: Language) -> list[str]:
    """Return each sentence once, without questions, persona phrases and stock replies."""
    manners = load_words("medpmc/words", language)["manner"].values()
    phrases = [part for by_sex in manners for ways in by_sex.values() for way in ways for part in way]
    phrases += load_words("consultation/words", language)["patient"].values()
    phrases += load_words("saps/words", language).values()
    omitted = {*chain(*map(sentences, phrases))}
    unique: dict[str, str] = {}
    for sentence in (sentence for text in texts for sentence in sentences(text)):
        unique.setdefault(sentence.rstrip(".。"), sentence)
    return [sentence for sentence in unique.values() if sentence not in omitted and not sentence.endswith(("?", "？"))]


def told_already(chart: Chart, known: Collection[str] = ()) -> tuple[list[str], str] | None:
    """Return diagnoses (none if undetermined) and treatment as told by the offline doctor; None if nothing was told.

    A ``known`` name stays whole, also with a comma in it ("Chronic myeloid leukemia, chronic phase").
    """
    language = chart.presentation.language
    doctor, physician = load_words("consultation/words", language)["doctor"], load_words("clini_eval/words", language)
    wordings = (doctor["told"], doctor["concluded"], physician["physician"]["steps"][0])
    undetermined = (doctor["open"], physician["physician"]["unnamed"])
    for wording in (*wordings, *undetermined):
        # A name ends where the next words of ours begin: in a long text of a model, no later place is tried.
        named = re.sub(r"\\{(\w+)\\}(.+?)(?=\\{)", r"(?>(?P<\1>.+?)\2)", re.escape(wording))
        told = re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", named))
        for turn in chart.dialogue:
            if turn.speaker == "doctor" and (match := told.fullmatch(turn.text)):
                said = match.groupdict()
                names = said.get("diagnosis", said.get("disease", ""))
                listed = (
                    [names] if is_undetermined(names, language) else _listed(names, mark("listed", language), known)
                )
                return listed if names else [], said.get("treatment", "")
    return None


def _listed(text: str, comma: str, known: Collection[str]) -> list[str]:
    parts, names = text.split(comma), []
    while parts:
        whole = next((n for n in range(len(parts), 1, -1) if comma.join(parts[:n]) in known), 1)
        names.append(comma.join(parts[:whole]))
        parts = parts[whole:]
    return names


reporter = Role("doctor", "report", "consultation/report", FinalReport, offline=report_by_neighbours)


def case_report_by_neighbours(view: ReportView) -> CaseReport:
    """Offline: the same report; the rule cannot split what the patient told into parts."""
    five_parts = report_by_neighbours(view)
    rest = five_parts.model_dump(include={"examinations", "diagnosis", "treatment"})
    return CaseReport(person="", present_illness=five_parts.symptoms, past_history="", **rest)


@node(asks=reporter)
async def report(state: DoctorState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Ask the doctor for the final report on the findings of the consultation."""
    chart = chart_of_doctor(state, TREATMENT.name, runtime.context, consultation=True)
    recalled = Recalled(state.get("recalled", []), ("symptoms", *TREATMENT.recalls), chart.language)
    form = runtime.context.report_form
    role: Role[Any] = reporter
    if form == "case_report":
        role = reporter.at(reporter.stage, CaseReport, offline=case_report_by_neighbours)
    view = ReportView(chart=chart, neighbours=recalled, form=form, seat=state.get("seat", 0))
    pictures = [picture.file for picture in chart.all_pictures]
    written = await ask(role, view, runtime.context, language=chart.language, pictures=pictures)
    return {"report": written.in_five_parts() if form == "case_report" else written}
