"""``wardround cases import | check | list | show | split | sample | rate | draft-tests | confirm | inject``."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wardround.commands.case_files import read, refuse_file, report
from wardround.commands.case_items import confirm, draft_tests, with_items_read
from wardround.commands.exit_codes import fail_if, group_of_commands, refuse
from wardround.commands.options import Cache, CallSettings, CaseIds
from wardround.commands.plugin_options import names_in_help
from wardround.commands.rate import rate_cases
from wardround.printing import counted, echo, first_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cases import AnswerKey, Case


cases_app = group_of_commands("Import, check, show, split and rate cases.")


def _formats() -> "Mapping[str, Iterable[str]]":
    from cases.importers import IMPORTERS

    return {"Formats": IMPORTERS}


@cases_app.command("import", cls=names_in_help(_formats, light=True))
def import_(
    format: Annotated[str, Argument(metavar="FORMAT", help="Format of the source (see below).")],
    source: Annotated[Path, Argument(metavar="SRC", help="File to read.")],
    out: Annotated[Path, Option("--out", "-o", help="JSON-lines file to write.")],
    departments: Annotated[
        Path | None, Option(help="File of department names to check second-level departments against (medchain).")
    ] = None,
    require: Annotated[
        str | None,
        Option(
            metavar="PARTS",
            help="Leave out cases that lack any of these parts: all, or history, results, department, examinations, "
            "diagnosis and treatment, separated by commas.",
        ),
    ] = None,
    reader: Annotated[
        str | None,
        Option(
            metavar="SPEC",
            help="Model that infers the items of the key that the source does not state. They are marked as inferred, "
            "and listed in FILE.checklist.csv for a person to check (`cases confirm`).",
            show_default="by rule",
        ),
    ] = None,
    cache: Cache = None,
    settings: CallSettings = None,
    licence: Annotated[
        str, Option(metavar="TEXT", help="Licence of the source, for the provenance of each case.")
    ] = "",
) -> None:
    """Convert a file in another format to cases.

    Nothing is written if any record is faulty. Cases for which the --reader gives no answer keep the items found by
    rule and are reported, and the command exits with code 1.
    """
    from cases import save_cases
    from cases.completeness import PARTS, missing
    from cases.importers import import_cases

    required = tuple(PARTS) if require == "all" else tuple((require or "").replace(",", " ").split())
    if unknown := [part for part in required if part not in PARTS]:
        refuse(f"--require {unknown[0]}: unknown part; expected all, or some of {', '.join(PARTS)}")
    result = import_cases(format, source, departments=departments)
    report(result.problems)
    if result.errors:
        refuse(f"nothing was written: {counted(len(result.errors), 'error')} in {source}")
    lacking = {case.id: parts for case in result.cases if (parts := missing(case, required))}
    for name, parts in lacking.items():
        echo(f"left out: {name}: no {', '.join(parts)}", err=True)
    complete = [case for case in result.cases if case.id not in lacking]
    if not complete:
        none_whole = f"no case of {source} has all of {', '.join(required)}{_lacks(lacking.values())}"
        reason = none_whole if lacking else f"{source} holds no case"
        refuse(f"nothing was written: {reason}")
    if licence:
        terms = {"licence": licence.strip()}
        complete = [
            case.model_copy(update={"provenance": case.provenance.model_copy(update=terms)}) for case in complete
        ]
    complete, unread = with_items_read(complete, reader, cache, settings, out)
    save_cases(complete, out)
    warned = f", with {counted(len(result.warnings), 'warning')}" if result.warnings else ""
    left_out = f", {len(lacking)} left out as incomplete{_lacks(lacking.values())}" if required else ""
    departments_of = {case.key.department for case in complete if case.key.department}
    pictures = counted(sum(len(case.examinations.images) for case in complete), "picture")
    holding = f"{counted(len(departments_of), 'department')}, {pictures}"
    echo(f"{counted(len(complete), 'case')} written to {out}: {holding}{left_out}{warned}")
    fail_if(unread)


def _lacks(parts_of: "Iterable[list[str]]") -> str:
    """Return in how many cases each part is missing, in brackets; a case may lack several."""
    counts = Counter(part for parts in parts_of for part in parts)
    return f" ({', '.join(f'{part}: {count}' for part, count in counts.items())})" if counts else ""


@cases_app.command()
def check(
    file: Annotated[str, Argument(help="JSON-lines file of cases, or 'builtin'.")],
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Also print the distribution of the cases, and write it to this directory as CSV, LaTeX, SVG and PNG.",
        ),
    ] = None,
) -> None:
    """Check a case file. Report every problem or, if there is none, a summary of the cases."""
    from cases import check_cases
    from cases.doubts import doubts
    from prompts import PromptError, check_language
    from wardround.store.traces import differing_by_letter_case

    cases, problems = check_cases(file)
    if problems:
        refuse_file(file, problems)
    _print_summary(cases)
    for language in sorted({case.language for case in cases}):
        try:
            check_language(language)
        except PromptError as error:
            echo(f"to run them: {error}")
    for other, own in differing_by_letter_case(case.id for case in cases):
        echo(f"to run them: the ids {other!r} and {own!r} differ by letter case alone, which some file systems ignore")
    for doubt, ids in doubts(cases):
        echo(f"to look at: {doubt}: {counted(len(ids), 'case')} ({first_of(ids)})")
    if out is not None:
        _write_distribution(cases, out)


@cases_app.command("list")
def list_(
    file: Annotated[str, Option("--cases", help="JSON-lines file of cases, or 'builtin'.")] = "builtin",
) -> None:
    """List the cases, one per line. Tab-separated columns: id, language, split, age, sex, complaint."""
    for case in read(file):
        patient = case.patient
        age = "" if patient.age_years is None else f"{patient.age_years:g}"
        complaint = " ".join(patient.chief_complaint.split())
        echo("\t".join((case.id, case.language, case.split or "", age, patient.sex or "", complaint)))


@cases_app.command()
def show(
    case_id: Annotated[str, Argument(metavar="ID", help="Id of the case.")],
    file: Annotated[str, Option("--cases", help="JSON-lines file of cases, or 'builtin'.")] = "builtin",
    with_key: Annotated[bool, Option("--with-key", help="Also show the answer key.")] = False,
) -> None:
    """Show a case, as YAML; its answer key only with --with-key."""
    from cases.validation import suggestion

    cases = {case.id: case for case in read(file)}
    if case_id not in cases:
        hint = suggestion(case_id, cases, f"the first of its {counted(len(cases), 'case')} is {next(iter(cases))}")
        refuse(f"no case {case_id!r} in {file}; {hint}")
    _print_case(cases[case_id], with_key)


@cases_app.command()
def split(
    file: Annotated[Path, Argument(help="JSON-lines file of cases.")],
    ratio: Annotated[str, Option(help="Sizes of the splits, as train:validation:test or train:test.")] = "7:1:2",
    seed: Annotated[int, Option(help="Seed of the draw.")] = 0,
    rewritten: Annotated[Path | None, Option("--out", "-o", help="File to write.", show_default="FILE itself")] = None,
    anew: Annotated[bool, Option("--anew", help="Split again if cases already have a split.")] = False,
) -> None:
    """Split cases into train, validation and test.

    Each department is split by the ratio, and records of the same patient stay together.
    """
    from cases import save_cases
    from cases.splits import duplicates, split_cases

    cases = read(str(file))
    if (known := sum(case.split is not None for case in cases)) and not anew:
        refuse(
            f"{file}: {known} of {counted(len(cases), 'case')} already have a split, which a memory may depend on; "
            "give --anew to split again"
        )
    try:
        divided = split_cases(cases, ratio, seed)
    except ValueError as error:
        refuse(str(error))
    save_cases(divided, rewritten or file)
    together = [group for group in duplicates(cases) if len(group) > 1]
    counts = Counter(str(case.split) for case in divided)
    echo(f"{rewritten or file}: " + ", ".join(f"{counts[name]} {name}" for name in ("train", "validation", "test")))
    if together:
        records = sum(map(len, together))
        echo(f"{records} similar records were kept together, in {counted(len(together), 'group')}")


@cases_app.command()
def sample(
    sources: Annotated[
        list[str], Argument(metavar="SRC", help="Notes, in any format that `wardround reconstruct` reads.")
    ],
    limit: Annotated[int | None, Option(min=1, metavar="N", help="Use only the first N notes.")] = None,
    shuffle: Annotated[int | None, Option(metavar="SEED", help="Shuffle the notes with this seed.")] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Also write a JSON line for each note: id, lacks.")] = None,
) -> None:
    """List notes without complaint, history or results. `wardround reconstruct --sufficient` keeps the other notes."""
    from cases import CaseFileError, Problem
    from cases.notes import Note, lacking
    from wardround.config.experiment_file import check_experiment
    from wardround.config.selection import select
    from wardround.store.provenance import write_json_lines

    try:
        data = {"notes": sources[0] if len(sources) == 1 else sources, "limit": limit, "shuffle": shuffle}
        experiment = check_experiment({"data": data, "graph": "reconstruction"})
        warnings: list[Problem] = []
        drawn = [stored.item for stored in select(experiment.data, warnings).items]
    except CaseFileError as error:
        refuse_file(", ".join(sources), error.problems)
    report(warnings)
    lacks = {note.id: lacking(note) for note in drawn if isinstance(note, Note)}
    for name, parts in lacks.items():
        if parts:
            echo(f"{name} lacks {', '.join(parts)}")
    counts = Counter(part for parts in lacks.values() for part in parts)
    missing = "".join(f", {count} without {part}" for part, count in counts.most_common())
    echo(
        f"{sum(not parts for parts in lacks.values())} of {len(lacks)} notes have a complaint, a history and results"
        + missing
    )
    if out:
        write_json_lines(out, ({"id": name, "lacks": parts} for name, parts in lacks.items()))


@cases_app.command()
def inject(
    source: Annotated[str, Argument(metavar="SRC", help="JSON-lines file of cases, or 'builtin'.")],
    out: Annotated[Path, Option("--out", "-o", help="JSON-lines file to write.")],
    case_ids: CaseIds = None,
    earlier: Annotated[
        bool,
        Option(
            "--earlier", help="Put the attacks into what a memory recalls of a case; build a memory from the variants."
        ),
    ] = False,
) -> None:
    """Write variants of cases with prompt injections. Answer keys are unchanged, so that scores can be compared."""
    from cases import save_cases
    from cases.injections import injected, injected_earlier

    cases = read(source, case_ids)
    variants = [variant for case in cases for variant in (injected_earlier if earlier else injected)(case)]
    save_cases(variants, out)
    echo(f"{counted(len(variants), 'variant')} of {counted(len(cases), 'case')} written to {out}")


cases_app.command("rate")(rate_cases)
cases_app.command()(confirm)
cases_app.command("draft-tests")(draft_tests)


def _print_summary(cases: "list[Case]") -> None:
    from scoring.medchain.answers import REFERENCES
    from scoring.medchain.suite import suite
    from wardround.tables.terminal import print_rows

    groups: dict[str, Mapping[str, int | str]] = {
        "Language": Counter(case.language for case in cases),
        "Split": Counter(case.split or "none" for case in cases),
        "Department": Counter(case.key.department or "not recorded" for case in cases),
        "Sex": Counter(case.patient.sex or "not recorded" for case in cases),
        "Age": _ages([case.patient.age_years for case in cases if case.patient.age_years is not None]),
        "Pictures": Counter(str(len(case.examinations.images) or "none") for case in cases),
        "Answer key for": {
            suite.published[score]: _stated(part, [case.key for case in cases]) for score, part in REFERENCES.items()
        },
    }
    rows = [
        ["" if number else name, value, str(count)]
        for name, counts in groups.items()
        for number, (value, count) in enumerate(counts.items())
    ]
    print_rows(counted(len(cases), "case"), ["", "", "Cases"], rows)


def _stated(part: str, keys: "list[AnswerKey]") -> str:
    """Return how many keys state a part, and in how many an importer inferred it."""
    is_inferred = [part in key.inferred for key in keys if getattr(key, part)]
    return str(is_inferred.count(False)) + (f" ({is_inferred.count(True)} inferred)" if any(is_inferred) else "")


def _ages(years: "list[float]") -> dict[str, int]:
    from cases.text.record_sentences import age_in_words

    ends = dict.fromkeys(age_in_words(age, "en") for age in (min(years), max(years))) if years else {}
    return {" to ".join(ends): len(years)} if ends else {}


def _write_distribution(cases: "list[Case]", out: Path) -> None:
    from wardround.tables.making import write_tables
    from wardround.tables.medchain import case_counts
    from wardround.tables.terminal import print_table

    table = case_counts(cases)
    print_table(table)
    write_tables([table], out)
    echo(f"Distribution: {out}")


def _print_case(case: "Case", with_key: bool) -> None:
    """Print a case as YAML, without empty parts."""
    import shutil

    import yaml

    content = case.model_dump(mode="json", exclude={"folder"}, exclude_defaults=True)
    content = {"id": case.id, "language": case.language, **content}
    if not with_key:
        content.pop("key", None)
        content["provenance"] = {"source": case.provenance.source}
    width = shutil.get_terminal_size().columns
    echo(yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=width), nl=False)
