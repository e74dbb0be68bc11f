"""What users may write: `mypy` must not refuse it. Nothing here is run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel

import wardround as wr


class Verdict(BaseModel):
    """An answer."""

    right: bool


@dataclass(frozen=True)
class View:
    """What a judge sees."""

    answer: str


judge = wr.Role("own_judge", "evaluation", "own/judge", Verdict, offline=lambda view: Verdict(right=bool(view.answer)))
roles: list[wr.Role[Verdict]] = [judge]


@wr.metric("own", suite="medchain")
async def own(case: wr.Case, answers: wr.Answers, settings: wr.ModelSettings) -> float | None:
    verdict = await wr.ask(judge, View(", ".join(answers.diagnosis)), settings, language=case.language, place="own")
    return float(verdict.right)


@wr.importer("own_paths")
def read(source: Path) -> Iterable[wr.Case]:
    return wr.load_cases(source)


@wr.importer("own_records")
def read_records(source: wr.Source) -> Iterator[wr.Case]:
    for record in source.records():
        if (case := record.case(record.name, {"patient": {"chief_complaint": str(record.value)}})) is not None:
            yield case


@wr.node(asks=roles)
async def answer(state: wr.PatientSideState, runtime: Runtime[wr.Context]) -> wr.PatientSideOutput:
    view = View(state["patient_record"].chief_complaint)
    await wr.ask(judge, view, runtime.context, language=state["presentation"].language)
    return {"dialogue": [*state["dialogue"], wr.Turn(speaker="patient", text=view.answer)]}


@wr.patient("own", examines=False)
def patient() -> StateGraph[wr.PatientSideState, wr.Context, wr.PatientSideState, wr.PatientSideOutput]:
    builder = StateGraph(wr.PatientSideState, context_schema=wr.Context, output_schema=wr.PatientSideOutput)
    return builder.add_node(answer).add_edge(START, "answer").add_edge("answer", END)


@wr.strategy("own")
def strategy(stage: wr.Stage) -> StateGraph[wr.StageState, wr.Context, wr.StageState, wr.StageState]:
    @wr.node
    async def decide(state: wr.StageState, runtime: Runtime[wr.Context]) -> dict[str, Any]:
        view = wr.case_view(state, stage, runtime.context)
        return {"decision": stage.decision.model_validate({"names": view.options.names})}

    return StateGraph(wr.StageState, context_schema=wr.Context).add_node(decide).add_edge(START, "decide")


def use(case: wr.Case, model: BaseChatModel, folder: Path) -> None:
    """Use each graph, with settings as a mapping or as an object, and what reads its result."""
    given = {"case": case}
    settings = {"models": {"default": "offline", "patient": model}}
    for graph in (wr.clinical_workflow, wr.consultation, wr.one_step, wr.dispute_resolution, wr.reconstruction):
        state = graph.invoke(given, context=settings)
        [*graph.stream(given, context=settings, stream_mode="updates")]
        wr.score(case, state, context=settings).values["average"]
        wr.score(case, graph.invoke(given, version="v2"))
    wr.clinical_workflow.invoke(given, context=wr.ClinicalContext(models={"patient": model}, max_rounds=2))
    wr.consultation.invoke(given, context=wr.ConsultationContext(patient="saps"))
    wr.one_step.invoke(given, context=wr.OneStepContext(temperature=0.5))
    wr.dispute_resolution.invoke(given, context=wr.DisputeResolutionContext(interns=2))
    wr.reconstruction.invoke({"note": {"id": "one", "text": "cough"}}, context=wr.ReconstructionContext(seed=1))
    wr.clini_eval.invoke({"dialogue": state["dialogue"]}, context=wr.CliniEvalContext())
    wr.clini_eval.invoke({"dialogue": state["dialogue"]}, context={"models": {"default": "offline"}})
    wr.run_experiment(wr.Experiment(graph="consultation", workflow={"patient": "saps"}), folder)
    wr.run_experiment("mine.toml", models={"patient": model}, settings={"data.limit": 2}, plugins=[folder])
    summaries = wr.run_sweep("medchain_table_3", folder, models={"default": model})
    print(summaries["full"]["scores"])
    wr.to_dataframe(folder.iterdir(), level="calls")
    wr.compare(folder.iterdir(), margin=0.1)
    wr.compare(folder, "other", *folder.iterdir())
    wr.score_transcripts("aie", folder, mode="paper", settings={"timeout": 5})
    wr.save_cases((case.model_copy(update={"id": "other"}) for _ in range(1)), folder)
    wr.build_clinical_workflow("single").compile().invoke(given)


async def use_coroutines(case: wr.Case, model: BaseChatModel, folder: Path) -> list[str]:
    """Await what is a coroutine."""
    state = await wr.clinical_workflow.ainvoke({"case": case}, context={"models": {"patient": model}})
    (await wr.ascore(case, state)).unscored.get("diagnosis", "")
    results, _ = await wr.rescore(folder, {"diagnosis_judge": model}, cases=folder / "corrected.jsonl")
    return [result.case_id for result in results]


def read_errors() -> list[str]:
    """Read what the errors have."""
    try:
        wr.load_plugin("own.py")
    except wr.CaseFileError as error:
        return [problem.message for problem in error.problems]
    except wr.AskError as error:
        return [error.reason, error.call, error.stage]
    except wr.InputError as error:
        return [str(error)]
    return []
