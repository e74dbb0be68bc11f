"""Colour phantoms: endoscopy and a stained blood smear."""

import numpy as np

from cases.phantoms.drawing import Array, Canvas, Colour, Point, points_of, ramp


def gastric_ulcer(rng: np.random.Generator) -> Canvas:
    """Gastric antrum: one round ulcer of 10 mm with a clean white base and a red swollen margin."""
    view = Canvas(rng, 0.13, (0.02, 0.02, 0.02))
    pylorus: Point = (3.0, -8.0)
    ulcer: Point = (-4.5, 8.0)
    away = np.hypot(view.x - pylorus[0], view.y - pylorus[1])
    angle = np.arctan2(view.y - pylorus[1], view.x - pylorus[0])
    mucosa: Colour = (0.84, 0.47, 0.38)
    view.pixels[:] = mucosa
    full = np.ones_like(view.x)
    folds = np.sin(6.6 * np.sqrt(away) + 0.5 * np.sin(3 * angle) + 0.35 * view.noise(4)) * np.exp(-away / 24)
    pleats = np.sin(7 * angle + 0.9 * view.noise(3)) * np.exp(-(((away - 5) / 3.5) ** 2))
    relief = 0.16 * folds + 0.05 * pleats + 0.03 * view.noise(1.6) + 0.015 * view.noise(0.35)
    view.scale((1.03, 0.9, 0.86), 0.5 + 0.2 * view.noise(3))
    view.scale(1.0 + relief, full)
    view.scale((0.45, 0.26, 0.24), ramp((6.5 - away) / 5.5))
    view.paint((0.1, 0.03, 0.03), ramp((2.9 + 0.18 * np.sin(5 * angle) + 0.2 * view.noise(2) - away) / 1.2))
    turn = np.arctan2(view.y - ulcer[1], view.x - ulcer[0])
    wobble = 0.1 * np.sin(3 * turn + 1.0) + 0.07 * np.sin(5 * turn)
    r = np.hypot(view.x - ulcer[0], view.y - ulcer[1]) + wobble
    swelling = np.exp(-(((r - 6.6) / 1.4) ** 2))
    light = -(np.cos(turn) * 0.3 + np.sin(turn) * 0.75)
    view.paint((0.78, 0.2, 0.18), 0.8 * swelling)
    view.scale(1.0 + 0.2 * light * np.sign(r - 6.6) * ramp(np.abs(r - 6.6) / 0.9), swelling)
    view.paint((0.66, 0.1, 0.1), np.exp(-(((r - 5.2) / 0.45) ** 2)))
    base = ramp((5.0 - r) / 0.4 + 0.5)
    view.paint((0.93, 0.9, 0.8), base)
    view.scale(1.0 - 0.05 * view.noise(0.7) - 0.12 * light * ramp((r - 2.5) / 2.5), base)
    lamp = 1.12 - 0.5 * ramp(np.hypot(view.x, view.y - 3) / 32)
    view.scale(lamp + 0.015 * view.noise(0.13), full)
    for x, y, size, degrees in (
        (8, 12, 0.6, 30),
        (9.6, 11.2, 0.3, 10),
        (-13, -2, 0.45, -50),
        (-8.6, 14.2, 0.4, 20),
        (-5.6, 1.7, 0.5, 5),
        (13, -11, 0.3, 40),
    ):
        view.paint((1.0, 0.97, 0.94), 0.9 * view.ellipse((x, y), size * 2.2, size * 0.7, degrees, soft=0.4))
    octagon = points_of("-13,-23.5 13,-23.5 23,-13.5 23,13.5 13,23.5 -13,23.5 -23,13.5 -23,-13.5")
    view.paint((0.02, 0.02, 0.02), 1.0 - view.shape(octagon, 0.15, smooth=False))
    view.bar(5, "5 mm")
    return view


def _red_cell(smear: Canvas, centre: Point, size: float) -> None:
    """Draw a red cell with its pale centre; the size is its radius."""
    squeeze, degrees = smear.rng.uniform(0.94, 1.0), smear.rng.uniform(0, 180)
    r = smear.radius(centre, size, size * squeeze, degrees)
    disc = ramp((1.0 - r) * size / 0.35 + 0.5)
    tone = smear.rng.uniform(-0.03, 0.03)
    smear.paint((0.84 + tone, 0.56 + tone, 0.53 + tone), 0.95 * disc)
    smear.paint((0.76, 0.44, 0.44), 0.55 * disc * np.exp(-(((r - 0.9) / 0.1) ** 2)))
    smear.paint((0.95, 0.82, 0.78), 0.75 * ramp((0.55 - r) / 0.4))


def _ring(smear: Canvas, centre: Point, size: float, degrees: float) -> None:
    """Draw a ring form: a thin blue ring with a dark red dot of chromatin on it."""
    r = smear.radius(centre, size, 0.88 * size, degrees)
    smear.paint((0.36, 0.3, 0.62), 0.9 * np.exp(-(((r - 1.0) * size / 0.2) ** 2)))
    smear.paint((0.93, 0.82, 0.84), 0.7 * ramp((0.72 - r) / 0.3))
    angle = np.deg2rad(degrees)
    dot = (centre[0] + size * float(np.cos(angle)), centre[1] + size * float(np.sin(angle)))
    smear.paint((0.42, 0.05, 0.3), smear.ellipse(dot, 0.47, 0.36, degrees + 90, soft=0.2))


def _neutrophil(smear: Canvas, centre: Point) -> None:
    x, y = centre
    smear.paint((0.89, 0.8, 0.84), smear.ellipse(centre, 6.0, 5.7, soft=0.5))
    smear.paint((0.8, 0.62, 0.72), (0.3 + 0.25 * smear.noise(0.2)) * smear.ellipse(centre, 5.8, 5.5, soft=0.5))
    nucleus: Array = np.zeros_like(smear.x)
    for dx, dy, rx, ry in ((-2.4, -1.8, 1.9, 1.5), (0.7, -2.7, 1.6, 1.4), (2.5, 0.0, 1.4, 1.8), (0.4, 2.3, 1.8, 1.4)):
        nucleus = np.maximum(nucleus, smear.ellipse((x + dx, y + dy), rx, ry, soft=0.4))
    bridge = smear.line([(x - 2.4, y - 1.8), (x + 0.7, y - 2.7), (x + 2.5, y), (x + 0.4, y + 2.3)], 0.8, soft=0.1)
    smear.paint((0.36, 0.2, 0.5), np.maximum(nucleus, bridge))
    smear.scale(1.0 + 0.12 * smear.noise(0.35), nucleus)


def malaria_smear(rng: np.random.Generator) -> Canvas:
    """Thin blood smear: red cells of normal size, five of them with ring forms, one of these with two rings.

    Lengths on this canvas are micrometres.
    """
    smear = Canvas(rng, 0.16, (0.95, 0.93, 0.92))
    smear.unit = 0.001
    neutrophil: Point = (17.0, -15.0)
    rows = np.arange(-31.0, 36.0, 7.9)
    cells: list[Point] = []
    for row, y in enumerate(rows):
        for x in np.arange(-32.0 + 4.3 * (row % 2), 36.0, 8.6):
            place = (float(x + rng.uniform(-0.9, 0.9)), float(y + rng.uniform(-0.5, 0.5)))
            if np.hypot(place[0] - neutrophil[0], place[1] - neutrophil[1]) > 10.2:
                cells.append(place)
    for cell in cells:
        _red_cell(smear, cell, rng.uniform(3.55, 3.85))
    _neutrophil(smear, neutrophil)
    for x, y in ((9.6, -8.2), (-22.0, 20.6)):
        smear.paint((0.62, 0.45, 0.68), smear.ellipse((x, y), 1.1, 0.9, 20, soft=0.4))
    for target, degrees in (((-19, -15), 30.0), ((9, 1), 200.0), ((-10, 17), 120.0), ((20, 16), 280.0)):
        x, y = min(cells, key=lambda cell: np.hypot(cell[0] - target[0], cell[1] - target[1]))
        _ring(smear, (x + 1.0, y - 0.6), 0.95, degrees)
    x, y = min(cells, key=lambda cell: float(np.hypot(cell[0] + 8, cell[1] + 3)))
    _ring(smear, (x - 1.5, y + 0.9), 0.9, 150.0)
    _ring(smear, (x + 1.5, y - 0.9), 0.9, 20.0)
    smear.add((0.004, 0.004, 0.004), smear.noise(0.16))
    smear.bar(10, "10 um", 0.0)
    return smear
