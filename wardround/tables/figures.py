"""Figures of tables, each drawn by a function that a table names in its pictures."""

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from wardround.tables.drawing import (
    COLOURS,
    MARKERS,
    PANELS_ACROSS,
    colour_of,
    draw_line,
    draw_lines,
    explain,
    further_width,
    in_lines,
    look_of,
    panels_of,
    panels_of_each,
    size_with_legend,
    whiskers,
)
from wardround.tables.table import IN_WORDS, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_DRAWN = 20  # the most frequent names per kind in a figure; the table has all
_MOST_NUMBERED = 6  # runs whose bars have room for their numbers


def draw_scores(table: Table) -> "Figure":
    """Draw a panel for each score with every run's mean and interval."""
    scores = [column for column in table.columns if column.mean]
    names = table.frame["run"].tolist()
    down = math.ceil(len(scores) / PANELS_ACROSS)
    across = math.ceil(len(scores) / down)
    size = (2.1 * across + 0.9 + further_width(names), down * (0.75 + 0.27 * len(names)))
    figure, panels = panels_of(down, across, size, sharey=True, used=len(scores))
    for panel, score in zip(panels, scores, strict=True):
        panel.set_title(score.title, loc="left")
        panel.grid(axis="y", visible=False)
        panel.margins(x=0.12)
        if score.ends:
            panel.set_xlim(*score.ends)
        points = table.points(score.name)
        panel.locator_params(axis="x", nbins=4)
        if points.empty:
            panel.set_xticks([])
            panel.text(0.5, 0.5, "unscored", ha="center", va="center", transform=panel.transAxes)
        for row in points.index:
            point = points.loc[[row]]
            panel.errorbar(
                point["mean"], [row], xerr=whiskers(point), **look_of(row),
                markersize=5, capsize=2.5, label=names[row], clip_on=False,
            )  # fmt: skip
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def draw_consensus(table: Table) -> "Figure":
    """Draw the share of cases in consensus by round, a line per run (AI Hospital, Figure 4)."""
    rounds = {int(column.title): column.name for column in table.columns if column.title.isdecimal()}
    names = table.frame["run"].tolist()
    figure, (panel,) = panels_of(1, 1, size_with_legend(4.8, 3.0, names))
    by_round = {number: table.points(name) for number, name in rounds.items()}
    for place, name in enumerate(names):
        known = pd.DataFrame({number: found.loc[place] for number, found in by_round.items() if place in found.index}).T
        if len(known):
            draw_line(panel, known, place, name, 0.04 * (place - (len(table.rows) - 1) / 2))
    panel.set_xticks(list(rounds))
    panel.set(xlabel="Rounds of discussion", ylabel="Share of cases in consensus", ylim=(0, 1))
    explain(figure, [panel], names)
    return figure


def draw_error_propagation(table: Table) -> "Figure":
    """Draw the cases still right at each stage, and its accuracy where all before was right (MedChain, Figure 1)."""
    from matplotlib.ticker import MaxNLocator

    stages = table.frame["stage"].unique()
    runs = table.frame.groupby("run", sort=False)
    names = [str(name) for name in runs.groups]
    figure, (left, right) = panels_of(1, 2, size_with_legend(8.6, 3.2, names))
    width = 0.8 / len(runs)
    accuracy = table.points("accuracy")
    for number, (name, rows) in enumerate(runs):
        shift = number - (len(runs) - 1) / 2
        at = np.arange(len(rows))
        bars = left.bar(at + shift * width, rows["still_right"], width * 0.92, color=colour_of(number), label=name)
        if len(runs) <= _MOST_NUMBERED:
            left.bar_label(bars, fontsize=7, padding=1)
        left.bar(
            at + shift * width, rows["unscored"], width * 0.92, bottom=rows["still_right"],
            color="none", edgecolor=colour_of(number), hatch="///", linewidth=0.6,
        )  # fmt: skip
        draw_line(
            right, accuracy.reindex(rows.index).set_axis(at).dropna(), number, str(name), min(0.05, width) * shift
        )
    left.set_title("Cases still right (hatched: unscored)", loc="left")
    right.set_title("Accuracy, all earlier stages right", loc="left")
    for panel in (left, right):
        panel.set_xticks(range(len(stages)), stages, rotation=30, ha="right", rotation_mode="anchor")
        panel.set_xlim(-0.5, len(stages) - 0.5)
        panel.grid(axis="x", visible=False)
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_ylim(0, 1.1 * max(1, (table.frame["still_right"] + table.frame["unscored"]).max()))
    right.set_ylim(0, 1)
    if len(runs) > 1:
        explain(figure, [left, right], names)
    return figure


def draw_learning_curve(table: Table) -> "Figure":
    """Draw the average of each fifth of the cases, and its gain over the first run, a line per run."""
    names = table.frame["run"].unique().tolist()
    figure, panels = panels_of(1, 2, size_with_legend(8.6, 3.2, names))
    draw_lines(panels, table, "run", "block", xlabel="Fifth of the cases")
    explain(figure, panels, names)
    return figure


def draw_simulators(table: Table) -> "Figure":
    """Draw a panel for each metric by round, a line per simulator (AIE, Figure 3a)."""
    metrics = sum(column.mean for column in table.columns)
    down = math.ceil(metrics / 3)
    figure, panels = panels_of(down, 3, (9.6, 2.5 * down), used=metrics)
    draw_lines(panels, table, "simulator", "round", xlabel="Exchanges before")
    figure.supylabel(f"Percent (Length: {IN_WORDS})", fontsize="medium")
    explain(figure, panels, table.frame["simulator"].unique().tolist(), loc="outside upper center", ncols=5)
    return figure


def draw_actions(table: Table) -> "Figure":
    """Draw a panel for each doctor: the stacked share of each action by turn (AIE, Figure 6c)."""
    from cycler import cycler

    actions = table.columns[3:]
    doctors = table.frame.groupby("run", sort=False)
    figure, panels = panels_of_each(len(doctors), (2.6, 2.4), beside=2.4)
    shades = [*COLOURS, *("#999999", "#f0e442", "#882255")]
    for panel, (name, rows) in zip(panels, doctors, strict=True):
        panel.set_prop_cycle(cycler(color=shades))
        below = np.zeros(len(rows))
        for action in actions:
            share = rows[action.name].astype(float).to_numpy()
            panel.bar(rows["turn"].astype(int), share, 0.9, bottom=below, label=action.title)
            below += share
        panel.set_title(in_lines(name), loc="left")
        panel.set(xlabel="Turn", ylim=(0, 1), xlim=(0.4, table.frame["turn"].astype(int).max() + 0.6))
        panel.grid(visible=False)
    panels[0].set_ylabel("Share of dialogues that go on")
    explain(figure, panels, [action.title for action in actions], fontsize=7)
    return figure


def draw_rounds(table: Table) -> "Figure":
    """Draw a panel for each doctor: boxes of coverage over dialogues, a line of right diagnoses (AIE, Figure 6d)."""
    doctors = table.frame.groupby("doctor", sort=False)
    figure, panels = panels_of_each(len(doctors), (2.8, 2.6), beside=0.6)
    points = table.points("DIAGNOSIS")
    for number, (panel, (name, rows)) in enumerate(zip(panels, doctors, strict=True)):
        turns = rows["round"].astype(int)
        boxes = rows[rows["median"].notna()]  # no dialogue of the others names an action
        stats = [
            {"med": row["median"], "q1": row["q1"], "q3": row["q3"], "whislo": row["lowest"], "whishi": row["highest"]}
            for _, row in boxes.iterrows()
        ]
        panel.bxp(stats, positions=list(turns[boxes.index]), widths=0.6, showfliers=False, manage_ticks=False)
        draw_line(panel, points.reindex(rows.index).set_axis(turns).dropna(), number, "Diagnosis", 0.0)
        panel.set_title(in_lines(name), loc="left")
        panel.set(xlabel="Round", ylim=(0, 100), xlim=(0.4, table.frame["round"].astype(int).max() + 0.6))
    panels[0].set_ylabel("Percent: coverage (boxes),\ndiagnosis (line)")
    return figure


_SOURCE_TITLES = {"people": "Judged by people", "majority": "Most of the people"}


def draw_win_rates(table: Table, judge: str = "a model") -> "Figure":
    """Draw a panel for each kind of rater: the doctors' win rates, grouped by aspect (AIE, Figure 4).

    ``judge``: who answered in the judge's place, for the title of that panel.
    """
    aspects = [column for column in table.columns if column.mean]
    judged = table.frame.groupby("judged", sort=False)
    figure, panels = panels_of(1, len(judged), (5.2 * len(judged), 3.4), sharey=True)
    for panel, (source, rows) in zip(panels, judged, strict=True):
        for number, (place, row) in enumerate(rows.iterrows()):
            beside = 0.1 * (number - (len(rows) - 1) / 2)
            for at, aspect in enumerate(aspects):
                point = table.points(aspect.name).reindex([place]).dropna()
                if len(point):
                    panel.errorbar(
                        [at + beside], point["mean"], yerr=whiskers(point), **look_of(number), markersize=5, capsize=2,
                        label=row["run"], clip_on=False,
                    )  # fmt: skip
        panel.axhline(50, color="0.6", linewidth=0.8)
        panel.set_title(_SOURCE_TITLES.get(str(source), f"Judged by {judge}"), loc="left")
        panel.set_xticks(range(len(aspects)), [aspect.title for aspect in aspects])
        panel.set(xlim=(-0.5, len(aspects) - 0.5), ylim=(0, 100))
        panel.grid(axis="x", visible=False)
    panels[0].set_ylabel("Wins, percent of what was decided")
    explain(figure, panels, table.frame["run"].unique().tolist(), loc="outside upper center", ncols=7)
    return figure


def draw_radar(table: Table, judge: str = "a model") -> "Figure":
    """Draw a radar for each kind of rater: win rates relative to the best doctor's in each aspect (AIE, Figure 6a).

    ``judge``: who answered in the judge's place, for the title of that radar.
    """
    aspects = [column for column in table.columns if column.mean]
    judged = table.frame.groupby("judged", sort=False)
    figure, panels = panels_of(1, len(judged), (4.4 * len(judged), 5.0), projection="polar")
    angles = np.linspace(0, 2 * math.pi, len(aspects), endpoint=False)
    for panel, (source, rows) in zip(panels, judged, strict=True):
        rates = rows[[f"{aspect.name}_mean" for aspect in aspects]].astype(float)
        scaled = rates / rates.max().replace(0, np.nan)
        for number, (name, line) in enumerate(zip(rows["run"], scaled.to_numpy(), strict=True)):
            points = [*angles, angles[0]], [*line, line[0]]
            panel.plot(*points, **look_of(number), markersize=4, label=name, clip_on=False)
        panel.set_title(_SOURCE_TITLES.get(str(source), f"Judged by {judge}"), loc="left", y=0.98)
        panel.set_xticks(angles, [aspect.title for aspect in aspects])
        panel.tick_params(axis="x", pad=14)
        panel.set(ylim=(0, 1), yticks=(0.5, 1.0))
    scale = "1: the best doctor's win rate in the aspect"
    explain(figure, panels, table.frame["run"].unique().tolist(), title=scale, loc="outside upper center", ncols=4)
    return figure


def draw_agreement(table: Table) -> "Figure":
    """Draw the mean correlation of each column with people's judgements, the highest on top (AIE, Figure 5b)."""
    figure, (panel,) = panels_of(1, 1, (5.4, 0.9 + 0.22 * len(table.rows)))
    points = table.points("r").dropna()
    panel.errorbar(points["mean"], points.index, xerr=whiskers(points), fmt="o", color=colour_of(0), capsize=2)
    panel.axvline(0, color="0.6", linewidth=0.8)
    panel.set_yticks(range(len(table.rows)), table.frame["column"].tolist())
    panel.set_ylim(len(table.rows) - 0.5, -0.5)
    panel.set(xlabel=next(column.title for column in table.columns if column.name == "r"), xlim=(-1, 1))
    panel.grid(axis="y", visible=False)
    return figure


def draw_formats(table: Table) -> "Figure":
    """Draw a panel for each doctor: right diagnoses by format with intervals, by examination (AIE, Figure 6b)."""
    doctors = table.frame.groupby("doctor", sort=False)
    figure, panels = panels_of_each(len(doctors), (0.8 + 0.7 * len(table.rows) / len(doctors), 3.0), beside=0.6)
    names = [next(one.title for one in table.columns if one.name == name) for name in ("mcq", "talked")]
    for panel, (doctor, rows) in zip(panels, doctors, strict=True):
        for number, name in enumerate(("mcq", "talked")):
            points = table.points(name).reindex(rows.index).reset_index(drop=True).dropna()
            panel.errorbar(
                points.index + 0.2 * (number - 0.5), points["mean"], yerr=whiskers(points), fmt=MARKERS[number],
                color=colour_of(number), capsize=2, label=names[number], clip_on=False,
            )  # fmt: skip
        panel.set_xticks(range(len(rows)), rows["examination"].tolist())
        panel.set_ylim(0, 100)
        panel.grid(axis="x", visible=False)
        if len(doctors) > 1:
            panel.set_title(in_lines(doctor), loc="left")
    panels[0].set_ylabel("Right diagnoses, percent")
    explain(figure, panels, names, loc="outside upper center", ncols=2)
    return figure


def draw_matrix(table: Table, lowest: int = -1, colours: str = "RdBu_r") -> "Figure":
    """Draw correlations as colours, from -1 to 1 (AIE, Figure 5)."""
    names, rows = [column.name for column in table.columns[1:]], table.frame[table.columns[0].name].tolist()
    size = 2.4 + 0.24 * len(names)
    figure, (panel,) = panels_of(1, 1, (size + 0.8, size))
    values = table.frame[names].astype(float).to_numpy()
    image = panel.imshow(values, cmap=colours, vmin=lowest, vmax=1)
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    panel.set_yticks(range(len(rows)), rows, fontsize=7)
    panel.grid(visible=False)
    figure.colorbar(image, ax=panel, shrink=0.6)
    return figure


draw_shares = partial(draw_matrix, lowest=0, colours="Blues")  # from 0 to 1 (AIE, Figure 3c)


def draw_information(table: Table) -> "Figure":
    """Draw a panel for each kind of information: the share known by round, a line per run (Med-PMC, Figure 4a)."""
    names = table.frame["run"].unique().tolist()
    panels_across = sum(column.mean for column in table.columns)
    figure, panels = panels_of(1, panels_across, size_with_legend(9.0, 3.0, names), sharey=True)
    last = table.frame["round"].max() + 0.5
    draw_lines(panels, table, "run", "round", xlabel="Round", xlim=(0.5, last))
    if len(names) > 1:
        explain(figure, panels, names)
    return figure


def draw_departments(table: Table) -> "Figure":
    """Draw a bar for each department, the largest first."""
    names, counts = table.frame["department"].tolist(), table.frame["dialogues"].tolist()
    figure, (panel,) = panels_of(1, 1, (6.0, 0.6 + 0.27 * len(names)))
    bars = panel.barh(range(len(names)), counts, color=COLOURS[0])
    panel.bar_label(bars, padding=3)
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)
    panel.set_xlabel("Dialogues")
    return figure


def draw_case_counts(table: Table) -> "Figure":
    """Draw a panel of bars for each kind that any case has."""
    kinds = list(table.frame.groupby("kind", sort=False))
    shown = [min(len(rows), _MAX_DRAWN) for _, rows in kinds]
    tallest = [max(shown[place : place + 2]) for place in range(0, len(shown), 2)]
    size = (10.0, 0.6 * len(tallest) + 0.19 * sum(tallest))
    figure, panels = panels_of(len(tallest), 2, size, used=len(kinds), heights=tallest)
    for panel, (kind, rows), count in zip(panels, kinds, shown, strict=True):
        frequent = rows.head(count)
        bars = panel.barh(frequent["name"], frequent["cases"].astype(int))
        panel.bar_label(bars, padding=2, fontsize=7)
        panel.invert_yaxis()
        panel.set_title(f"{kind} ({count} of {len(rows)})" if count < len(rows) else str(kind), loc="left")
        panel.grid(axis="y", visible=False)
        panel.tick_params(axis="y", labelsize=7)
    return figure
