"""The states of the graphs: what goes in, what is found out, what comes out."""

from cases import Case
from nodes.consultation.final_report import FinalReport
from nodes.patients.address import AddressState
from nodes.patients.ai_hospital.examiner import DeskState
from nodes.patients.ai_hospital.profile import Profile
from nodes.state.chart import Ended, Findings, Picture, Progress
from nodes.state.collaboration import ConferenceState, Person
from nodes.state.decisions import Referral, Treatment, Triage
from nodes.state.patient_side import PatientSideOutput, PatientSideState, Records
from nodes.workflow.admission import AdmissionState
from nodes.workflow.follow_up import FollowUp
from retrieval import Neighbour


class ClinicalInput(AdmissionState, total=False):
    """The id of a case, or a case."""


class DecidingState(Findings, Progress, total=False):
    """The state of a part of the workflow that only decides: the referral, the examination."""


class ReferralOutput(Progress, total=False):
    """What the referral adds."""

    triage: Triage
    referral: Referral


class InterviewState(Findings, PatientSideState, Progress, total=False):
    """The state of the dialogue; only the patient's side reads the records."""

    recalled: list[Neighbour]
    seat: int


class InterviewOutput(PatientSideOutput, Progress, total=False):
    """What the dialogue adds."""


class HistoryTakingInput(Findings, Records, total=False):
    """What history-taking starts from."""


class HistoryTakingState(HistoryTakingInput, Progress, total=False):
    """The state of the history-taking stage."""

    dialogue_ended: Ended
    profile: Profile
    physical_orders: list[str]
    auxiliary_orders: list[str]


class HistoryTakingOutput(InterviewOutput, total=False):
    """What history-taking adds: the dialogue, what is ordered after it, and what that shows."""

    symptoms: str
    physical_orders: list[str]
    auxiliary_orders: list[str]
    results: dict[str, str]
    pictures: list[Picture]


class ClinicalState(HistoryTakingState, total=False):
    """The whole course of a case.

    The records are kept apart from the findings: the patient's node reads ``patient_record``, the examiner's
    ``examination_record``, and admission ``case``. A doctor's node reads `Findings`, which has none of them.
    """

    case: Case
    requested: list[str]
    sent_back: bool
    treatment: Treatment
    follow_up: FollowUp


class ConsultationState(Findings, PatientSideState, Progress, total=False):
    """The whole course of a consultation; records and case are kept apart as in `ClinicalState`."""

    case: Case
    recalled: list[Neighbour]
    seat: int
    physical_orders: list[str]
    auxiliary_orders: list[str]
    report: FinalReport


class InquiryState(PatientSideState, DeskState, total=False):
    """One question to the patient's side, and the reply."""

    asked: Person


class PatientTurnState(AdmissionState, AddressState, PatientSideState, total=False):
    """One turn with a patient."""


class DisputeResolutionState(ConferenceState, PatientSideState, total=False):
    """The whole course of a collaboration; records and case are kept apart as in `ClinicalState`."""

    case: Case
