"""What is written once and said in several places is said alike."""

import re
import subprocess
import tomllib
from typing import Any

import yaml

from tests.test_architecture import ROOT

README = (ROOT / "README.md").read_text("utf-8")
CI = (ROOT / ".ci" / "run").read_text("utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
INSTALL = "pip install --retries 1 -e . -c constraints.txt && wardround run"
TEST = "pip install --retries 1 -e '.[test]' -c constraints.txt && pytest"


def test_the_readme_has_one_command_to_run_and_one_to_test_and_ci_follows_them() -> None:
    commands = [line for line in README.splitlines() if line.startswith("pip install")]
    assert commands == [INSTALL, TEST]
    assert "pip install --quiet --retries 1 --no-compile --editable '.[test]' --constraint constraints.txt" in CI
    pip, _, pytest = [line for line in CI.splitlines() if "pip install" in line or line == "pytest"]
    assert "--upgrade 'pip>=26'" in pip and pytest == "pytest"


def test_the_workflow_does_what_ci_does_and_nothing_beside_it() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert ROOT.joinpath(".ci", "run").stat().st_mode & 0o100


def test_the_versions_of_python_that_are_promised_are_those_that_the_workflow_tries() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    tried = workflow["jobs"]["ci"]["strategy"]["matrix"]["python-version"]
    assert [f"Programming Language :: Python :: {version}" for version in tried] == PROJECT["project"]["classifiers"]
    assert PROJECT["project"]["requires-python"] == f">={tried[0]}"
    promise = f"Python {tried[0]} to {tried[-1]}"
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "constraints.txt"]
    assert all(promise in page.read_text("utf-8") for page in pages)


def test_the_checks_before_a_commit_are_those_of_ci() -> None:
    (hooks,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert all(re.search(rf"^{re.escape(hook['entry'])}( |$)", CI, re.MULTILINE) for hook in hooks["hooks"])


def test_the_constraints_hold_pytorch_to_the_cpu_build_that_the_project_admits() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert "--extra-index-url https://download.pytorch.org/whl/cpu" in lines
    (torch,) = [line for line in lines if line.startswith("torch==")]
    (cap,) = [need for need in PROJECT["project"]["dependencies"] if need.startswith("torch")]
    assert cap.endswith("<2.14") and torch < "torch==2.14"


def test_uv_takes_pinned_versions_from_either_index() -> None:
    """By itself it takes a package only from the first index that has it: PyTorch's has NumPy, but another version."""
    assert PROJECT["tool"]["uv"] == {"index-strategy": "unsafe-best-match"}


def test_the_citation_is_of_this_version_and_names_the_five_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == PROJECT["project"]["version"]
    titles = [reference["title"].split(":")[0] for reference in citation["references"]]
    assert sorted(titles) == sorted(
        [
            "AI Hospital",
            "Automatic Interactive Evaluation for Large Language Models with State Aware Patient Simulator",
            "CliniChat",
            "Med-PMC",
            "MedChain",
        ]
    )


def test_the_changelog_has_an_open_section_above_this_version() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## ")]
    assert headings[0] == "## Unreleased"
    assert headings[1].startswith(f"## {PROJECT['project']['version']} (")


def test_the_shell_script_is_valid() -> None:
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)
