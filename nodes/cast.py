"""The whole cast: importing it declares every role, so that a model map can be checked."""

from evaluation import disease_entities, distractors, judges, medpmc_judges, mvme_judges, pairwise
from nodes import (
    ai_hospital_patient,
    doctor,
    examination_desk,
    extraction_agent,
    feedback_agent,
    general_agent,
    librarian,
    memory_bank,
    patient,
    patient_profile,
    reporter,
    response_generator,
    reviewer,
    state_tracker,
    summarizing_agent,
)

__all__ = [
    "ai_hospital_patient",
    "disease_entities",
    "distractors",
    "doctor",
    "examination_desk",
    "extraction_agent",
    "feedback_agent",
    "general_agent",
    "judges",
    "librarian",
    "medpmc_judges",
    "memory_bank",
    "mvme_judges",
    "pairwise",
    "patient",
    "patient_profile",
    "reporter",
    "response_generator",
    "reviewer",
    "state_tracker",
    "summarizing_agent",
]
