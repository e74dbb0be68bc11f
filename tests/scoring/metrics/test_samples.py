import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.metrics.samples import (
    Sample,
    case_means,
    case_of,
    epoch_of,
    estimates,
    known,
    mean,
    of_epoch,
    over_cases,
    share,
)


def test_values_of_one_case_vary_together_only_if_they_are_clustered() -> None:
    samples = {"x": [Sample("a", 0.0), Sample("a", 0.0), Sample("b", 1.0), Sample("b", 1.0)], "none": []}
    clustered, independent = estimates(samples, clustered=True), estimates(samples, clustered=False)
    assert clustered["x"].mean == independent["x"].mean == 0.5
    assert (clustered["x"].se or 0) > (independent["x"].se or 0)
    assert clustered["none"].n == 0 and clustered["none"].mean is None


def test_means_are_taken_by_case() -> None:
    assert case_means([Sample("a", 1.0), Sample("b", 5.0), Sample("a", 2.0)]) == {"a": 1.5, "b": 5.0}
    assert mean([]) is mean([None]) is None and mean([1.0, None, 2.0]) == pytest.approx(1.5)
    assert share([True, False, True, True]) == 0.75 and share([]) == 0


def test_what_is_unscored_is_left_out_and_a_value_without_ends_has_none() -> None:
    assert known([("a", 0.5), ("b", None)], 100) == [Sample("a", 50.0)] and known([("a", 0.5)]) == [Sample("a", 0.5)]
    over = over_cases([("a", 1.0), ("b", None), ("c", 1.0)], (0.0, 1.0))
    assert over.n == 2 and over.ci95 is not None
    turns = {name: [Sample("a", 7.0), Sample("b", 7.0)] for name in ("TURNS", "SHARE")}
    found = estimates(turns, clustered=True, ends=(0.0, 10.0), neither=["TURNS"])
    assert found["TURNS"].ci95 is None and found["SHARE"].ci95 is not None
    by_name = estimates(turns, clustered=True, ends={"SHARE": (0.0, 10.0)})
    assert by_name == found and estimates(turns, clustered=True)["SHARE"].ci95 is None


@pytest.mark.slow
def test_heavy_libraries_are_not_loaded_before_something_is_scored() -> None:
    modules = (
        "aie.metrics aie.simulator aie.transcripts medpmc.metrics "
        "metrics.comparison metrics.entities metrics.recall metrics.text_overlap"
    )
    heavy = {"jieba", "nltk", "numpy", "rapidfuzz", "rouge_score", "scipy", "torch"}
    program = "; ".join(["import sys", *(f"import scoring.{name}" for name in modules.split())])
    program += f"; print({heavy!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_epochs_of_a_case_vary_together() -> None:
    def interval(*names: str) -> object:
        samples = {
            "x": [Sample(name, value) for name, value in zip(names, (0.0, 0.0, 1.0, 1.0, 0.5, 0.5), strict=True)]
        }
        return estimates(samples, clustered=True)["x"]

    assert interval("a", "a/epoch1", "b", "b/epoch1", "c", "c/epoch1") == interval("a", "a", "b", "b", "c", "c")


@given(st.from_regex(r"a?(/epoch\d{0,2}){0,2}b?\n?"), st.integers(0, 12))
def test_the_name_of_a_consultation_tells_its_case_and_epoch_whatever_the_case_is_called(case: str, epoch: int) -> None:
    consultation = of_epoch(case, epoch)
    assert (case_of(consultation), epoch_of(consultation)) == (case, epoch)
