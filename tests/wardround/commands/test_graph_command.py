"""`wardround graph`: the picture of a graph, as text or as a file."""

import itertools
import re
import resource
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from graphs.catalogue import graph_by, graph_names
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from wardround.cli import app

GUIDE = Path(__file__).parents[3] / "docs" / "workflow.md"
CONSULTATIONS = GUIDE.with_name("consultation.md")
STAGES = ("referral", "history_taking", "examination", "diagnosis", "treatment")


def draw(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["graph", *arguments])


def test_the_workflow_is_the_default_and_shows_the_five_stages_in_order() -> None:
    drawn = draw()
    assert drawn.exit_code == 0
    assert drawn.stdout == draw("clinical_workflow").stdout
    assert "graph TD" in drawn.stdout
    positions = [drawn.stdout.index(f"\t{stage}({stage})") for stage in STAGES]
    assert positions == sorted(positions)
    for here, there in (("referral", "history_taking"), ("history_taking", "examination"), ("diagnosis", "treatment")):
        assert f"{here} --> {there};" in drawn.stdout


def test_every_choice_of_the_workflow_says_what_it_depends_on() -> None:
    """Newcomers read the picture before the code: no way out of a fork is unlabelled."""
    forks = [line for line in draw("clinical_workflow").stdout.splitlines() if "-." in line]
    assert len(forks) == 6
    assert all("&nbsp;" in line for line in forks)


def test_the_way_back_for_a_missing_examination_is_drawn() -> None:
    drawn = draw("clinical_workflow").stdout
    assert "review -. &nbsp;something is missing&nbsp; .-> further_examination;" in drawn
    assert "further_examination --> examination;" in drawn


def test_depth_opens_the_stages() -> None:
    assert "subgraph" not in draw("--depth", "0").stdout
    opened = draw("--depth", "2").stdout
    assert all(f"subgraph {stage}\n" in opened for stage in STAGES)
    assert all(f"subgraph {inner}\n" in opened for inner in ("level1", "level2", "interview", "physical", "auxiliary"))


@pytest.mark.parametrize("strategy", ("group", "single", "medagents", "mdagents", "dispute_resolution"))
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_every_strategy_is_drawn_at_every_depth_with_each_subgraph_once(strategy: str, depth: int) -> None:
    drawn = draw("--strategy", strategy, "--depth", str(depth))
    assert drawn.exit_code == 0, drawn.output
    opened = re.findall(r"subgraph (\S+)\n", drawn.stdout)
    assert len(set(opened)) == len(opened)
    if strategy == "single" and depth > 1:
        assert {"diagnosis", "diagnosis_single", "treatment", "treatment_single"} <= set(opened)


@pytest.mark.parametrize("stage", ["diagnosis", "treatment"])
def test_a_stage_shows_its_discussion_and_both_ends_of_the_feedback(stage: str) -> None:
    drawn = draw(stage).stdout
    assert "record_round -. &nbsp;objections&nbsp; .-> discuss;" in drawn
    assert "record_round -. &nbsp;agreed, or rounds used up&nbsp; .-> conclude;" in drawn
    assert "decide -. &nbsp;each judge&nbsp; .-> judge;" in drawn


@pytest.mark.parametrize("name", graph_names())
def test_every_graph_is_drawn(name: str) -> None:
    drawn = draw(name)
    assert drawn.exit_code == 0
    assert "__start__" in drawn.stdout


def test_every_patient_is_drawn_and_one_of_a_plug_in_too() -> None:
    assert {f"patients.{name}" for name in PATIENTS} <= set(graph_names())
    drawn = CliRunner().invoke(app, ["graph", "patients.terse", "--plugin", "examples/own_patient.py"])
    assert drawn.exit_code == 0 and "answer" in drawn.stdout, drawn.stderr
    for name in ("patients.medchain", "patients.clinichat"):
        assert draw(name).exit_code == 0
    refused = draw("patients.medchian")
    assert refused.exit_code == 2 and "did you mean 'patients.medchain'" in refused.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [("clinical", "did you mean 'clinical_workflow'?"), ("zzz", "expected one of clini_eval, clinical_workflow")],
)
def test_an_unknown_graph_is_refused_with_the_one_that_was_meant_or_known_ones(name: str, told: str) -> None:
    drawn = draw(name)
    assert drawn.exit_code == 2
    assert f"error: graph {name}: " in drawn.stderr and told in drawn.stderr
    assert drawn.stdout == ""


def test_mermaid_goes_into_a_file(tmp_path: Path) -> None:
    out = tmp_path / "referral.mmd"
    assert draw("referral", "--out", str(out)).exit_code == 0
    assert out.read_text("utf-8") == draw("referral").stdout.removesuffix("\n")


@pytest.mark.parametrize(("name", "depth"), [*((name, 0) for name in graph_names()), ("clinical_workflow", 2)])
def test_an_svg_shows_every_box_edge_and_word_and_no_box_upon_another(tmp_path: Path, name: str, depth: int) -> None:
    out = tmp_path / "graph.svg"
    assert draw(name, "--depth", str(depth), "--out", str(out)).exit_code == 0
    picture = ElementTree.fromstring(out.read_text("utf-8"))
    drawn = graph_by(name, "group").get_graph(xray=depth)
    boxes = [
        tuple(float(box.attrib[side]) for side in ("x", "y", "width", "height"))
        for box in picture.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(boxes) == len(drawn.nodes)
    for (x, y, width, height), (other_x, other_y, other_width, _) in itertools.combinations(boxes, 2):
        assert abs(y - other_y) >= height or x + width <= other_x or other_x + other_width <= x
    left, top, wide, high = map(float, picture.attrib["viewBox"].split())
    assert all(left <= x and x + width <= left + wide and top <= y <= top + high - 34 for x, y, width, _ in boxes)
    lines = [path for path in picture.iter("{http://www.w3.org/2000/svg}path") if "marker-end" in path.attrib]
    assert len(lines) == len(drawn.edges)
    words = Counter("".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text"))
    assert not Counter(str(edge.data) for edge in drawn.edges if edge.data) - words


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", "utf-8")
    drawn = draw("referral", "--out", str(tmp_path / "file" / "referral.mmd"))
    assert drawn.exit_code == 2
    assert drawn.stderr == f"error: {tmp_path / 'file'}: file exists where a folder is needed; name another\n"


def test_a_folder_for_a_picture_is_made(tmp_path: Path) -> None:
    assert draw("referral", "--out", str(tmp_path / "new" / "referral.mmd")).exit_code == 0
    assert (tmp_path / "new" / "referral.mmd").read_text("utf-8").startswith("---")


def test_a_png_is_refused_with_the_form_that_is_drawn(tmp_path: Path) -> None:
    drawn = draw("--out", str(tmp_path / "workflow.PNG"))
    assert drawn.exit_code == 2 and drawn.stderr.endswith("name a file that ends in .svg\n")
    assert not (tmp_path / "workflow.PNG").exists()


def test_the_guide_shows_the_pictures_as_they_are() -> None:
    """After a change of a graph, put what `wardround graph` prints into the guide."""
    pictures = re.findall(r"```mermaid\n(.*?)\n```", GUIDE.read_text("utf-8"), flags=re.DOTALL)
    assert pictures == [draw(name).stdout.strip() for name in ("clinical_workflow", "diagnosis")]


def test_the_page_on_consultations_shows_the_pictures_as_they_are_and_files_that_are_there() -> None:
    page = CONSULTATIONS.read_text("utf-8")
    pictures = re.findall(r"```mermaid\n(.*?)\n```", page, flags=re.DOTALL)
    assert pictures == [
        draw(name).stdout.strip() for name in ("consultation", "patients.ai_hospital", "patients.medpmc")
    ]
    for name in re.findall(r"`((?:cases|graphs|nodes|tests)/[\w/.]+)`", page):
        assert (CONSULTATIONS.parents[1] / name).exists(), name


def test_the_guide_lists_every_switch_and_only_files_that_are_there() -> None:
    guide = GUIDE.read_text("utf-8")
    switches = guide.partition("## The switches\n")[2].partition("\n## ")[0]
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", switches, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert named == set(Context.model_fields)
    files = re.findall(r"`((?:graphs|nodes|prompts|scoring|retrieval)/[\w/.]+)`", guide)
    assert len(files) > 8
    for name in files:
        path = name.replace("ROLE", "patient").replace("STAGE", "diagnosis")
        assert (GUIDE.parents[1] / path).exists(), name


@pytest.mark.parametrize("name", ["workflow.svg", "workflow.mmd"])
def test_a_picture_that_a_full_disk_does_not_take_is_named_and_leaves_the_one_before(tmp_path: Path, name: str) -> None:
    out, (soft, hard) = tmp_path / name, resource.getrlimit(resource.RLIMIT_FSIZE)
    out.write_text("the one before", "utf-8")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        drawn = draw("clinical_workflow", "-o", str(out))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert drawn.exit_code == 2 and drawn.stderr == f"error: {out}: file too large\n"
    assert out.read_text("utf-8") == "the one before" and [*tmp_path.iterdir()] == [out]
