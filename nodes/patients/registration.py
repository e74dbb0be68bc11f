"""Registration of patient systems: their capabilities are checked when they are declared."""

from collections.abc import Callable
from typing import Any

from langgraph.graph import StateGraph

from cases.registry import RegistryError, check_function, check_named
from cases.validation import nearest
from llm.tracing import UNTRACED
from nodes.consultation.doctor import DOCTORS
from nodes.patients.systems import PATIENTS, PatientSystem
from nodes.settings import DialogueSettings
from nodes.state.patient_side import PatientSideState
from nodes.strategies.registry import check_graph

Build = Callable[[], StateGraph[Any, Any, Any, Any]]


def patient(
    name: str,
    *,
    examines: bool,
    opens: bool = False,
    greets: bool = False,
    tracks: bool = False,
    told: bool = False,
    doctor: str = "consultation",
    speaker: str = "patient",
    settings: tuple[str, ...] = (),
    shows: bool = True,
) -> Callable[[Build], Build]:
    """Register a patient system: ``@wr.patient("terse", examines=False)``.

    The decorated function builds the graph of one reply, which takes and returns `PatientSideState`. It is called once,
    at registration.

    Args:
        name: the value of the setting ``patient``.
        examines: whether examinations are done and reported in the dialogue; if not, they are done after it.
        opens: whether the patient speaks first; the graph is then invoked once with an empty dialogue.
        greets: whether the opening includes a greeting, which counts as the doctor's first turn.
        tracks: whether the doctor's actions are tracked turn by turn; the last turn allowed is then answered too.
        told: whether the doctor tells this patient diagnosis, reasons and plan in a consultation.
        doctor: the stage of the doctor's role in a consultation with this patient.
        speaker: the role that speaks for the patient.
        settings: the dialogue settings that only some systems obey and this one does.
        shows: whether pictures are handed over; if not, what they show is told in words, if at all.

    Raises:
        RegistryError: the name is taken, an argument is invalid, or the function does not return a valid `StateGraph`.
    """
    check_named("patient", name)
    capabilities = {
        "examines": examines,
        "opens": opens,
        "greets": greets,
        "tracks": tracks,
        "told": told,
        "shows": shows,
    }
    for capability, value in capabilities.items():
        if not isinstance(value, bool):
            raise RegistryError(f"patient {name!r}: {capability} = {value!r}; expected True or False")
    if greets and not opens:
        raise RegistryError(
            f"patient {name!r}: greets = True needs opens = True, as the greeting precedes the opening words"
        )
    if doctor not in DOCTORS:
        raise RegistryError(f"patient {name!r}: unknown doctor {doctor!r}: {nearest(doctor, DOCTORS)}")
    if isinstance(settings, str):
        raise RegistryError(f"patient {name!r}: settings = {settings!r}; expected a tuple of names, ({settings!r},)")
    for setting in settings:
        if setting not in DialogueSettings.model_fields:
            wanted = nearest(setting, DialogueSettings.model_fields)
            raise RegistryError(f"patient {name!r}: unknown setting {setting!r}: {wanted}")

    def register(build: Build) -> Build:
        check_function("patient", name, build, "")
        builder = check_graph("patient", name, build(), PatientSideState)
        graph = builder.compile(name=f"{name} patient").with_config(callbacks=UNTRACED)
        if extra := sorted({*graph.output_channels} - PatientSideState.__annotations__.keys()):
            raise RegistryError(
                f"patient {name!r}: its graph returns {', '.join(extra)}, but only the dialogue is kept after a reply: "
                "derive it from the dialogue; output_schema=wr.PatientSideOutput drops what only one reply needs"
            )
        system = PatientSystem(name, graph, **capabilities, doctor=doctor, speaker=speaker, settings=settings)
        PATIENTS.add(name, system, build)
        return build

    return register
