"""Ward Round: clinical multi-agent workflows as LangGraph state graphs. ``import wardround as wr``.

This is the public Python API. Importing it is cheap: each name is loaded on first use.

- Cases: `load_cases`, `save_cases`, `check_cases` and `import_cases`; `Case` and its parts.
- Graphs: `clinical_workflow`, `consultation`, `one_step`, `dispute_resolution`, `reconstruction` and `clini_eval`. Each
  has `invoke`, `ainvoke`, `stream` and `astream`, and a class for its settings (`ClinicalContext`, ...). `score` and
  `ascore` score what a graph returned.
- Experiments: `run_experiment` runs an `Experiment`, `run_sweep` each run of a file, `to_dataframe` reads a run,
  `compare` tests the differences of runs, `rescore` scores a run again, and `score_transcripts` scores what others have
  made.
- Coroutines, to be awaited or given to `asyncio.run`: `ascore`, `ask` and `rescore`.
- Plug-ins: `metric`, `strategy`, `patient`, `importer` and `add_prompts` register something; `load_plugin` loads a file
  that does so.
- Errors: `InputError`, a `ValueError`, is what you gave that cannot be used; `ConfigurationError`, `CaseFileError` and
  `PluginError` are such. A graph raises `AskError` if a model gave no answer.
- Nodes of your own: `node`, `Role` and `ask`; `Stage`, `StageState`, `PatientSideState` and `PatientSideOutput`.
"""

from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cases import (
        AnswerKey,
        Case,
        CaseFileError,
        ExaminationRecord,
        Image,
        InputError,
        PatientRecord,
        Provenance,
        check_cases,
        load_cases,
        save_cases,
    )
    from cases.importers import Record, Source, import_cases, importer
    from graphs import (
        build_clinical_workflow,
        clini_eval,
        clinical_workflow,
        consultation,
        dispute_resolution,
        one_step,
        reconstruction,
    )
    from graphs.contexts import (
        ClinicalContext,
        CliniEvalContext,
        ConsultationContext,
        DisputeResolutionContext,
        OneStepContext,
        ReconstructionContext,
    )
    from llm import AskError, ModelSettings, Role, ask
    from nodes.asking import CaseView, case_view
    from nodes.context import Context
    from nodes.node import node
    from nodes.patients.registration import patient
    from nodes.state.chart import Turn
    from nodes.state.patient_side import PatientSideOutput, PatientSideState
    from nodes.state.stage import StageState
    from nodes.strategies.registry import strategy
    from nodes.workflow.stages import Stage
    from prompts import add_prompts
    from scoring.medchain.answers import Answers
    from scoring.suite import CaseScores, metric
    from wardround.analysis.final_state import ascore, score
    from wardround.analysis.rescoring import rescore
    from wardround.commands.score.from_python import score_transcripts
    from wardround.config.experiment import ConfigurationError, Experiment
    from wardround.exports.comparison import compare
    from wardround.exports.frames import to_dataframe
    from wardround.plugins import PluginError, load_plugin
    from wardround.run.from_python import run_experiment, run_sweep

    __version__: str

__all__ = [
    "AnswerKey",
    "Answers",
    "AskError",
    "Case",
    "CaseFileError",
    "CaseScores",
    "CaseView",
    "CliniEvalContext",
    "ClinicalContext",
    "ConfigurationError",
    "ConsultationContext",
    "Context",
    "DisputeResolutionContext",
    "ExaminationRecord",
    "Experiment",
    "Image",
    "InputError",
    "ModelSettings",
    "OneStepContext",
    "PatientRecord",
    "PatientSideOutput",
    "PatientSideState",
    "PluginError",
    "Provenance",
    "ReconstructionContext",
    "Record",
    "Role",
    "Source",
    "Stage",
    "StageState",
    "Turn",
    "__version__",
    "add_prompts",
    "ascore",
    "ask",
    "build_clinical_workflow",
    "case_view",
    "check_cases",
    "clini_eval",
    "clinical_workflow",
    "compare",
    "consultation",
    "dispute_resolution",
    "import_cases",
    "importer",
    "load_cases",
    "load_plugin",
    "metric",
    "node",
    "one_step",
    "patient",
    "reconstruction",
    "rescore",
    "run_experiment",
    "run_sweep",
    "save_cases",
    "score",
    "score_transcripts",
    "strategy",
    "to_dataframe",
]


def _refuse_namesakes() -> None:
    """Check that Python finds our packages, and not a module of the same name that lies beside a script.

    Raises:
        ImportError: a module hides one of our packages; names its file and the remedy.
    """
    ours = Path(__file__).resolve().parent.parent
    for package in ("cases", "prompts", "llm", "retrieval", "nodes", "scoring", "graphs"):
        found = PathFinder.find_spec(package)
        if found and found.origin and Path(found.origin).resolve().parent.parent != ours:
            if {"site-packages", "dist-packages"} & {*Path(found.origin).parts}:
                remedy = (
                    f"uninstall the package that has it, or install wardround in an environment without {package!r}"
                )
            else:
                remedy = "rename that file, or start Python in another folder, without this one in PYTHONPATH"
            raise ImportError(f"wardround needs its own module {package!r}, but {found.origin} hides it; {remedy}")


_refuse_namesakes()


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name == "__version__":
        from importlib.metadata import version

        return version("wardround")
    if name in __all__:
        for home in _homes():
            if name in vars(home):
                found = vars(home)[name]
                if isinstance(found, type) and hasattr(found, "model_rebuild"):
                    found.model_rebuild()  # it is built on first use, and help and notebooks would show no field
                return found
    from cases.validation import nearest

    suggestion = "" if name.startswith("_") else f": {nearest(name, __all__)}"
    # With its name but no object, so that Python adds no second suggestion.
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{suggestion}", name=name)


def _homes() -> Iterator[ModuleType]:
    """Yield the modules that define the public names, importing each only when reached: light ones first."""
    import cases

    yield cases
    import prompts
    from cases import importers
    from wardround import plugins

    yield from (importers, prompts, plugins)
    import llm

    yield llm
    from nodes import asking, context, node
    from nodes.state import chart, patient_side, stage
    from nodes.workflow import stages

    yield from (node, context, stages, chart, patient_side, stage, asking)
    import graphs  # before plug-ins can register the same names
    from nodes.patients import registration
    from nodes.strategies import registry

    yield from (registration, registry)
    plugins.load_plugins(())  # installed plug-ins also apply to graphs used from Python
    yield graphs
    from scoring import suite
    from scoring.medchain import answers

    yield from (answers, suite)
    from wardround.analysis import final_state, rescoring
    from wardround.commands.score import from_python as scoring
    from wardround.config import experiment
    from wardround.exports import comparison, frames
    from wardround.run import from_python

    yield from (experiment, from_python, frames, comparison, final_state, rescoring, scoring)
