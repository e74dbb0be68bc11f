"""CT and MRI phantoms: grey values of tissues in one section."""

from itertools import pairwise

import numpy as np

from cases.phantoms.drawing import Array, Canvas, Point, curve, mirrored, points_of, ramp, turned

_HEAD = (66.0, 84.0)
"""Half width and half length of the inside of the skull in millimetres."""


def _finish(scan: Canvas, grain: float, bar: float, sides: bool = True, front: str = "") -> Canvas:
    """Add the grain of the scanner and note scale and orientation: R and L, or A and P on a sagittal section."""
    scan.add(grain * scan.noise(0.9 * scan.mm_per_pixel), np.ones_like(scan.x))
    scan.bar(bar, f"{bar:g} mm")
    left, right = ("R", "L") if sides else (front, "P")
    scan.letter(left, 10, 12)
    scan.letter(right, 364, 12)
    return scan


def _brain(scan: Canvas, shift: float, tones: dict[str, float], ventricles: float = 1.0) -> tuple[Array, Array]:
    """Draw scalp, skull and brain, axial at the bodies of the ventricles.

    Args:
        scan: The canvas.
        shift: How far the midline is pushed to the patient's left (the right of the picture), in millimetres.
        tones: Brightness of scalp, bone, cortex, white matter, fluid and falx.
        ventricles: Width of the ventricle on the right of the patient as a share of the left one's.

    Returns:
        The mask of the inside of the skull and the distance from its centre as a share of its radius.
    """
    rx, ry = _HEAD
    scan.paint(tones["scalp"], scan.ellipse((0, 0), rx + 13, ry + 13, soft=1.2))
    scan.paint(tones["muscle"], scan.ellipse((0, 0), rx + 9.5, ry + 9.5, soft=1.0))
    scan.paint(tones["bone"], scan.ellipse((0, 0), rx + 8, ry + 8, soft=1.0))
    scan.paint(tones["marrow"], scan.ellipse((0, 0), rx + 5.5, ry + 5.5, soft=1.5))
    scan.paint(tones["bone"], scan.ellipse((0, 0), rx + 2.5, ry + 2.5, soft=1.5))
    inside = scan.ellipse((0, 0), rx, ry, soft=1.0)
    r = scan.radius((0, 0), rx, ry)
    scan.paint(tones["fluid"], inside)
    middle = shift * np.exp(-((scan.y / 48) ** 2))
    across = scan.x - middle
    turn = np.arctan2(scan.y / ry, across / rx)
    furrow = np.abs(np.sin(15 * turn + 1.1 * scan.noise(5)))
    folds = np.exp(-((furrow / 0.13) ** 2)) * ramp((r - 0.84 + 0.04 * scan.noise(7)) / 0.06)
    brain = scan.ellipse((0, 0), rx - 2.2, ry - 2.2, soft=1.2)
    scan.paint(tones["cortex"] + (tones["fluid"] - tones["cortex"]) * 0.75 * folds, brain)
    wander = 0.05 * (furrow - 0.6) + 0.015 * scan.noise(4.0)
    white = ramp((0.83 + wander - r) / 0.05) * ramp((np.abs(across) - 5.5) / 2)
    white *= 1 - 0.7 * ramp((1.0 - scan.radius((0, 6), 25, 20)) / 0.2) * ramp((np.abs(across) - 10) / 3)
    scan.paint(tones["white"], white)
    scan.paint(tones["white"], np.exp(-((across / 9) ** 2)) * np.exp(-(((np.abs(scan.y - 2) - 32) / 5) ** 2)))
    fissure = np.exp(-((across / 1.3) ** 2)) * ramp((np.abs(scan.y - 2) - 36) / 4) * inside
    scan.paint(tones["fluid"], 0.8 * fissure)
    scan.paint(tones["falx"], np.exp(-((across / 0.7) ** 2)) * ramp((np.abs(scan.y - 2) - 40) / 4) * inside)
    for sign, share in ((-1, ventricles), (1, 1.0)):
        horn = points_of("2,-24 8,-30 14,-30 12,-18 7,-2 10,14 18,30 17,38 10,33 4,16 2,0")
        outline = [(sign * (1.2 + (x - 1.2) * share) + shift * float(np.exp(-((y / 48) ** 2))), y) for x, y in horn]
        scan.paint(tones["fluid"], scan.shape(outline, 0.5))
    return inside, r


_CT_HEAD = {
    "scalp": 0.3,
    "muscle": 0.24,
    "bone": 1.0,
    "marrow": 0.86,
    "cortex": 0.47,
    "white": 0.39,
    "fluid": 0.14,
    "falx": 0.58,
}
_MR_HEAD = {
    "scalp": 0.82,
    "muscle": 0.3,
    "bone": 0.05,
    "marrow": 0.42,
    "cortex": 0.36,
    "white": 0.49,
    "fluid": 0.1,
    "falx": 0.66,
}


def epidural_haematoma(rng: np.random.Generator) -> Canvas:
    """CT of the head: right temporoparietal biconvex dense collection 18 mm thick, midline shifted 5 mm to the left."""
    scan = Canvas(rng, 0.56)
    inside, _ = _brain(scan, 5.0, _CT_HEAD, ventricles=0.5)
    thickness, centre_y, curvature = 18.0, 12.0, 70.0
    wall = -_HEAD[0] * float(np.sqrt(1 - (centre_y / _HEAD[1]) ** 2))
    centre = (wall + thickness - curvature, centre_y)
    scan.paint(0.33, 0.5 * scan.ellipse(centre, curvature + 5, curvature + 5, soft=5) * inside)
    blood = scan.ellipse(centre, curvature, curvature, soft=1.0) * inside
    scan.paint(0.78 + 0.02 * scan.noise(4), blood)
    return _finish(scan, 0.022, 20)


def meningioma(rng: np.random.Generator) -> Canvas:
    """MRI, T1 with contrast: left convexity mass of 35 mm on the dura, evenly bright, with a dural tail."""
    scan = Canvas(rng, 0.56)
    inside, r = _brain(scan, -3.0, _MR_HEAD)
    scan.paint(0.85, 0.75 * np.exp(-(((r - 0.992) / 0.006) ** 2)) * 0.5)
    for y, size in ((-83, 3.0), (83, 4.2)):
        scan.paint(0.9, scan.shape([(-size, y), (size, y), (0, y - 2.2 * size * np.sign(y))], 0.4))
    angle = np.arctan2(scan.y / _HEAD[1], scan.x / _HEAD[0])
    seat = np.deg2rad(-28.0)
    foot = (_HEAD[0] * float(np.cos(seat)), _HEAD[1] * float(np.sin(seat)))
    centre = (foot[0] - 11.5, foot[1] + 5.0)
    scan.paint(0.2, 0.7 * scan.ellipse(centre, 21, 21, soft=4) * inside)
    scan.paint(0.12, scan.ellipse(centre, 18.7, 18.7, soft=0.8) * inside)
    tail = ramp((r - 1.0 + 0.032 * ramp((0.62 - np.abs(angle - seat)) / 0.42)) / 0.012) * ramp(
        (0.62 - np.abs(angle - seat)) / 0.1
    )
    mass = np.maximum(scan.ellipse(centre, 17.5, 17.5, soft=1.0), tail) * inside
    scan.paint(0.9 + 0.012 * scan.noise(2), mass)
    return _finish(scan, 0.016, 20)


def lung_mass(rng: np.random.Generator) -> Canvas:
    """CT of the chest, lung window: right upper lobe mass of 32 mm with spicules and a tag to the pleura."""
    scan = Canvas(rng, 0.88)
    scan.paint(0.66, scan.ellipse((0, 4), 160, 112, soft=1.5))
    scan.paint(0.76 + 0.012 * scan.noise(3), scan.ellipse((0, 4), 150, 102, soft=2))
    right = points_of("-20,-72 -52,-80 -92,-62 -116,-24 -120,18 -104,56 -74,80 -42,80 -22,56 -26,20 -36,-8 -28,-44")
    lungs = []
    for outline in (right, [(22, -70), *mirrored(right)[1:-3], (30, 22), (44, 4), (42, -20), (30, -44)]):
        lung = scan.shape(outline, 0.6)
        lungs.append(lung)
        scan.paint(0.14 + 0.012 * scan.noise(2) + 0.05 * ramp((scan.y + 40) / 160), lung)
    air = np.maximum(*lungs)
    for index in range(6):
        angle = np.deg2rad(20 + 27 * index)
        for sign in (-1, 1):
            x, y = sign * 134 * float(np.sin(angle)), 4 - 92 * float(np.cos(angle))
            along = float(np.rad2deg(np.arctan2(92 * np.sin(angle), sign * 134 * np.cos(angle))))
            scan.paint(0.98, scan.ellipse((x, y), 14, 4.8, along, soft=0.8) * (1 - air))
            scan.paint(0.84, scan.ellipse((x, y), 10.5, 2.2, along, soft=0.8) * (1 - air))
    scan.paint(0.96, scan.shape(points_of("-17,50 0,46 17,50 18,68 10,76 -10,76 -18,68"), 0.8))
    scan.paint(0.96, scan.shape([(-5, 84), (5, 84), (3, 108), (-3, 108)], 0.8))
    for sign in (-1, 1):
        scan.paint(0.96, scan.line([(sign * 12, 74), (sign * 30, 82), (sign * 38, 80)], 6, soft=0.8))
    scan.paint(0.8, scan.ellipse((0, 80), 6, 6, soft=0.8))
    scan.paint(0.96, scan.ellipse((0, -84), 20, 5, soft=0.8))
    scan.paint(0.84, scan.shape(points_of("-16,-26 0,-34 20,-24 32,-6 34,16 26,26 18,10 4,-6 -12,-10"), 0.8))
    scan.paint(0.84, scan.ellipse((-17, -22), 9, 10, soft=0.8))
    scan.paint(0.02, scan.ellipse((-2, 8), 9.5, 9, soft=0.8))
    scan.paint(0.72, scan.ellipse((4, 27), 7, 5, soft=0.8))
    for sign, lung in zip((-1, 1), lungs, strict=True):
        for _ in range(46):
            far = scan.rng.uniform(0.0, 1.0) ** 1.3
            x, y = sign * (40 + 68 * far), scan.rng.uniform(-0.6, 0.75) * (90 - 20 * far)
            size, length = 3.6 - 2.4 * far, scan.rng.uniform(0.5, 12)
            heading = np.arctan2(y - 10, x) + scan.rng.uniform(-0.5, 0.5)
            tip = (x + length * float(np.cos(heading)), y + length * float(np.sin(heading)))
            scan.paint(0.55, 0.9 * scan.line([(x, y), tip], size, soft=0.4) * lung * scan.soften(lung, 3))
    centre: Point = (-76.0, -20.0)
    angle = np.arctan2(scan.y - centre[1], scan.x - centre[0])
    lobes = 0.98 + 0.05 * np.sin(3 * angle + 0.6) + 0.03 * np.sin(7 * angle) + 0.02 * np.sin(13 * angle)
    halo = ramp((1.45 - scan.radius(centre, 16, 16)) / 0.6)
    scan.paint(0.3, 0.5 * halo * lungs[0])
    for turn in np.arange(0, 360, 15.0):
        reach, width = scan.rng.uniform(19, 30), scan.rng.uniform(0.9, 2.4)
        spike = np.deg2rad(turn + scan.rng.uniform(-9, 9))
        bend = spike + scan.rng.uniform(-0.16, 0.16)
        path = [
            (centre[0] + far * float(np.cos(way)), centre[1] + far * float(np.sin(way)))
            for far, way in ((12.0, spike), (0.5 * (12 + reach), spike), (reach, bend))
        ]
        scan.paint(0.72, scan.line(path[:2], width, soft=0.4) * lungs[0])
        scan.paint(0.66, 0.85 * scan.line(path, 0.55 * width, soft=0.4) * lungs[0])
    tag: list[Point] = [(-90, -26), (-101, -31), (-116, -37)]
    scan.paint(0.78, scan.line(tag, 2.0, soft=0.3))
    scan.paint(0.78, scan.shape(points_of("-111,-36.5 -108,-33.5 -112,-30 -120,-28 -116,-42"), 0.5))
    scan.paint(0.82, ramp((lobes - scan.radius(centre, 16, 16)) * 8 + 0.5))
    return _finish(scan, 0.012, 50)


def sinus_fluid_level(rng: np.random.Generator) -> Canvas:
    """Coronal CT of the sinuses, bone window: air above fluid in the right maxillary sinus, the left one clear."""
    scan = Canvas(rng, 0.4)
    scan.paint(0.36, scan.shape(points_of("-66,-84 -70,-30 -66,10 -60,50 -46,84 46,84 60,50 66,10 70,-30 66,-84"), 0.6))
    scan.paint(0.9, scan.shape(points_of("-58,-90 -60,-48 -40,-44 -14,-38 14,-38 40,-44 60,-48 58,-90"), 0.4))
    scan.paint(0.42, scan.shape(points_of("-54,-90 -55,-54 -38,-49 -14,-43 14,-43 38,-49 55,-54 54,-90"), 0.4))
    bone = 0.88
    orbit = points_of("-55,-26 -48,-42 -30,-45 -17,-34 -16,-18 -24,-8 -40,-5 -52,-12")
    antrum = points_of("-17,-7 -26,-3 -42,1 -49,6 -47,17 -38,29 -27,34 -19,29 -17,14")
    cheek = points_of("-50,-8 -60,-16 -64,-4 -60,10 -50,12")
    for flip in (False, True):
        sides = [mirrored(part) if flip else part for part in (orbit, antrum, cheek)]
        sign = 1 if flip else -1
        scan.paint(bone, scan.shape(sides[2], 0.4))
        scan.paint(bone, scan.line(sides[0], 4.4, closed=True))
        scan.paint(0.27, scan.shape(sides[0], 0.3))
        scan.paint(0.44, scan.ellipse((sign * 36, -26), 12.5, 12.5, soft=0.6))
        for x, y in ((36, -41), (36, -9), (21, -25), (51, -25)):
            scan.paint(0.46, scan.ellipse((sign * x, y), 3.6, 2.2, 0 if x == 36 else 90, soft=0.5))
        scan.paint(bone, scan.line(sides[1], 3.2, closed=True))
        scan.paint(0.02, scan.shape(sides[1], 0.3))
    scan.paint(bone, scan.shape(points_of("-15,-42 15,-42 16,-10 17,32 -17,32 -16,-10"), 0.3))
    scan.paint(0.02, scan.shape(points_of("-14,-12 14,-12 15.5,10 15,29 -15,29 -15.5,10"), 0.3))
    for sign in (-1, 1):
        for height in (-36.0, -27.5, -19.0):
            scan.paint(0.02, scan.ellipse((sign * 8.6, height), 5.0, 3.7, sign * 6, soft=0.4))
        for root, tip, size in (((10.0, -11.0), (7.0, -1.0), 3.6), ((14.4, 8.0), (8.4, 20.0), 7.0)):
            turbinate: list[Point] = [
                (sign * root[0], root[1]),
                (sign * (tip[0] - 1), root[1] + 3),
                (sign * tip[0], tip[1]),
            ]
            scan.paint(0.46, scan.line(turbinate, size, soft=0.5))
            scan.paint(0.8, scan.line(turbinate, 1.0, soft=0.2))
        scan.paint(
            0.02, scan.shape([(sign * 13.6, -10), (sign * 18.6, -10), (sign * 18.6, -5), (sign * 13.6, -2)], 0.4)
        )
    scan.paint(0.46, scan.line([(0, -12), (0.8, 8), (0, 28)], 3.0, soft=0.4))
    scan.paint(bone, scan.line([(0, -38), (0, -12), (0.8, 8), (0, 30)], 1.3, soft=0.2))
    scan.paint(
        bone,
        scan.shape(points_of("-52,33 -30,36 -16,31 16,31 30,36 52,33 36,42 30,48 16,38 -16,38 -30,48 -36,42"), 0.5),
    )
    scan.paint(0.02, scan.shape(points_of("-19,42 0,40 19,42 16,47 0,46 -16,47"), 0.5))
    scan.paint(0.5, scan.shape(points_of("-26,50 0,46.5 26,50 28,66 0,72 -28,66"), 0.8))
    for sign in (-1, 1):
        scan.paint(
            0.78,
            scan.shape(
                [(sign * 26, 40), (sign * 36, 40), (sign * 35, 52), (sign * 37, 60), (sign * 25, 60), (sign * 27, 52)],
                0.4,
            ),
        )
        scan.paint(
            1.0, scan.rim(scan.shape([(sign * 25, 52), (sign * 37, 52), (sign * 37, 60), (sign * 25, 60)], 0.3), 1.2)
        )
        scan.paint(0.8, scan.line([(sign * 62, -8), (sign * 64, 20), (sign * 60, 48)], 4, soft=0.6))
    sinus = scan.shape(antrum, 0.3)
    scan.paint(0.47 + 0.01 * scan.noise(2), sinus * ramp((scan.y - 10) / 0.6 + 0.5))
    return _finish(scan, 0.016, 20)


def uterine_fibroid(rng: np.random.Generator) -> Canvas:
    """MRI of the pelvis, sagittal T2: dark, well defined mass of 46 mm within the posterior wall of the uterus."""
    scan = Canvas(rng, 0.58, 0.02)
    scan.paint(
        0.8 + 0.02 * scan.noise(2),
        scan.shape(points_of("-92,-116 -98,-40 -92,10 -78,50 -60,116 104,116 112,40 110,-40 100,-116"), 1.0),
    )
    scan.paint(0.2, scan.line([(-70, -116), (-76, -40), (-68, 14), (-58, 40)], 8, soft=0.8))
    scan.paint(
        0.5 + 0.1 * scan.noise(2.5),
        scan.shape(points_of("-64,-116 -70,-40 -56,34 -20,60 40,64 60,20 62,-40 36,-116"), 2),
    )
    for centre, size in (((-46, -94), 13), ((-20, -100), 12), ((6, -96), 13), ((30, -106), 10), ((-54, -66), 10)):
        scan.paint(0.22, scan.ellipse(centre, size, 0.8 * size, soft=1))
        scan.paint(0.62 + 0.05 * scan.noise(1.5), scan.ellipse(centre, size - 2.4, 0.8 * size - 2.4, soft=1.5))
    # The sacrum with its discs, behind it fat; in front of it the rectum.
    spine = points_of("48,-108 62,-82 74,-55 80,-28 78,-2 70,22")
    scan.paint(0.1, scan.line([(x + 2, y) for x, y in spine], 31, soft=0.8))
    for index, (a, b) in enumerate(pairwise(spine)):
        heading = float(np.rad2deg(np.arctan2(b[1] - a[1], b[0] - a[0])))
        middle = (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]))
        long, wide = 12.0 - index, 14.5 - 1.6 * index
        block: list[Point] = [(-long, -wide), (long, -wide), (long, wide), (-long, wide)]
        scan.paint(
            0.46 + 0.02 * scan.noise(1.5),
            scan.shape(turned([(middle[0] + x, middle[1] + y) for x, y in block], heading, middle), 1.4, smooth=False),
        )
    scan.paint(0.92, scan.line([(70, -112), (84, -84), (96, -54), (100, -40)], 7, soft=1.5))
    rectum = points_of("46,-60 58,-34 58,-6 48,20 52,46 58,70")
    scan.paint(0.25, scan.line(rectum, 17, soft=1.0))
    scan.paint(0.5 + 0.09 * scan.noise(2), scan.line(rectum, 10, soft=1.5))
    scan.paint(0.13, scan.ellipse((-46, 54), 10, 17, 28, soft=0.8))
    scan.paint(0.4, scan.ellipse((-46, 54), 7.5, 14, 28, soft=1.5))
    # Bladder, vagina and the uterus bent forward over the bladder.
    scan.paint(0.15, scan.shape(points_of("-53,30 -44,8 -22,8 -2,24 2,40 -14,52 -34,46"), 0.6))
    scan.paint(0.97, scan.shape(points_of("-50,30 -42,11 -23,11 -5,26 -2,39 -15,49 -33,43"), 0.6))
    scan.paint(0.2, scan.line([(24, 34), (16, 60), (4, 92)], 12, soft=1))
    scan.paint(0.66, scan.line([(24, 34), (16, 60), (4, 92)], 3, soft=1))
    scan.paint(0.2, scan.line([(-10, 50), (-12, 70), (-14, 84)], 6, soft=1.5))
    wall = points_of("-46,-16 -42,-42 -18,-60 14,-66 40,-48 48,-20 40,8 34,32 18,38 8,22 -10,2 -32,0")
    scan.paint(0.24, scan.shape(wall, 0.8))
    scan.paint(0.55 + 0.03 * scan.noise(1.4), scan.shape(turned([(0.96 * x, 0.96 * y - 0.6) for x, y in wall], 0), 0.8))
    cavity = points_of("-32,-18 -16,-17 0,-8 12,6 22,26 24,36")
    scan.paint(0.24, scan.line(cavity, 11, soft=1.6))
    lining = points_of("-34,-17 -28,-21 -14,-20 2,-10 13,5 23,25 25,36 22,28 11,9 -2,-4 -17,-13 -29,-14")
    scan.paint(0.94, scan.shape(lining, 0.5))
    mass = (16.0, -34.0)
    scan.paint(0.72, scan.ellipse(mass, 24.2, 24.2, soft=0.8))
    whorls = 0.035 * np.sin(scan.radius((14, -36), 3.1, 3.4) * 2.2 + 1.6 * scan.noise(5)) + 0.015 * scan.noise(1)
    scan.paint(0.15 + whorls, scan.ellipse(mass, 23, 23, soft=0.8))
    return _finish(scan, 0.02, 50, sides=False, front="A")


def disc_protrusion(rng: np.random.Generator) -> Canvas:
    """MRI of the lumbar spine, sagittal T2: the L4/L5 disc is dark and protrudes 6 mm into the thecal sac."""
    scan = Canvas(rng, 0.56, 0.02)
    scan.paint(
        0.72 + 0.05 * scan.noise(3), scan.shape(points_of("-74,-120 -82,0 -72,120 96,120 100,60 88,0 92,-120"), 1.0)
    )
    scan.paint(
        0.3 + 0.1 * scan.noise(3.5),
        scan.shape(points_of("-120,-120 -42,-120 -46,0 -34,120 -120,120"), 3) * ramp((scan.x + 86) / 6),
    )
    scan.paint(0.05, scan.line([(-34, -120), (-38, -40), (-36, 30)], 13, soft=1))
    bodies: list[tuple[Point, float]] = [
        ((-5, -93), 8),
        ((-9.5, -58), 5),
        ((-11, -23), 0),
        ((-9.5, 12), -6),
        ((-3.5, 47), -14),
        ((11, 79), -34),
        ((33, 102), -50),
    ]
    half_depth, half_height = 17.0, 13.0
    block: list[Point] = [
        (-half_depth, -half_height),
        (0, -half_height + 1.2),
        (half_depth, -half_height),
        (half_depth - 1.2, 0),
        (half_depth, half_height),
        (0, half_height - 1.2),
        (-half_depth, half_height),
        (-half_depth + 1.6, 0),
    ]
    outlines = [turned([(x + c[0], y + c[1]) for x, y in block], degrees, c) for c, degrees in bodies]
    edge = [(outline[3][0] + 1.2, outline[3][1]) for outline in outlines]
    edge.insert(0, (edge[0][0] - 2, -130.0))
    canal = [(x + 9.5, y) for x, y in edge]
    scan.paint(0.34 + 0.06 * scan.noise(3, stretch=0.5), scan.line([(x + 24, y) for x, y in edge], 22, soft=3))
    scan.paint(0.1, scan.line([(x + 0.6, y) for x, y in edge], 5.0, soft=0.5))
    scan.paint(0.1, scan.line([(x + 9, y) for x, y in canal[:-1]], 3.4, soft=0.6))
    scan.paint(0.94, scan.line(canal[:-1], 15, soft=0.6))
    scan.paint(0.48, scan.line([(x + 1.0, y) for x, y in canal[:3]], 7.0, soft=0.7))
    for offset in (-2.0, 0.6, 2.6, 4.4):
        roots = [(x + offset * min(1.0, 0.3 + index) + 0.8, y) for index, (x, y) in enumerate(canal[2:7])]
        scan.paint(0.5, 0.75 * scan.line(roots, 1.0, soft=0.35))
    for centre, degrees in bodies[:5]:
        x, y = turned([(centre[0] + 47, centre[1] + 11)], degrees, centre)[0]
        spine = turned([(x - 14, y - 10), (x + 12, y - 5), (x + 14, y + 9), (x + 4, y + 9), (x - 12, y + 1)], 8, (x, y))
        scan.paint(0.1, scan.shape(spine, 0.8))
        scan.paint(0.46, scan.shape([(x + 0.8 * (a - x), y + 0.78 * (b - y)) for a, b in spine], 1.0))
    for index, (upper, lower) in enumerate(pairwise(outlines)):
        disc = [upper[6], upper[5], upper[4], lower[2], lower[1], lower[0]]
        middle = (sum(x for x, _ in disc) / 6, sum(y for _, y in disc) / 6)
        degrees = 0.5 * (bodies[index][1] + bodies[index + 1][1])
        scan.paint(0.12, scan.shape(disc, 0.6, smooth=False))
        if index == 5:
            continue
        ill = index == 3
        nucleus = scan.ellipse((middle[0] + 1, middle[1]), 12.5, 4.0, degrees, soft=2.0)
        scan.paint(0.2 if ill else 0.86, (0.5 if ill else 1.0) * nucleus)
        if not ill:
            scan.paint(0.6, 0.8 * scan.ellipse((middle[0] + 1, middle[1]), 10, 0.7, degrees, soft=0.8))
    for outline in outlines:
        scan.paint(0.08, scan.shape(curve(outline, closed=True), 0.5, smooth=False))
        inner = [(x + 0.055 * (cx - x), y + 0.055 * (cy - y)) for (x, y) in outline for cx, cy in [_centre(outline)]]
        scan.paint(0.5 + 0.025 * scan.noise(1.3), scan.shape(inner, 0.5))
    behind = 0.5 * (outlines[3][4][0] + outlines[4][2][0]), 0.5 * (outlines[3][4][1] + outlines[4][2][1])
    bulge = points_of("-6,-4.5 0.5,-6.5 4.4,-4.0 6.2,0.0 4.4,4.2 0.5,7.0 -6,4.5")
    scan.paint(0.12, scan.shape(turned([(behind[0] + x, behind[1] + y) for x, y in bulge], -10, behind), 0.4))
    return _finish(scan, 0.02, 50, sides=False, front="A")


def _centre(outline: list[Point]) -> Point:
    return sum(x for x, _ in outline) / len(outline), sum(y for _, y in outline) / len(outline)
