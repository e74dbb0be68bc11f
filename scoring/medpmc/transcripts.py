"""Med-PMC's cases and transcripts."""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, Field

from scoring.records import ForeignModel, Reading, Text, number_of, read_records, repeated, with_warnings

END = "D"  # Med-PMC's code for the conclusion
_IMAGE = re.compile(r"[<‹]\\+image([^>›]{0,300})[>›]")  # bounded: it is looked for from each mark


def _section(name: str, **more: Any) -> Any:
    return Field(validation_alias=AliasPath("Text", name), **more)


def _if_any(value: Any) -> Any:
    return "" if value is None else value


OptionalText = Annotated[str, BeforeValidator(_if_any)]  # null is as missing: of a run that broke off, for example


class MedPmcTurn(ForeignModel):
    """The doctor's words, and the reply: as the doctor heard it, and before a persona changed it."""

    doctor: str
    state: Text
    patient: str | None = None
    standard_patient: str | None = None
    memory: Any = None
    exam_memory: Any = Field(default=None, description="Instead of `memory` where a technician replies.")

    @property
    def ends(self) -> bool:
        """Whether the doctor concludes here."""
        return self.state == END

    @property
    def by_technician(self) -> bool:
        """Whether a technician replies, and not the patient."""
        return "exam_memory" in self.model_fields_set and not self.memory

    @property
    def told(self) -> str:
        """The patient's intended words: the standard patient's, or a technician's, which no persona changes."""
        return self.standard_patient if self.standard_patient is not None else self.patient or ""

    @property
    def images(self) -> list[str]:
        """The file names of the images shown here, including repetitions."""
        return [name.strip() for name in _IMAGE.findall(self.patient or "")]


class MedPmcTranscript(ForeignModel):
    """One case with its consultation; a case not yet played has neither history nor report."""

    id: Text
    patient_information: str = _section("Patient Information")
    chief_complaint: str = _section("Chief Complaint")
    present_illness: str = _section("Present Illness")
    past_history: OptionalText = _section("Past Medical History", default="")
    examinations: str = _section("Examinations")
    diagnosis: str = _section("Diagnosis")
    treatment: str = _section("Treatment")
    images: dict[str, str] = Field(default_factory=dict, validation_alias="Image", description="Report by file name.")
    history: list[MedPmcTurn] = Field(default_factory=list)
    report: OptionalText = Field(
        default="", validation_alias="diagnosis_self", description="The doctor's final report."
    )
    withheld: bool = Field(default=False, description="Ours only: no picture could be shown, so no analysis is scored.")

    @property
    def played(self) -> bool:
        """Whether there is anything of the doctor's."""
        return bool(self.history or self.report)

    @property
    def case(self) -> str:
        """The number in the authors' file."""
        return number_of(self.id, "Med-PMC")

    @property
    def tellable(self) -> list[str]:
        """The parts of the record that the patient tells: information, complaint and histories."""
        return [self.patient_information, self.chief_complaint, self.present_illness, self.past_history]

    @property
    def examinations_in_words(self) -> str:
        """The examinations, with the report of each image in the place of its mark."""
        return _IMAGE.sub(lambda mark: self.images.get(mark[1].strip()) or mark[0], self.examinations)

    @property
    def findings(self) -> str:
        """What the record tells about the patient; results are left out, as importing rewords them."""
        return "\n".join((self.patient_information, self.chief_complaint, self.present_illness))

    @property
    def turns_before_end(self) -> list[MedPmcTurn]:
        """All turns except the doctor's conclusion."""
        return [turn for turn in self.history if not turn.ends]


def read_medpmc(path: str | Path) -> Reading[MedPmcTranscript]:
    """Read cases or transcripts; the pictures themselves are not read."""
    reading = read_records(path, MedPmcTranscript)
    return with_warnings(reading, repeated(one.case for one in reading.records))
