"""All commands of ``wardround score``: one per family of suites, and one per suite that only scores runs."""

import typer
from typer.core import TyperCommand
from typer.main import get_group

from scoring.suite import SUITES
from wardround.commands.plugin_options import open_doors
from wardround.commands.score.ai_hospital import consensus, icd10, mvme
from wardround.commands.score.aie import aie, mcq
from wardround.commands.score.clini_eval import clini_eval
from wardround.commands.score.medpmc import medpmc
from wardround.commands.score.output import command
from wardround.commands.score.pairwise import aie_pairwise
from wardround.commands.score.replies import replies
from wardround.commands.score.rescored import rescoring_by
from wardround.commands.score.simulator import aie_simulator, simulator

FOREIGN = (mcq, mvme, icd10, consensus, aie, aie_simulator, aie_pairwise, medpmc, simulator, replies, clini_eval)


def commands() -> dict[str, TyperCommand]:
    """Return the commands by name, including suites registered by plug-ins."""
    of_files = {score.__name__: score for score in FOREIGN}
    of_runs = {name: rescoring_by(suite) for name, suite in SUITES.items() if name not in of_files}
    app = typer.Typer(rich_markup_mode=None)
    for name, score in {**of_runs, **of_files}.items():
        app.command(name.replace("_", "-"))(command(score))
    open_doors(app)
    return get_group(app).commands  # type: ignore[return-value]
