"""Suites by name: how the answers of a run are scored."""

from collections.abc import Mapping

from evaluation.suites import aie, clini_eval, medchain, medpmc, mvme
from evaluation.suites.suite import CaseScores, Suite

SUITES: Mapping[str, Suite] = {
    suite.name: suite for suite in (medchain.suite, mvme.suite, aie.suite, medpmc.suite, clini_eval.suite)
}

__all__ = ["SUITES", "CaseScores", "Suite"]
