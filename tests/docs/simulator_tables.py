"""The tables of `docs/simulators.md` are what `wardround score simulator` computes offline on our items.

After a change of offline rules, ``python -m tests.docs.simulator_tables`` writes them anew.
"""

import re
from typing import get_args

from scoring.aie.simulator import LENGTH
from tests.test_architecture import ROOT
from wardround.commands.score.output import Scores
from wardround.commands.score.simulator import Judged, simulator
from wardround.tables.table import as_markdown

PAGE = ROOT / "docs" / "simulators.md"
REGIONS: dict[Judged | None, str] = {
    None: "simulator scores",
    "medpmc": "patient and actor judgements",
    "ai_hospital": "reply judgements",
}


def on_page(judged: Judged | None, scores: Scores, page: str) -> str:
    """The page with these scores between the markers of their region."""
    rows = [
        [name, "" if found.mean is None else f"{found.mean:.1f}", str(found.n)]
        for name, found in scores.metrics.items()
        if name != LENGTH
    ]
    tables = [] if judged == "medpmc" else [as_markdown(["metric", "percent", "n"], rows)]
    tables += [as_markdown(table.header, table.rows) for table in scores.tables[:1]]
    return with_region(page, REGIONS[judged], "\n\n".join(tables))


def with_region(page: str, name: str, drawn: str) -> str:
    """The page with tables between the markers of a region."""
    region = re.compile(f"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    return region.sub(lambda marks: f"{marks[1]}\n{drawn}\n\n{marks[2]}", page)


if __name__ == "__main__":
    for each in (None, *get_args(Judged)):
        PAGE.write_text(on_page(each, simulator(judged=each), PAGE.read_text("utf-8")), "utf-8")
