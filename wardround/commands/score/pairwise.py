"""``wardround score aie-pairwise``: compare doctors in pairs, by a judge, on the same cases."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from cases.grouping import repetitions
from cases.importers.source import Source
from cases.text.words import language_of
from llm import ModelSettings
from llm.specs import HUMAN, OFFLINE
from scoring.aie import tournament
from scoring.aie.metrics import score_aie
from scoring.aie.pairwise import ASPECTS, ROLES, Consultation, Duel, View, compare, length_bias, position_bias, tally
from scoring.aie.people_choices import named, read_choices, verdicts_by_view
from scoring.aie.tournament import Rater, Verdict
from scoring.aie.transcripts import AieTranscript
from scoring.asking import ask_each
from scoring.metrics.samples import PERCENT, Samples, estimates, of_epoch
from wardround.commands.exit_codes import refuse
from wardround.commands.options import check_known, separated
from wardround.commands.score.aie import read_kept
from wardround.commands.score.choices import choosing_each, chosen_by, diagnosed, other_options
from wardround.commands.score.compared import cell
from wardround.commands.score.output import DrawnFolder, ExtraTable, Scores, asked_of_rules, refuse_records, write_drawn
from wardround.commands.score.transcripts import (
    Diagnose,
    LeaveOut,
    by_either_name,
    checked_models,
    counts,
    each_doctor,
    pairing,
)
from wardround.rating.agreement import agreement_table
from wardround.rating.items import Key
from wardround.rating.marks import read_marks
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import RecordedRun
from wardround.tables.aie_tournament import agreement, matrix, significance, win_rates
from wardround.tables.table import P_VALUE, Table, as_text

_VIEWS: Mapping[str, tuple[View, ...]] = {"doctor": ("doctor",), "patient": ("patient",), "both": ("doctor", "patient")}
_PAIRS = {"all": None, "closed": 2, "mixed": 1, "open": 0}  # number of closed-model doctors in a pair

Duels = Mapping[tuple[str, str, str], Duel]  # by case and the two doctors
Verdicts = Mapping[View, Mapping[Rater, list[Verdict]]]


def aie_pairwise(
    doctors: Annotated[
        list[Path],
        Argument(
            metavar="DOCTORS", help="Two or more doctors: transcript files, run directories, or a sweep directory."
        ),
    ],
    view: Annotated[
        Literal["doctor", "patient", "both"], Option(help="Judge from the doctor's view, the patient's view, or both.")
    ] = "doctor",
    judge: Annotated[
        str, Option(metavar="SPEC", help="Model that judges, 'offline' for rules, or 'none' to use only --people.")
    ] = "offline",
    sees: Annotated[
        Literal["record", "dialogues"],
        Option(
            help="Show the judge of the doctor's view the record and diagnosis too (record), or only the dialogues."
        ),
    ] = "record",
    orders: Annotated[
        Literal["both", "one"],
        Option(
            help="Judge each pair in both orders, counting disagreement as a tie (both), or once in random order (one)."
        ),
    ] = "both",
    people: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="File of people's choices: the authors' JSON, a CSV, or ratings.jsonl; may be repeated.",
        ),
    ] = None,
    closed: Annotated[
        str | None,
        Option(
            metavar="NAMES",
            help="Doctors with closed models, separated by commas; agreement is also shown separately for them.",
        ),
    ] = None,
    diagnose: Diagnose = None,
    leave_out: LeaveOut = None,
    out: Annotated[
        DrawnFolder, Option(metavar="DIR", help="Write win rates, correlations and figures to this directory.")
    ] = None,
) -> Scores:
    """Compare doctors in pairs, as in AIE.

    Scores are win rates in percent of the decided comparisons, without ties and failures. For two doctors, they are
    those of the first. With --people, the agreement of judge and metrics with people is also printed (Figure 5).
    """
    _check_judge(judge, bool(people), sees, view)
    path_of, runs = _two_doctors(doctors)
    read = dict(zip(path_of, read_kept([*path_of.values()], leave_out), strict=True))
    names = list(read)
    closed_models = separated([closed or ""])
    check_known("--closed", closed_models, names)
    notes = pairing(read)
    judges = {each: checked_models({ROLES[each]: judge}) for each in (_VIEWS[view] if judge != "none" else ())}
    diagnosing = choosing_each(diagnose, "--diagnose", path_of, runs)
    by_rules = asked_of_rules(("--judge", judge), *chosen_by("--diagnose", diagnosing))
    choices = list(_choices(people or (), names, by_either_name(read.values())))
    if diagnosing:  # only now, after everything that may be refused, so that no answer is paid for in vain
        read = {name: diagnosed(records, diagnosing[name], notes) for name, records in read.items()}
        notes += other_options(read)
    by_case = {name: {one.case: one for one in records} for name, records in read.items()}
    duels_by_view = {
        each: _duels(by_case, each, settings, sees == "record", orders == "one") for each, settings in judges.items()
    }
    notes += [*_not_played(choices, by_case), *by_rules]
    verdicts = _verdicts(duels_by_view, choices, tuple(judges) or _VIEWS["both"])
    who = "rules" if judge == OFFLINE else "a model"
    figures = _filled(win_rates(_with_majority(given), each, names, who) for each, given in verdicts.items())
    votes = {each: tournament.votes(given.get("people", [])) for each, given in verdicts.items()}
    among_people = _filled(
        agreement_table(given, f"aie-raters-{each}", f"Agreement among people, the {each}'s view")
        for each, given in votes.items()
    )
    with_people = (
        list(_agreement_with_people(verdicts, _metrics(read, notes), closed_models, tested=out is not None))
        if people
        else []
    )
    write = partial(write_drawn, [*figures, *among_people, *with_people], out, by_rules)
    drawn = [
        *(figures if len(names) > 2 or people else []),
        *among_people,
        *(one for one in with_people if "5b" in one.name),
    ]
    failures = list(_failures(duels_by_view, several=len(names) > 2))
    notes += failures
    compared = {case for duels in duels_by_view.values() for case, _, _ in duels} | {one.case for one in choices}
    cases, more = counts(compared)
    metrics = estimates(_samples(verdicts, names), clustered=True, ends=PERCENT)
    tables = [_outcomes(duels, each, len(duels_by_view) > 1) for each, duels in duels_by_view.items()]
    scores = Scores("aie-pairwise", "sound", cases, metrics, tables, notes, bool(failures), more=more, write=write)
    return replace(scores, drawn=drawn, listed=not drawn)


def _check_judge(judge: str, has_people: bool, sees: str, view: str) -> None:
    """Exit if nobody would judge, a person would be waited for, or ``--sees`` would have no effect."""
    if judge == HUMAN:
        refuse(
            "--judge human: a person cannot answer here; use `wardround rate RUN RUN --scale pairwise`, then --people"
        )
    if judge == "none" and not has_people:
        refuse("--judge none: needs people's choices; add --people FILE")
    if sees != "record" and view == "patient":
        refuse(f"--sees {sees}: is for the doctor's view; add --view doctor or both")


def _two_doctors(doctors: Sequence[Path]) -> tuple[dict[str, Path], list[RecordedRun]]:
    """Return the file or run of each doctor by name, and the runs; exits if there are not two different doctors."""
    path_of, runs = each_doctor(doctors)
    paths = [*path_of.values()]
    if len(paths) < 2:
        refuse(f"{paths[0]}: only one doctor; give two or more, or a sweep directory")
    if repeated := [*repetitions(path.resolve() for path in paths)]:
        refuse(f"{repeated[0]}: is given twice; give each doctor once")
    return path_of, runs


def _filled(tables: Iterable[Table]) -> list[Table]:
    return [table for table in tables if table.rows]


def _failures(duels_by_view: Mapping[View, Duels], *, several: bool) -> Iterator[str]:
    """Yield which pairs have no judgement, and why; the doctors are named if there are several pairs."""
    for duels in duels_by_view.values():
        for (case, one, other), duel in duels.items():
            if duel.failure:
                yield f"Case {case}{f', {one} and {other}' * several}: {duel.failure}"


def _not_played(choices: Sequence[Verdict], by_case: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield a note on people's choices about cases that no transcript covers."""
    if unpaired := [one.case for one in choices if any(one.case not in by_case[name] for name in (one.one, one.other))]:
        yield (
            f"{len(unpaired)} of people's {len(choices)} choices are about cases that these two doctors did not play, "
            f"such as {unpaired[0]!r}; they count only in people's win rates."
        )


def _metrics(doctors: Mapping[str, list[AieTranscript]], notes: list[str]) -> dict[str, Samples]:
    """Return the automatic metrics of each doctor; notes if nobody chose a diagnosis."""
    scores: dict[str, Samples] = {name: score_aie(records, "sound") for name, records in doctors.items()}
    if not any(record.diagnosis for records in doctors.values() for record in records):
        scores = {name: {**samples, "DIAGNOSIS": []} for name, samples in scores.items()}
        notes.append(
            "DIAGNOSIS is not among the metrics, because none was chosen; add --diagnose SPEC to have a model choose."
        )
    return scores


def _duels(
    by_case: Mapping[str, Mapping[str, AieTranscript]],
    view: View,
    settings: ModelSettings,
    sees_record: bool,
    once: bool,
) -> Duels:
    """Have the judge compare every two doctors on each case that both played."""
    doctors = combinations(by_case, 2)
    pairs = [(case, one, other) for one, other in doctors for case in by_case[one] if case in by_case[other]]

    async def compare_pair(pair: tuple[str, str, str]) -> Duel:
        case, one, other = pair
        record = by_case[one][case]
        language = language_of(record.record)
        return await compare(
            view,
            Consultation.of(record, language),
            Consultation.of(by_case[other][case], language),
            settings,
            language=language,
            record=record.findings if sees_record else "",
            answer=record.right if sees_record else "",
            place=case if len(by_case) == 2 else "/".join(pair),
            once=once,
        )

    return dict(run_alone(ask_each, pairs, compare_pair).answers)


def _choices(files: Sequence[Path], names: Sequence[str], case_of: Mapping[str, str]) -> Iterator[Verdict]:
    """Yield people's choices, with the names of the doctors and cases here."""
    seen: Counter[tuple[str, ...]] = Counter()  # over all files: two folders may have one of the same name
    for file in files:
        known, unknown = named(_chosen_in(file), names)
        check_known(f"{file}: unknown doctor", unknown, names)
        for one in known:
            rater = one.rater or file.stem
            pair = (one.case, one.view, *sorted((one.one, one.other)), rater)
            asked = [(*pair, aspect) for aspect in one.outcomes]
            seen.update(asked)
            times = max(seen[each] for each in asked)
            repeat = f" ({times})" if times > 1 else ""
            yield replace(one, case=case_of.get(one.case, one.case), rater=f"{rater}{repeat}")


def _chosen_in(file: Path) -> list[Verdict]:
    """Return people's choices in a file: ratings of `wardround rate`, or as :func:`read_choices` reads them."""
    if file.suffix != ".jsonl" or "model1" in Source(file).first:  # the authors' form may be in lines, too
        found, problems = read_choices(file)
        refuse_records(problems)
        return found
    outcomes: dict[tuple[str, Key], dict[str, int]] = {}
    for mark in read_marks(file):
        if mark.scale == "pairwise":
            outcomes.setdefault((mark.rater, mark.item), {})[mark.question] = -mark.value
    rated = [
        each
        for (rater, (one, other, case, epoch)), given in outcomes.items()
        for each in verdicts_by_view(of_epoch(case, epoch), one, other, given, rater)
    ]
    if not rated:
        refuse(f"{file}: no judgements on scale pairwise")
    return rated


def _with_majority(given: Mapping[Rater, list[Verdict]]) -> dict[Rater, list[Verdict]]:
    """Add the majority of people's choices, if several people judged the same."""
    people = given.get("people", [])
    several = any(len(raters) > 1 for by_item in tournament.votes(people).values() for raters in by_item.values())
    return {
        **({"people": people} if people else {}),
        **({"majority": tournament.majority(people)} if several else {}),
        **({"judge": given["judge"]} if "judge" in given else {}),
    }


def _verdicts(judged: Mapping[View, Duels], choices: Sequence[Verdict], views: Collection[View]) -> Verdicts:
    """Return the verdicts of people and of the judge, by view; views without verdicts are left out."""
    sides = {"one": 1, "other": -1, "tie": 0}
    found: dict[View, dict[Rater, list[Verdict]]] = {}
    for view in views:
        if chosen := [one for one in choices if one.view == view]:
            found[view] = {"people": chosen}
        if view in judged:
            found.setdefault(view, {})["judge"] = [
                Verdict(case, one, other, {each: sides[duel.outcome(each) or "tie"] for each in ASPECTS[view]}, view)
                for (case, one, other), duel in judged[view].items()
                if not duel.failure
            ]
    return found


def _agreement_with_people(
    verdicts: Verdicts, metrics: Mapping[str, Samples], closed: Collection[str], *, tested: bool
) -> Iterator[Table]:
    """Yield Figure 5: how people's outcomes, the judge's, and differences of the automatic metrics agree.

    With ``tested`` also the p of each correlation, which takes seconds.
    """
    sources: tuple[Rater, ...] = ("people", "judge")
    columns = tournament.difference_columns(metrics)
    columns = {
        name: column
        for source in sources
        for view, given in verdicts.items()
        for name, column in tournament.outcome_columns(given.get(source, ()), source, view).items()
    } | columns
    methods: tuple[Literal["spearman"], Literal["pearson"]] = ("spearman", "pearson")
    for kind, closed_count in _PAIRS.items():
        if closed_count is not None and not closed:
            continue
        chosen_columns = columns if closed_count is None else tournament.of_pairs(columns, closed, closed_count)
        if any(column for name, column in chosen_columns.items() if name.startswith("people: ")):
            for method in methods:
                yield agreement(chosen_columns, method, kind)
                yield matrix(chosen_columns, method, kind)
            if tested:
                yield significance(chosen_columns, kind)


def _samples(verdicts: Verdicts, names: Sequence[str]) -> Samples:
    """Return how often the first of two doctors wins, or each of more, by aspect (and view and source if several)."""
    found = {}
    for view, by_source in verdicts.items():
        for source, given in by_source.items():
            for doctor in names[:1] if len(names) == 2 else names:
                for aspect in ASPECTS[view]:
                    parts = [doctor] * (len(names) > 2) + [source] * (len(by_source) > 1) + [view] * (len(verdicts) > 1)
                    found[": ".join([*parts, aspect])] = tournament.success(given, doctor, aspect)
    return found


def _outcomes(duels: Duels, view: View, several: bool) -> ExtraTable:
    found = list(duels.values())
    rows = []
    of_case = [(case, duel) for (case, *_), duel in duels.items()]
    for aspect in ASPECTS[view]:
        counted, position, length = tally(found, aspect), position_bias(found, aspect), length_bias(of_case, aspect)
        biases = [each for bias in (position, length) for each in (cell(bias.share), as_text(bias.p, P_VALUE))]
        rows.append([aspect, *map(str, counted), *biases])
    header = ["aspect", "won", "lost", "tied", "missing", "first shown wins", "p", "longer wins", "p"]
    title = "Outcomes for the first doctor of each pair, and biases by position and length (0.5 is unbiased)"
    return ExtraTable(f"{title}: the {view}'s view" if several else title, header, rows)
