"""``wardround score SUITE SRC``: scores of transcripts and outputs made anywhere.

One file a family of suites. A command's module imports nothing heavy before it is run.
"""

import typer

from experiments.commands.score.aie import aie, aie_simulator
from experiments.commands.score.clini_eval import clini_eval
from experiments.commands.score.consensus import consensus
from experiments.commands.score.icd10 import icd10
from experiments.commands.score.mcq import mcq
from experiments.commands.score.medchain import medchain
from experiments.commands.score.medpmc import medpmc
from experiments.commands.score.mvme import mvme
from experiments.commands.score.pairwise import aie_pairwise
from experiments.commands.score.simulator import simulator

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
