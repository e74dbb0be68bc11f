"""X-ray and gamma-camera phantoms: shadows that add up, and counts."""

from itertools import pairwise

import numpy as np

from cases.phantoms.drawing import Array, Canvas, Point, curve, mirrored, points_of, ramp, turned

_RIGHT_LUNG = points_of(
    "-52,-150 -84,-138 -112,-100 -130,-45 -139,20 -142,82 -136,94 -118,78 -88,66 -55,68 -34,80 "
    "-36,40 -28,0 -27,-60 -24,-110 -30,-140"
)
_LEFT_LUNG = points_of(
    "52,-150 84,-138 112,-100 130,-45 139,20 143,90 138,103 120,88 96,78 86,72 82,50 66,14 44,-16 "
    "38,-44 36,-66 26,-110 30,-140"
)


def _bone(film: Canvas, outline: list[Point], body: float, cortex: float, width: float, smooth: bool = True) -> Array:
    """Add the shadow of a bone: a spongy body inside a denser cortex; return its mask."""
    mask = film.shape(outline, smooth=smooth)
    sponge = 0.02 * film.noise(1.2 * film.mm_per_pixel) + 0.012 * film.noise(4 * film.mm_per_pixel)
    film.add(body + sponge, mask)
    film.add(cortex - body, film.rim(mask, width))
    return mask


def _vessels(film: Canvas, start: Point, degrees: float, length: float, width: float) -> Array:
    """Return the shadow of a lung vessel that bends and branches."""
    angle = np.deg2rad(degrees)
    bend = np.deg2rad(degrees + film.rng.uniform(-18, 18))
    middle = (start[0] + 0.5 * length * np.cos(angle), start[1] + 0.5 * length * np.sin(angle))
    end = (middle[0] + 0.5 * length * np.cos(bend), middle[1] + 0.5 * length * np.sin(bend))
    shadow = (0.05 + 0.022 * width) * film.line([start, middle, end], width, soft=0.35 * width)
    if length > 18:
        for side, origin in ((-1, middle), (1, end)):
            turn = side * film.rng.uniform(16, 36)
            branch = _vessels(film, origin, float(np.rad2deg(bend)) + turn, 0.62 * length, 0.62 * width)
            shadow = np.maximum(shadow, branch)
    return shadow


def _chest(film: Canvas, aerated: list[Point] | None = None) -> tuple[Array, Array]:
    """Draw a chest, PA, 1 mm per pixel; the markings of the left lung end at the outline given.

    Returns:
        The masks of the right and of the left chest cavity.
    """
    torso = film.shape(
        points_of(
            "-42,-210 -46,-176 -110,-160 -176,-138 -215,-60 -215,210 215,210 215,-60 176,-138 110,-160 46,-176 42,-210"
        ),
        1.5,
    )
    film.paint(0.5, torso)
    for sign in (-1, 1):
        film.paint(
            0.26,
            film.shape([(sign * 168, -66), (sign * 178, -30), (sign * 178, 240), (sign * 168, 240)], 6, smooth=False),
        )
    film.add(0.2, film.shape(points_of("-150,96 -88,68 -30,82 30,90 96,80 150,104 150,240 -150,240"), 5))
    right, left = film.shape(_RIGHT_LUNG, 1.2), film.shape(_LEFT_LUNG, 1.2)
    lungs = np.maximum(right, left)
    film.paint(0.19 + 0.05 * ramp((film.y + 60) / 160), lungs)
    film.add(
        0.14,
        film.shape(points_of("-30,-8 -38,26 -40,60 -20,84 40,92 80,78 82,50 60,8 36,-30 0,-46 -22,-30"), 5)
        * (1 - lungs),
    )
    film.add(0.1, film.shape(points_of("-22,-120 22,-120 38,-66 38,-40 28,0 -28,0 -28,-60"), 4) * (1 - lungs))
    film.add(
        -0.14,
        film.shape(points_of("-8,-192 8,-192 8,-84 20,-68 14,-64 0,-74 -18,-62 -22,-68 -8,-84"), 1.5, smooth=False),
    )
    for y in np.arange(-180, 180, 23.0):
        film.add(0.05, film.shape([(-17, y), (17, y), (15, y + 9), (17, y + 18), (-17, y + 18), (-15, y + 9)], 1.5))
    film.paint(0.16, 0.85 * film.ellipse((84, 104), 34, 16, 8, soft=4))
    within_left = left if aerated is None else left * film.shape(aerated)
    for hilum, within, heading in (((-36.0, -28.0), right, 180), ((40.0, -34.0), within_left, 0)):
        shadow = 0.15 * film.ellipse(hilum, 12, 20, soft=9)
        for turn in (-84, -58, -28, 0, 26, 48, 70):
            towards = heading + turn * (1 if heading == 0 else -1)
            vessel = _vessels(film, hilum, towards + film.rng.uniform(-6, 6), 62 if abs(turn) < 75 else 50, 4.6)
            shadow = np.maximum(shadow, vessel)
        film.add(1.0, shadow * within)
    for index in range(10):
        reach = (70, 98, 114, 124, 131, 136, 140, 142, 142, 140)[index]
        y = -146 + 24.0 * index
        back: list[Point] = [(17, y), (0.5 * reach, y - 8), (0.85 * reach, y + 10), (reach, y + 36)]
        front: list[Point] = [(reach, y + 36), (reach - 5, y + 52), (0.72 * reach, y + 74), (0.42 * reach, y + 84)]
        for flip in (False, True):
            behind = film.line(mirrored(back) if flip else back, 10, soft=0.8)
            whole = (
                behind if index > 6 else np.maximum(behind, film.line(mirrored(front) if flip else front, 9, soft=0.8))
            )
            film.add(
                1.0,
                (0.05 * whole + 0.06 * film.rim(whole, 2.0) + 0.035 * film.soften(behind, 2)) * (0.35 + 0.65 * lungs),
            )
    collar = points_of("12,-120 40,-128 80,-130 118,-146 150,-152")
    blade = points_of("122,-138 160,-128 150,-60 128,-22 122,-40 128,-90")
    head_of_arm = points_of("168,-150 186,-138 192,-100 192,0 176,0 172,-90 158,-128")
    for sign in (-1, 1):
        for part, amount in ((blade, 0.07), (head_of_arm, 0.16)):
            film.add(amount, film.shape([(sign * x, y) for x, y in part], 1.5))
        shadow = film.line([(sign * x, y) for x, y in collar], 12, soft=1)
        film.add(0.11, shadow)
        film.add(0.11, film.rim(shadow, 2.5))
    return right, left


def _chest_finish(film: Canvas) -> Canvas:
    film.add(0.014 * film.noise(1.0), np.ones_like(film.x))
    film.letter("L", 356, 20)
    film.bar(50, "50 mm")
    return film


def pleural_effusion(rng: np.random.Generator) -> Canvas:
    """Chest, PA: right effusion, its meniscus rising to the fifth anterior rib at the chest wall."""
    film = Canvas(rng, 1.0, 0.03)
    _chest(film)
    surface = points_of("-143,-24 -137,-4 -124,17 -102,33 -72,39 -46,36 -28,26")
    fluid = film.shape([*curve(surface), (-30, 120), (-80, 150), (-132, 130), (-144, 92)], 2.2, smooth=False)
    shade = film.pixels[..., 0]
    film.paint(0.69 + 0.25 * (shade - film.soften(shade, 5)), fluid)
    return _chest_finish(film)


def pneumothorax(rng: np.random.Generator) -> Canvas:
    """Chest, PA: left pneumothorax; no markings outside the pleural line.

    The lung keeps 0.84 of the width of its cavity; by the cube of that (Light's index) it has lost 40 % of its volume.
    """
    film = Canvas(rng, 1.0, 0.03)
    lung = points_of("46,-122 66,-118 88,-88 104,-44 112,12 114,60 110,92 96,100 70,100 40,60 20,-40 26,-100 36,-118")
    _, left = _chest(film, lung)
    inside = film.shape(lung)
    film.add(0.09, inside * left)
    film.add(-0.1, left * (1 - film.shape(lung, 0.5)))
    film.add(0.26, film.line(lung, 1.6, soft=0.5, closed=True) * left * ramp((film.x - 34) / 20))
    return _chest_finish(film)


def _turned_bone(film: Canvas, outline: list[Point], degrees: float, about: Point, body: float = 0.3) -> Array:
    return _bone(film, turned(curve(outline, closed=True), degrees, about), body, 1.6 * body, 1.6, smooth=False)


def _oval(film: Canvas, x: float, y: float, rx: float, ry: float, degrees: float, body: float = 0.3) -> None:
    """Draw a carpal bone: a rounded block rather than an ellipse."""
    turns = np.arange(0, 6.2, 0.45)
    bulge = 1.08 + 0.05 * np.cos(4 * turns + 0.8 * x) + 0.05 * np.cos(3 * turns + x)
    ring = [(x + rx * float(b * np.cos(t)), y + ry * float(b * np.sin(t))) for t, b in zip(turns, bulge, strict=True)]
    _turned_bone(film, ring, degrees, (x, y), body)


def _break(film: Canvas, path: list[Point], width: float, bone: Array) -> None:
    """Draw a jagged fracture line across a bone: a dark gap between faintly dense edges."""
    gap = np.maximum.reduce([film.line(list(pair), width, soft=0.25) for pair in pairwise(path)])
    film.add(0.07, ramp(3 * film.soften(gap, 1.2)) * bone)
    film.scale(0.42, gap)


def _wrist_front(film: Canvas) -> None:
    """Draw the PA view: ulna, the radius with its step and gap, two rows of carpal bones, metacarpals."""
    ulna = points_of("-61,90 -60,40 -61,8 -63,-2 -60,-8 -54,-5 -51,4 -52,40 -51,90")
    radius = points_of(
        "-42,90 -42,50 -43.5,24 -45,10.4 -46.6,9.4 -48.5,-4 -47,-9.5 -38,-9 -28,-12 -18,-19 -14,-17 "
        "-15.5,-6 -20,9.6 -18.2,10.6 -22,26 -26,50 -26,90"
    )
    _bone(film, ulna, 0.32, 0.5, 2.0)
    broken = _bone(film, radius, 0.34, 0.52, 2.0)
    _break(film, points_of("-47,10 -42,8.8 -37,10.8 -32,9.2 -27,10.8 -23,9.4 -18,10.6"), 1.3, broken)
    carpals = (
        (-25, -23, 8.6, 5.4, -38),
        (-37.5, -17, 6.6, 5.6, 8),
        (-49.5, -17, 6.0, 5.2, 20),
        (-51, -17.5, 3.2, 2.8, 0, 0.18),
        (-15, -36, 5.6, 4.8, 20),
        (-24, -36.5, 4.4, 5.0, 0),
        (-34.5, -32, 5.6, 8.6, 8),
        (-46.5, -30.5, 6.2, 7.4, -15),
    )
    for carpal in carpals:
        _oval(film, *carpal)
    for x, lean in ((-25, 4), (-36, -1), (-46, -6), (-54, -12)):
        shaft = points_of("-4.5,-41 4.5,-41 2.8,-51 2.6,-90 -2.6,-90 -2.8,-51")
        _turned_bone(film, [(x + dx, y) for dx, y in shaft], lean, (x, -41))
    _turned_bone(film, points_of("-15,-42 -8,-42 -9,-54 -8,-90 -14,-90 -14,-54"), 20, (-12, -42))


def _wrist_side(film: Canvas) -> None:
    """Draw the lateral view, palm to the left: the end of the radius tilts to the back of the hand."""
    film.add(0.14, film.shape(points_of("40,90 41,40 42,4 45,-6 49,0 48,40 48,90"), 0.6))
    hinge = (46.0, 9.0)
    tilted = turned(points_of("32,7 30.5,-3 30,-9.5 36,-8 42,-8 48.5,-11.5 49.5,-5 48.5,8"), 26, hinge)
    bent = _bone(
        film,
        [
            *curve([(33, 90), (33, 50), (32.5, 26), (31.5, 10.5)]),
            *curve(tilted),
            *curve([(48, 11), (46.5, 30), (45, 50), (45, 90)]),
        ],
        0.34,
        0.55,
        2.0,
        smooth=False,
    )
    _break(film, points_of("31,8 35,8.6 38.5,7.2 42,9.6 45,8.6 49.5,10.6"), 1.5, bent)
    for x, y, rx, ry, degrees in (
        (52.5, -13.5, 7.4, 5.2, 30),
        (45, -15, 5.0, 8.0, 30),
        (51.5, -26.5, 5.8, 8.6, 6),
        (42.5, -28, 5.0, 6.5, 20),
    ):
        _oval(film, x, y, rx, ry, degrees, 0.22)
    for lean in (-5, -1, 3):
        _turned_bone(film, points_of("46,-35 55,-35 53,-47 53,-96 48,-96 48,-47"), lean, (51, -35), 0.17)
    _turned_bone(film, points_of("36,-33 43,-33 41,-43 42,-74 36,-74 37,-43"), -24, (40, -33), 0.26)


def radius_fracture(rng: np.random.Generator) -> Canvas:
    """Left wrist, PA beside lateral: the distal radius is broken across 2 cm from the joint and tilted dorsally.

    In the lateral view the back of the hand is on the right.
    """
    film = Canvas(rng, 0.4, 0.04)
    flesh = film.shape(points_of("-66,84 -66,20 -70,-20 -74,-50 -72,-84 -10,-84 -6,-40 -12,-10 -16,20 -16,84"), 1.5)
    flesh = np.maximum(
        flesh, film.shape(points_of("22,84 22,30 18,0 14,-30 16,-84 64,-84 66,-30 64,0 54,30 54,84"), 1.5)
    )
    film.paint(0.22, flesh)
    _wrist_front(film)
    _wrist_side(film)
    film.add(0.016 * film.noise(0.5), flesh)
    film.paint(0.0, film.line([(4, -77), (4, 77)], 2))
    film.letter("L", 10, 12)
    film.bar(20, "20 mm")
    return film


def knee_osteoarthritis(rng: np.random.Generator) -> Canvas:
    """Right knee, standing AP: medial joint space narrow, osteophytes, dense bone under the medial cartilage."""
    film = Canvas(rng, 0.4, 0.04)
    flesh = film.shape(points_of("-56,-86 -54,-30 -56,0 -52,40 -48,86 50,86 54,40 60,0 58,-30 62,-86"), 3)
    film.paint(0.24, flesh)
    film.add(0.05, film.shape(points_of("-40,-86 -46,0 -38,86 40,86 50,0 48,-86"), 7))
    femur = points_of(
        "-15,-92 -16,-55 -27,-35 -38,-22 -40,-8 -35,-2.6 -20,-2.4 -9,-6 -3,-17 4,-17 9,-5 20,0.2 "
        "35,0.0 41.5,-2 47,-0.5 42.5,-8 41,-22 30,-36 19,-55 18,-92"
    )
    tibia = points_of(
        "-37,5 -40.5,4.2 -39,9 -36,20 -27,36 -18,55 -16,92 15,92 17,55 27,36 38,20 42,9 48.5,4.6 "
        "41.5,3.2 34,1.9 18,2.1 10,2.6 6,-2.6 2,1.5 -3,1.5 -6,-2.2 -10,3.6 -24,4.4"
    )
    fibula = points_of("-46,92 -46,50 -48,30 -46,20 -38,18 -34,26 -37,40 -38,92")
    _bone(film, fibula, 0.24, 0.42, 2.2)
    upper = _bone(film, femur, 0.36, 0.5, 2.4)
    lower = _bone(film, tibia, 0.36, 0.5, 2.4)
    film.add(0.07, film.ellipse((1, -26), 21, 21, soft=3))
    film.add(0.05, film.rim(film.ellipse((1, -26), 21, 21), 2))
    for side in (-1, 1):
        film.add(
            0.12, film.line([(1.5 + side * 15.5, -90), (1.5 + side * 15.5, -58), (1 + side * 20, -44)], 4, soft=1.2)
        )
        film.add(0.12, film.line([(-0.5 + side * 14, 90), (-0.5 + side * 15, 60), (side * 20, 46)], 4, soft=1.2))
    for centre, height, bone in (((28.0, 5.0), 5.0, lower), ((28.0, -3.5), 4.0, upper)):
        film.add(0.24, film.ellipse(centre, 17, height, soft=5) * bone)
    film.add(0.06, film.line([(-36, -3.5), (-20, -3.2), (-10, -7)], 1.6, soft=0.5))
    film.add(0.06, film.line([(-36, 5.6), (-22, 5.2), (-10, 4.6)], 1.6, soft=0.5))
    film.add(0.014 * film.noise(0.5), flesh)
    film.letter("R", 10, 10)
    film.bar(20, "20 mm")
    return film


def _tooth(film: Canvas, crown: list[Point], roots: list[list[Point]], pulp: list[list[Point]]) -> Array:
    """Draw a lower tooth: ligament space and lamina dura around the roots, dentine, enamel and the pulp."""
    body: Array = np.maximum.reduce([film.shape(part) for part in (*roots, crown)])
    grown = [ramp((film.soften(body, width) - 0.12) / 0.2) for width in (0.55, 0.28)]
    socket = ramp((film.y + 3.2) / 1.5)
    film.paint(0.66, 0.7 * grown[0] * socket)
    film.paint(0.2, 0.9 * grown[1] * socket)
    film.paint(0.64 + 0.012 * film.noise(0.4), body)
    cap = film.shape(crown) * ramp((-4.6 - film.y) / 0.8)
    film.paint(0.9, cap * ramp(film.rim(film.shape(crown), 1.0) * 1.6))
    for canal in pulp:
        film.paint(0.42, film.shape(canal, 0.15))
    return body


def apical_lesion(rng: np.random.Generator) -> Canvas:
    """Periapical film of the lower left first molar: deep crown cavity, round 6 mm lucency at the mesial root's apex.

    Mesial is on the left, as on a film mounted the way one looks at the patient.
    """
    film = Canvas(rng, 0.1, 0.05)
    crest = ramp((film.y + 1.6 + 0.5 * np.sin(film.x / 1.7)) / 0.9)
    trabeculae = np.exp(-((film.noise(0.34) / 0.55) ** 2)) - 0.4
    film.paint(0.1, ramp((film.y + 6) / 3))
    film.paint(0.4 + 0.1 * trabeculae + 0.05 * film.noise(1.5), crest)
    film.paint(0.55, 0.5 * ramp((film.y - 17.6) / 0.8))
    canal = film.line([(-20, 15.6), (0, 16.2), (20, 14.6)], 2.2, soft=0.35)
    film.scale(0.72, canal)
    premolar = points_of("-13.6,-4 -14.6,-8.5 -13.6,-12 -11.2,-12.8 -8.6,-12 -7.4,-8.5 -8.4,-4")
    _tooth(
        film,
        premolar,
        [points_of("-13.7,-5 -8.3,-5 -9,2 -10.2,9.5 -11.2,9.5 -12.8,2")],
        [points_of("-11.7,-7 -10.3,-7 -10.6,3 -10.7,8.6 -11.1,3")],
    )
    second = points_of("7.6,-4 6.9,-9 8.2,-12 10.5,-11.6 12.5,-12.4 15,-11.6 17,-11.8 17.9,-9 17,-4")
    _tooth(
        film,
        second,
        [
            points_of("7.5,-5 12.6,-5 11.8,0 10.8,5 9.8,9.2 8.9,9.0 8.4,4"),
            points_of("11.8,-5 17.1,-5 16.8,3 15.6,9 14.7,9 13.6,4 12.6,0"),
        ],
        [points_of("9.6,-6.6 15.2,-6.6 14.8,-3 14.9,8 14.0,2 13,-3.2 11.4,-3.2 10.4,2 9.7,8 9.8,-2")],
    )
    molar = points_of("-5.3,-4 -6.2,-9 -5.2,-12.2 -3,-11.8 -0.6,-12.4 1.8,-11.8 4.4,-12.2 5.8,-9 5.0,-4")
    apex = (-4.0, 9.6)
    halo = film.ellipse((apex[0], apex[1] + 1.0), 3.5, 3.5, soft=0.5)
    lesion = film.ellipse((apex[0], apex[1] + 1.0), 3.0, 3.0, soft=0.4)
    _tooth(
        film,
        molar,
        [
            points_of("-5.4,-5 0.2,-5 -0.9,0 -2.2,5 -3.4,9.4 -4.5,9.3 -5.1,4"),
            points_of("-0.5,-5 5.1,-5 4.7,3 4.0,9 3.1,9 1.9,4 0.6,0"),
        ],
        [points_of("-3.2,-7 2.6,-7 2.9,-3 3.5,8 2.6,2 1.0,-3.4 -1.2,-3.4 -2.8,2 -3.9,8.4 -3.5,-2")],
    )
    root = film.shape(points_of("-5.4,-5 0.2,-5 -0.9,0 -2.2,5 -3.4,9.4 -4.5,9.3 -5.1,4"))
    film.paint(0.58, 0.7 * halo * (1 - lesion) * (1 - root))
    film.paint(0.12, lesion * (1 - root))
    film.scale(0.6, lesion * root)
    film.paint(0.64, 0.75 * root * lesion * ramp((9.4 - film.y) / 1.0))
    cavity = film.shape(points_of("-0.6,-13 4.6,-13 4.4,-10.6 3.4,-8.6 2.2,-7.4 1.0,-8.4 0.2,-10.6"), 0.15)
    film.paint(0.12, cavity)
    film.add(0.012 * film.noise(0.14), np.ones_like(film.x))
    film.bar(5, "5 mm")
    return film


def _counts(film: Canvas, activity: Array, counts: float, blur: float) -> None:
    """Paint the image of a gamma camera, dark where the activity is: blurred, then counted."""
    seen = film.rng.poisson(np.maximum(film.soften(activity, blur), 0) * counts) / counts
    film.pixels = (1.0 - film.soften(seen, 0.6 * film.mm_per_pixel))[..., None]


def bone_metastases(rng: np.random.Generator) -> Canvas:
    """Bone scan, anterior view, head to thigh: hot spots in thoracic spine (2), right ribs (2) and left ilium (1)."""
    film = Canvas(rng, 2.6, 0.0)
    body = np.maximum(
        film.ellipse((0, -398), 76, 92),
        film.shape(
            points_of(
                "-50,-340 -62,-290 -190,-262 -225,-160 -168,-60 -150,60 -178,170 -170,520 -10,520 0,240 10,520 "
                "170,520 178,170 150,60 168,-60 225,-160 190,-262 62,-290 50,-340"
            )
        ),
    )
    arms = [film.line([(s * 205, -235), (s * 245, -60), (s * 265, 80), (s * 270, 240)], 82, soft=6) for s in (-1, 1)]
    activity = 0.07 * np.maximum.reduce([body, *arms])
    skull = film.ellipse((0, -404), 70, 80)
    activity += 0.13 * skull + 0.16 * film.rim(skull, 8) + 0.12 * film.ellipse((0, -345), 40, 26, soft=15)
    for index in range(19):
        y = -310 + 24.0 * index
        width = 15 + 0.45 * index
        activity += 0.3 * film.shape([(-width, y), (width, y), (width, y + 18), (-width, y + 18)], 3, smooth=False)
    activity += 0.18 * film.line([(0, -268), (0, -190), (0, -130)], 32, soft=4)
    for index in range(10):
        reach, y = 78 + 9.0 * index - 0.55 * index**2, -276 + 24.0 * index
        rib: list[Point] = [
            (16, y),
            (0.6 * reach, y - 4),
            (reach, y + 26),
            (0.96 * reach, y + 50),
            (0.55 * reach, y + 66),
        ]
        for path in (rib, mirrored(rib)):
            activity += 0.15 * film.line(path, 11, soft=3)
    ilium = points_of("22,150 60,118 104,118 122,150 100,190 88,214 66,206 40,182")
    ring = points_of("86,210 70,250 40,282 12,262 50,240")
    for sign in (-1, 1):
        for outline, amount in ((ilium, 0.2), (ring, 0.17)):
            part = film.shape([(sign * x, y) for x, y in outline], 3)
            activity += amount * part + 0.12 * film.rim(part, 9)
        activity += 0.28 * film.ellipse((sign * 112, 222), 23, 23, soft=8)
        activity += 0.22 * film.line([(sign * 132, 240), (sign * 122, 330), (sign * 106, 520)], 30, soft=5)
        activity += 0.22 * film.line([(sign * 12, -282), (sign * 90, -290), (sign * 168, -272)], 13, soft=3)
        activity += 0.3 * film.ellipse((sign * 184, -256), 25, 25, soft=8)
        activity += 0.2 * film.line([(sign * 192, -240), (sign * 226, -60)], 25, soft=5)
        activity += 0.26 * film.ellipse((sign * 228, -44), 20, 24, soft=8)
        activity += 0.17 * film.line([(sign * 232, -30), (sign * 252, 170)], 30, soft=6)
        activity += 0.14 * film.ellipse((sign * 62, 20), 26, 48, -sign * 10, soft=10)
    activity += 0.34 * film.ellipse((0, 238), 32, 24, soft=12)
    for x, y, rx, ry in (
        (3, -176, 17, 15),
        (-3, -56, 18, 15),
        (-103, -156, 13, 17),
        (-111, -82, 13, 18),
        (84, 146, 24, 18),
    ):
        activity += 1.7 * film.ellipse((x, y), rx, ry, soft=12)
    _counts(film, activity, 60, 3.5)
    film.letter("R", 12, 20, 0.0)
    film.letter("L", 360, 20, 0.0)
    film.label("ANT", 183, 368, 0.0)
    film.bar(100, "100 mm", 0.0)
    return film


def toxic_nodule(rng: np.random.Generator) -> Canvas:
    """Thyroid scintigraphy, anterior view: one hot nodule of 22 mm in the right lobe, the rest of the gland faint."""
    film = Canvas(rng, 0.35, 0.0)
    neck = film.shape(points_of("-48,-70 -44,-30 -48,10 -70,34 -70,72 70,72 70,34 48,10 44,-30 48,-70"), 6)
    activity = 0.035 + 0.03 * neck
    lobe = points_of("7,14 10,-10 17,-24 24,-18 26,2 22,18 14,22")
    for outline in (lobe, mirrored(lobe)):
        activity += 0.1 * film.shape(outline, 3)
    activity += 0.08 * film.line([(-10, 13), (0, 15), (10, 13)], 9, soft=2.5)
    for x in (-34, 34):
        activity += 0.05 * film.ellipse((x, -56), 12, 9, soft=8)
    activity += (0.85 + 0.05 * film.noise(2.5)) * film.ellipse((-18, 2), 11, 11, soft=3)
    _counts(film, activity, 90, 1.2)
    film.letter("R", 12, 20, 0.0)
    film.letter("L", 360, 20, 0.0)
    film.label("ANT", 183, 368, 0.0)
    film.bar(20, "20 mm", 0.0)
    return film
