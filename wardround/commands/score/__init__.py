"""``wardround score SUITE SRC``: scores of transcripts and outputs made anywhere.

One file a family of suites. A command's module imports nothing heavy before it is run.
"""

import typer

from wardround.commands.score.aie import aie, aie_simulator
from wardround.commands.score.clini_eval import clini_eval
from wardround.commands.score.consensus import consensus
from wardround.commands.score.icd10 import icd10
from wardround.commands.score.mcq import mcq
from wardround.commands.score.medpmc import medpmc
from wardround.commands.score.mvme import mvme
from wardround.commands.score.pairwise import aie_pairwise
from wardround.commands.score.rescored import medchain
from wardround.commands.score.simulator import simulator

score_app = typer.Typer(
    help="Score transcripts and outputs made anywhere, in the sound or the published way.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
score_app.command()(medchain)
score_app.command()(mcq)
score_app.command()(mvme)
score_app.command()(icd10)
score_app.command()(consensus)
score_app.command()(aie)
score_app.command()(aie_simulator)
score_app.command()(aie_pairwise)
score_app.command()(medpmc)
score_app.command()(simulator)
score_app.command()(clini_eval)
