"""Convert runs to the authors' transcript formats, for commands that read transcripts and for other tools."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cases import Case
from nodes.context import Context
from scoring.aie.export import aie_record
from scoring.aie.transcripts import AieTranscript, read_aie
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import medpmc_transcript, pictures_withheld
from scoring.medpmc.transcripts import MedPmcTranscript, read_medpmc
from scoring.metrics.samples import of_epoch
from scoring.records import ForeignModel, Reading
from wardround.analysis.multiple_choice import kept_options, with_kept_options
from wardround.config.experiment import ConfigurationError
from wardround.store.recorded_run import find_runs
from wardround.store.run_directory import RunDirectory

Format = Literal["aie", "medpmc"]


class Form(NamedTuple):
    """A paper's transcript format: its patient system, the type of a record, and how to read and make records."""

    patient: str
    model: type[ForeignModel]
    read: Callable[[Path], Reading[Any]]
    made_of: Callable[[Case, ConsultationAnswers, Context], dict[str, Any]]


FORMS: Mapping[Format, Form] = {
    "aie": Form("saps", AieTranscript, read_aie, lambda case, answers, _: aie_record(case, answers.dialogue)),
    "medpmc": Form(
        "medpmc",
        MedPmcTranscript,
        read_medpmc,
        lambda case, answers, context: medpmc_transcript(
            case, answers.dialogue, answers.report, withheld=pictures_withheld(context)
        ),
    ),
}


def transcripts_of(path: Path, format: Format) -> Iterator[dict[str, Any]]:
    """Yield the consultations of a run, or of each run of a sweep, as records of the authors' transcript files.

    Ids of later epochs contain the epoch, and those of several runs the run. A case without options gets those that
    `wardround score mcq` wrote in the run.

    Raises:
        ConfigurationError: no run, one without a dialogue, or its cases have changed.
    """
    runs = find_runs([path])
    count = 0
    for run in runs:
        context, options = run.experiment.context, kept_options(RunDirectory(run.path))
        for result, answers in run.each_dialogue():
            if not result.scored:
                continue
            case = with_kept_options(run.case_of(*result.key), options)
            record = FORMS[format].made_of(case, answers, context)
            name = "/".join([run.name] * (len(runs) > 1) + [str(record["id"])])
            count += 1
            yield {**record, "id": of_epoch(name, result.epoch)}
    if not count:
        raise ConfigurationError(f"{path}: has no finished consultation (graph = 'consultation')")


def read_transcripts(path: Path, format: Format) -> Reading[Any]:
    """Read a file in the authors' format, or the consultations of a run as such records."""
    form = FORMS[format]
    if not path.is_dir():
        return form.read(path)
    records = [form.model.model_validate(each) for each in transcripts_of(path, format)]
    return Reading(path=path, records=records, problems=[])
