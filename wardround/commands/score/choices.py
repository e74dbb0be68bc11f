"""Where AIE's score commands have a model choose among a case's options: from its dialogue, or from its record."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cases.text.words import language_of
from llm import ModelSettings
from llm.specs import model_of
from scoring.aie.mcq import METRIC, answer_questions, mcq_diagnosis, mcq_doctor, questions_of
from scoring.aie.metrics import diagnosis_is_right, score_aie, unanswered
from scoring.aie.pairwise import Consultation
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.samples import PERCENT, Definition, Sample, Samples, case_of, estimates
from scoring.metrics.statistics import Estimate
from wardround.commands.exit_codes import refuse
from wardround.commands.score.compared import compared
from wardround.commands.score.output import ExtraTable
from wardround.commands.score.transcripts import Scored, checked_models
from wardround.printing import counted
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import RecordedRun
from wardround.tables.aie import Doctors, rounds_row, rounds_table
from wardround.tables.table import Table

OWN = "doctor"  # instead of a model: that of each run's own doctor


def choosing_each(
    spec: str | None, option: str, doctors: Mapping[str, Path], runs: Sequence[RecordedRun]
) -> dict[str, ModelSettings]:
    """Return the settings in which a model chooses for each doctor, none without a model; exits if one cannot be used.

    ``doctor`` instead of a model names each run's own, as in the paper.
    """
    if not spec:
        return {}
    if spec != OWN:
        return dict.fromkeys(doctors, checked_models({mcq_doctor.name: spec}, option))
    run_of = {run.path: run for run in runs}
    if files := [path for path in doctors.values() if path not in run_of]:
        refuse(f"{option} {OWN}: {files[0]} is no run, and names no doctor's model; name a model")
    experiments = {name: run_of[path].experiment for name, path in doctors.items()}
    return {
        name: checked_models({mcq_doctor.name: model_of("doctor", "consultation", own.models)}, option, own.model)
        for name, own in experiments.items()
    }


def chosen_by(option: str, settings: Mapping[str, ModelSettings]) -> list[tuple[str, str]]:
    """Return the models that choose for doctors, each with the option that names it."""
    return [(option, one.models[mcq_doctor.name]) for one in settings.values()]


def diagnosed(transcripts: Sequence[AieTranscript], settings: ModelSettings, notes: list[str]) -> list[AieTranscript]:
    """Return the transcripts with the letter that a model chooses from each dialogue, without seeing the record."""
    texts = [Consultation.of(one, language_of(one.record)).text for one in transcripts]
    questions, reasons = questions_of(
        one.model_copy(update={"record": text, "question": one.asked})
        for one, text in zip(transcripts, texts, strict=True)
    )
    if not questions:
        refuse(
            "--diagnose: a file or run has no case with options; for each run, `wardround score mcq RUN` writes them"
        )
    languages = {one.case: language_of(one.record) for one in transcripts}  # whatever language the dialogue is in
    questions = [replace(question, language=languages[question.case]) for question in questions]
    answered = run_alone(answer_questions, questions, settings)
    failures = reasons | answered.failures
    notes += [f"Case {case}: no option was chosen ({reason})." for case, reason in failures.items()]
    return [one.model_copy(update={"diagnosis": answered.letters.get(one.case)}) for one in transcripts]


def other_options(doctors: Doctors) -> list[str]:
    """Note which doctors' diagnoses are chosen from other options than the first doctor's."""
    (first, options), *others = (
        (name, {one.case: {*one.options.values()} for one in records if one.options})
        for name, records in doctors.items()
    )
    differing = {
        name: [case for case in options.keys() & theirs.keys() if options[case] != theirs[case]]
        for name, theirs in others
    }
    return [
        f"DIAGNOSIS: {counted(len(cases), 'case')} of {name} had other options than in {first}, and cannot be compared."
        for name, cases in differing.items()
        if cases
    ]


def diagnosed_by_round(doctors: Doctors, settings: Mapping[str, ModelSettings], mode: Definition) -> Table:
    """Tabulate the diagnosis chosen from each doctor's dialogues up to each round, with the coverage (Figure 6d).

    A choice already made from a whole dialogue is not asked for again.
    """
    rows = []
    for doctor, transcripts in doctors.items():
        records: dict[str, AieTranscript] = {}
        for last in range(1, max((len(one.history) for one in transcripts), default=0) + 1):
            going = [one for one in transcripts if len(one.history) >= last]
            complete = [one for one in going if len(one.history) == last]
            cut = [one.model_copy(update={"history": one.history[:last]}) for one in going if len(one.history) > last]
            records |= {one.case: one for one in [*complete, *(diagnosed(cut, settings[doctor], []) if cut else ())]}
            rows.append(rounds_row(doctor, last, score_aie(records.values(), mode), len(going)))
    return rounds_table(rows)


def over_chosen(own: Scored[AieTranscript], mode: Definition, notes: list[str]) -> dict[str, Estimate]:
    """Return DIAGNOSIS over the dialogues that chose an option, if some did not, and count as wrong in sound mode.

    Notes which dialogues had nothing to choose from, and which chose nothing.
    """
    dialogues, chosen = own.dialogues, own.samples["DIAGNOSIS"]
    if without_option := len(dialogues) - len(chosen):
        notes.append(
            f"{without_option} of {len(dialogues)} dialogues have no correct option to choose, and no DIAGNOSIS."
        )
    without_choice = unanswered(dialogues)
    if mode == "paper" or not without_choice:
        return {}
    notes.append(
        f"{len(without_choice)} of {len(dialogues)} diagnoses choose no option, and count as wrong in DIAGNOSIS."
    )
    answered = [one for one in dialogues if one.has_right_option and one not in without_choice]
    return percentages({"DIAGNOSIS": [Sample(one.case, 100.0 * (diagnosis_is_right(one) or 0)) for one in answered]})


@dataclass(frozen=True)
class FromRecords:
    """The answers to the cases' multiple-choice questions, each asked once; empty if nobody was asked."""

    samples: list[Sample] = field(default_factory=list)  # in percent; a failure counts as wrong
    answered: list[Sample] = field(default_factory=list)  # the same without failures
    notes: list[str] = field(default_factory=list)  # what failed or cannot be asked, one sentence each
    chosen: dict[str, str | None] = field(default_factory=dict)  # the option of each case; None without an answer

    @classmethod
    def asked(cls, transcripts: Sequence[AieTranscript], settings: ModelSettings) -> "FromRecords":
        """Ask each case of the transcripts once as a multiple-choice question."""
        questions, reasons = questions_of(one.model_copy(update={"id": case_of(one.id)}) for one in transcripts)
        answered = run_alone(answer_questions, questions, settings)
        failures = reasons | answered.failures
        samples = mcq_diagnosis(questions, answered.letters)
        return cls(
            samples,
            [one for one in samples if one.case in answered.letters],
            [f"Case {case}: no {METRIC} ({reason})." for case, reason in failures.items()],
            {question.case: answered.letters.get(question.case) for question in questions},
        )

    @classmethod
    def joined(cls, parts: Sequence["FromRecords"]) -> "FromRecords":
        """Join the answers of several doctors."""
        return cls(
            [sample for part in parts for sample in part.samples],
            [sample for part in parts for sample in part.answered],
            list(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    def of(self, cases: Collection[str]) -> list[Sample]:
        """Return the values of these cases."""
        return [sample for sample in self.samples if sample.case in cases]

    def chosen_in(self, cases: Collection[str]) -> dict[str, str | None]:
        """Return the options chosen in those of these cases that were asked about."""
        return {case: letter for case, letter in self.chosen.items() if case in cases}

    @property
    def incomplete(self) -> bool:
        """Whether some question has no answer."""
        return len(self.answered) < len(self.samples)


def formats_compared(mcq: list[Sample], interactive: list[Sample]) -> ExtraTable:
    """Compare the two formats, paired by case; the values count what has no answer as wrong."""
    title = "Multiple choice minus interactive, paired by case"
    return compared({"DIAGNOSIS": mcq}, {"DIAGNOSIS": interactive}, title, "formats")


def percentages(samples: Samples) -> dict[str, Estimate]:
    """Return the estimates of values in percent, clustered by case."""
    return estimates(samples, clustered=True, ends=PERCENT)
