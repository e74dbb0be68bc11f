import subprocess
import sys

HEAVY = ("jieba", "nltk", "numpy", "rapidfuzz", "scipy")


def test_heavy_libraries_are_not_loaded_before_they_are_needed() -> None:
    program = (
        "import sys; import scoring.metrics.claims, scoring.metrics.diagnosis_grade;"
        "import scoring.medchain.error_propagation, scoring.case_scores;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
