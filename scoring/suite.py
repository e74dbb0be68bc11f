"""Suites by name: how the answers of a run are scored."""

from collections.abc import Mapping

from scoring.aie import suite as aie
from scoring.clini_eval import suite as clini_eval
from scoring.medchain import suite as medchain
from scoring.medpmc import suite as medpmc
from scoring.mvme import suite as mvme
from scoring.suite import CaseScores, Suite

SUITES: Mapping[str, Suite] = {
    suite.name: suite for suite in (medchain.suite, mvme.suite, aie.suite, medpmc.suite, clini_eval.suite)
}

__all__ = ["SUITES", "CaseScores", "Suite"]
