"""The notebooks run from top to bottom in a fresh kernel, and what they show is what they promise.

After a change that alters what they show, ``python -m tests.notebooks.test_notebooks`` writes their outputs anew.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from scoring.medchain.suite import suite

pytestmark = pytest.mark.slow

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
COURSE = ["admit", "refine", "referral", "history_taking", "examination", "diagnosis", "treatment", "follow_up"]


def execute(notebook: NotebookNode) -> NotebookNode:
    """Run a notebook in a kernel of the very interpreter that runs the tests, whatever kernels are installed."""
    specs = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
    kernel = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs)
    client = NotebookClient(
        notebook,
        km=kernel,
        kernel_name="python3",
        timeout=120,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    )
    return client.execute()


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call, no-any-return]


def shown(notebook: NotebookNode) -> dict[str, str]:
    """The text that each cell put out, by the cell's id."""
    return {cell.id: "".join(map(_text, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"}


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    data = output.get("data", {})
    return "a figure" if "image/png" in data else str(data.get("text/markdown", ""))


@pytest.fixture(scope="module")
def every() -> dict[str, dict[str, str]]:
    """What the cells of every notebook show; one kernel, emptied between them, since imports take longest."""
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    together: NotebookNode = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    for path in paths:
        together.cells.append(nbformat.v4.new_code_cell("%reset -f"))  # type: ignore[no-untyped-call]
        together.cells += [{**cell, "id": f"{path.stem}-{cell.id}"} for cell in read(path).cells]
    together = nbformat.from_dict(together)  # type: ignore[no-untyped-call]
    cells = shown(execute(together))
    return {
        path.stem: {id.removeprefix(f"{path.stem}-"): text for id, text in cells.items() if id.startswith(path.stem)}
        for path in paths
    }


@pytest.fixture(scope="module")
def pipeline(every: dict[str, dict[str, str]]) -> dict[str, str]:
    return every["01_run_the_pipeline"]


def test_the_pipeline_starts_with_what_the_patient_knows(pipeline: dict[str, str]) -> None:
    assert "chief_complaint" in pipeline["case"]
    assert "examiner has" in pipeline["case"]


def test_the_pipeline_draws_the_workflow(pipeline: dict[str, str]) -> None:
    assert pipeline["graph"].startswith("```mermaid\n")
    assert all(f"{stage}({stage})" in pipeline["graph"] for stage in COURSE)


def test_the_pipeline_streams_each_stage_in_order(pipeline: dict[str, str]) -> None:
    assert [line.split()[0] for line in pipeline["run"].splitlines()] == COURSE
    assert re.search(r"^diagnosis +adds diagnosis$", pipeline["run"], re.MULTILINE)
    assert re.search(r"^diagnosis +\w", pipeline["found"], re.MULTILINE)
    assert re.search(r"^treatment +\w", pipeline["found"], re.MULTILINE)


def test_the_pipeline_shows_verdicts_an_objection_and_the_end_of_each_stage(pipeline: dict[str, str]) -> None:
    ends = re.findall(r"^([\w.]+)(?::[^>]+)? -> (\w+) after", pipeline["decisions"], re.MULTILINE)
    assert {stage.split(".")[0] for stage, _ in ends} >= {"referral", "history_taking", "diagnosis", "treatment"}
    assert {end for _, end in ends} <= {"agreed", "exhausted"}
    assert "accepted by" in pipeline["decisions"]
    assert "OBJECTS: " in pipeline["decisions"], "choose a case on which a judge objects"


def test_the_pipeline_shows_three_neighbours_and_not_the_case_itself(pipeline: dict[str, str]) -> None:
    neighbours = re.findall(r"^(0\.\d\d)  (\S+)", pipeline["neighbours"], re.MULTILINE)
    assert len(neighbours) == 3
    assert [similarity for similarity, _ in neighbours] == sorted((s for s, _ in neighbours), reverse=True)
    assert "pediatrics-02" not in [case_id for _, case_id in neighbours]


def test_the_pipeline_shows_calls_tokens_and_a_prompt(pipeline: dict[str, str]) -> None:
    assert re.match(r"\d+ calls, 0 tokens; models: \['offline'\]", pipeline["trace"])
    assert "--- diagnosis/summarizing/round0, prompt en/medchain/summarizing ---" in pipeline["trace"]


def test_what_is_switched_off_makes_no_call(pipeline: dict[str, str]) -> None:
    match = re.fullmatch(r"(\d+) calls instead of (\d+)\n", pipeline["swap"])
    assert match and int(match[1]) < int(match[2])


def test_the_pipeline_scores_all_stages(pipeline: dict[str, str]) -> None:
    for stage in suite.published:
        assert re.search(rf"^{stage} +([01]\.\d\d|-) +([01]\.\d\d|-)$", pipeline["score"], re.MULTILINE), stage


def test_async_gives_what_sync_gave(pipeline: dict[str, str]) -> None:
    assert pipeline["async"].startswith("the same again: True\nbeside it:")


@pytest.mark.parametrize(
    ("stem", "cell", "promised"),
    [
        ("02_swap_a_model", "twice", r"rules +6 scored of 6.*\nhurried +6 scored of 6; doctor: object:Hurried"),
        ("02_swap_a_model", "differs", r"(?m)^ *examinations +-\d\.\d+ +-\d\.\d+ +-\d\.\d+"),
        ("03_dispute_resolution", "one", r"^3 interns, (agreed|exhausted) after \d round"),
        ("03_dispute_resolution", "rounds", r"(?s)round 0: not agreed.*intern 3:.*disputed, diagnosis:.*round 1:"),
        ("03_dispute_resolution", "many", r"^20 cases; \{.*'diagnosis': \d+"),
        ("04_memory", "recall", r"^0\.\d\d  (?!surgery-01)\S+ .*\n0\.\d\d .*\n0\.\d\d "),
        ("04_memory", "kind", r"same department: \d+ of \d\d"),
        ("04_memory", "growth", r"^10 pseudo-cases; the first one knows: (?!.*\bkey\b)"),
        ("05_patients", "dialogues", r"(?s)medchain .*ai_hospital .*saps .*medpmc .*clinichat .*begins: "),
        ("05_patients", "tracked", r"doctor +\[\w+( \w+)?\].*\npatient +\(\d+ facts\)"),
        ("05_patients", "personas", r"(?s)farmer .*plain .*student .*plain .*doctor .*plain "),
        ("06_score_transcripts", "modes", r"(?s)^COVERAGE +\d+\.\d\d +\d+\.\d\d   n = 4\n.*ADVICE_SPECIFIC .*AVG_LEN "),
        ("06_score_transcripts", "attack", r"words in an utterance: (\d+\.\d) \d+\.\d"),
        ("07_own_strategy_and_metric", "beside", r"refused: .*did you mean 'copycat'\?\nsingle done\ncopycat done"),
        ("07_own_strategy_and_metric", "plot", r"(?s)run +copycat +single.*thrift +[01]\.\d\d +[01]\.\d\d"),
    ],
)
def test_a_notebook_shows_what_it_promises(
    every: dict[str, dict[str, str]], stem: str, cell: str, promised: str
) -> None:
    assert re.search(promised, every[stem][cell]), every[stem][cell]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_a_notebook_shows_is_what_it_was_kept_with(every: dict[str, dict[str, str]], path: Path) -> None:
    assert shown(read(path)) == every[path.stem], "python -m tests.notebooks.test_notebooks writes it anew"


def test_every_notebook_draws_a_figure(every: dict[str, dict[str, str]]) -> None:
    assert len(every) >= 7
    assert all(cells["plot"].endswith("a figure") for cells in every.values())


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_clean_outputs(path: Path) -> None:
    notebook = read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(cell.outputs for cell in code)
    assert {output.output_type for output in outputs} <= {"stream", "display_data", "execute_result"}
    assert all(output.name == "stdout" for output in outputs if output.output_type == "stream")
    text = path.read_text("utf-8")
    assert not re.search(r"/home/|/root/|/tmp/|/Users/|[A-Z]:\\\\Users", text), "names a folder of someone's machine"
    assert len(text) < 80_000


def _write_outputs_anew() -> None:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = execute(read(path))
        notebook.metadata.pop("language_info", None)  # names the version of whoever ran it
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    _write_outputs_anew()
