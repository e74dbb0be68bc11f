import subprocess
import sys

import pytest

HEAVY = ("jieba", "nltk", "numpy", "rapidfuzz", "scipy")


@pytest.mark.slow
def test_heavy_libraries_are_not_loaded_before_they_are_needed() -> None:
    program = (
        "import sys; import scoring.metrics.claims, scoring.metrics.diagnosis_grade;"
        "import scoring.medchain.error_propagation, scoring.case_scores;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert _printed(program) == "[]\n"


def test_diagnoses_between_which_there_is_nothing_to_choose_are_graded_without_scipy() -> None:
    program = (
        "import sys; from scoring.metrics.diagnosis_grade import grade_offline;"
        "assert grade_offline(['gout', 'asthma'], ['asthma', 'anaemia']).level == 3; print('scipy' in sys.modules)"
    )
    assert _printed(program) == "False\n"


def test_the_writer_of_a_run_on_ray_starts_without_the_program() -> None:
    program = (
        "import sys; from wardround.run.engines.writer import Writer;"
        "print({'cases', 'graphs', 'langgraph', 'llm', 'pydantic', 'scoring'} & {*sys.modules})"
    )
    assert _printed(program) == "set()\n"


@pytest.mark.slow
def test_nothing_is_searched_for_garbage_while_graphs_are_imported() -> None:
    # Searching the path allocates too.
    found = "import functools, gc, importlib.util; importlib.util.find_spec('graphs')"
    program = f"{found}; gc.collect(); gc.callbacks.append(lambda *told: print(told)); import graphs"
    assert _printed(f"{program}; gc.callbacks.clear()") == ""


def _printed(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
