"""Ultrasound phantoms: echoes under a curved or a straight probe, with speckle, shadows and enhancement."""

import numpy as np

from cases.phantoms.drawing import SIZE, Array, Canvas, Point, blurred, points_of, ramp, turned


class Scan(Canvas):
    """An ultrasound picture. Paint echoes on it, then call `finish` for speckle, the field of view and the labels."""

    grey_step = 8

    def __init__(
        self, rng: np.random.Generator, mm_per_pixel: float, radius: float | None, spread: float, echo: float = 0.4
    ) -> None:
        """Start a scan of even tissue.

        Args:
            rng: The source of the speckle.
            mm_per_pixel: The pixel spacing.
            radius: The radius of a curved probe in millimetres; None is a straight probe.
            spread: Half the angle of a curved probe's fan in degrees, or half the width of a straight probe in mm.
            echo: The brightness of the tissue.
        """
        super().__init__(rng, mm_per_pixel, echo)
        self.probe_radius = radius
        self.top = -self.half + 20 * mm_per_pixel
        self.bottom = self.half - 12 * mm_per_pixel
        self.spread = spread if radius is None else float(np.deg2rad(spread))
        self.beam, self.depth = self._polar(self.x, self.y)
        reach = self.bottom - self.top
        self.reach = reach
        inside = (np.abs(self.beam) < self.spread) & (self.depth > 0) & (self.depth < reach)
        self.field = self.soften(inside.astype(float), 0.6 * mm_per_pixel)

    def _polar(self, x: Array, y: Array) -> tuple[Array, Array]:
        if self.probe_radius is None:
            return x, y - self.top
        down = y - self.top + self.probe_radius
        return np.arctan2(x, down), np.hypot(x, down) - self.probe_radius

    def behind(self, point: Point, width: float, soft: float = 0.15) -> Array:
        """Mask of what lies behind a body of the given width at a point: where its shadow or enhancement is."""
        beam, depth = (float(value) for value in self._polar(np.asarray(point[0]), np.asarray(point[1])))
        half = width / 2 if self.probe_radius is None else width / 2 / (self.probe_radius + depth)
        across = ramp((half - np.abs(self.beam - beam)) / (half * soft) + 0.5)
        return across * ramp((self.depth - depth) / (2 * self.mm_per_pixel))

    def speckle(self) -> Array:
        """Return the grain of coherent waves: fine along the beam and broad across it, mean 1."""
        lines = 300
        waves = [blurred(self.rng.standard_normal((SIZE, lines)), 1.2, 0.95) for _ in range(2)]
        grain = np.hypot(*waves)
        rows = np.clip(self.depth / self.reach * (SIZE - 1), 0, SIZE - 1).astype(int)
        columns = np.clip((self.beam / self.spread + 1) / 2 * (lines - 1), 0, lines - 1).astype(int)
        return np.asarray((grain / grain.mean())[rows, columns])

    def reflect(self, points: list[Point], width: float, brightness: float = 0.9) -> None:
        """Paint a bright interface: a capsule, a fascia, a vessel wall."""
        self.paint(brightness, 0.9 * self.line(points, width, soft=0.4 * width))

    def layers(self, count: int, thickness: float, tones: tuple[float, float] = (0.55, 0.3)) -> None:
        """Paint skin, fat and muscle as layers under the probe, with bright fascia between them."""
        for index in range(count):
            near = index * thickness
            band = ramp((self.depth - near) / 0.4) * ramp((near + thickness - self.depth) / 0.4)
            wavy = self.noise(thickness / 5, stretch=6.0)
            self.paint(tones[index % 2] + 0.06 * wavy, band)
            edge = np.exp(-(((self.depth - near - thickness) / (0.12 * thickness)) ** 2))
            self.paint(0.8, 0.8 * edge)

    def texture(self, strength: float, grain: float) -> None:
        """Vary the echoes of the tissue slowly, as no organ is quite even."""
        self.scale(1.0 + strength * self.noise(grain, stretch=1.6), np.ones_like(self.x))

    def finish(self, bar: float, label: str = "") -> Canvas:
        """Apply speckle and attenuation, cut out the field of view and note scale and label."""
        attenuation = 1.08 - 0.3 * np.clip(self.depth / self.reach, 0, 1)
        grain = self.speckle()
        self.pixels = self.pixels * (attenuation * (0.35 + 0.65 * grain))[..., None]
        near = np.exp(-((self.depth / (0.02 * self.reach)) ** 2))
        self.paint(0.75, 0.7 * near)
        self.pixels = self.pixels * self.field[..., None]
        self.bar(bar, f"{bar:g} mm")
        if label:
            self.label(label, 8, 6)
        return self


def _vessel(scan: Scan, points: list[Point], width: float, wall: float = 0.75) -> None:
    scan.paint(wall, 0.8 * scan.line(points, width * 1.5, soft=0.25 * width))
    scan.paint(0.04, scan.line(points, width, soft=0.1 * width))


def gallstone(rng: np.random.Generator) -> Canvas:
    """Gallbladder, long section: one 14 mm stone in the neck with a clean shadow, wall 5 mm thick."""
    scan = Scan(rng, 0.3, radius=45, spread=36, echo=0.42)
    scan.texture(0.08, 5)
    scan.layers(2, 5)
    _vessel(scan, [(-42, -12), (-30, -18), (-14, -24), (-2, -32)], 3.4)
    _vessel(scan, [(10, -34), (22, -28), (36, -27)], 2.4, wall=0.45)
    _vessel(scan, [(-34, 14), (-26, 4), (-27, -6)], 2.6)
    scan.paint(
        0.5 + 0.06 * scan.noise(3, stretch=2), scan.shape(points_of("-60,26 -20,25 20,34 60,22 60,60 -60,60"), 3)
    )
    lumen_outline = points_of("-24.5,4 -19,-4 -8,-6 8,-10 25,-6 33,6 28,18 10,19 -8,14 -20,12.5")
    lumen = scan.shape(lumen_outline)
    outer = scan.line(lumen_outline, 10, closed=True)
    scan.add(0.3, scan.behind((8, 14), 44, soft=0.3) * (1 - lumen))
    scan.paint(0.78, np.maximum(outer, lumen))
    scan.paint(0.3, np.maximum(scan.line(lumen_outline, 7.4, closed=True, soft=0.4), lumen))
    scan.paint(0.8, np.maximum(scan.line(lumen_outline, 2.2, closed=True), lumen))
    scan.paint(0.02, lumen)
    stone: Point = (-16, 4.5)
    shadow = scan.behind((stone[0], stone[1] + 4), 13, soft=0.12)
    scan.scale(0.07, shadow)
    body = scan.ellipse(stone, 7, 7, soft=0.5)
    scan.paint(0.55 + 0.5 * ramp((stone[1] + 4 - scan.y) / 8), body)
    return scan.finish(20)


def intussusception(rng: np.random.Generator) -> Canvas:
    """Right abdomen, transverse section under a straight probe: a target of concentric rings, 31 mm across."""
    scan = Scan(rng, 0.16, radius=None, spread=28, echo=0.36)
    scan.texture(0.15, 3)
    scan.layers(3, 2.6)
    for middle, size in (((-24, -6), 7.0), ((23, -12), 6.0), ((25, 5), 7.5), ((-24, 12), 6.5)):
        loop = scan.ellipse(middle, size, size * 0.75, soft=0.4)
        scan.paint(0.2, loop)
        scan.paint(0.5 + 0.1 * scan.noise(0.8), scan.ellipse(middle, size * 0.72, size * 0.5, soft=0.6))
    for x, y in ((-22.0, -7.0), (24.0, -13.0)):
        scan.reflect([(x - 4, y), (x, y - 1), (x + 4, y)], 0.9)
        scan.scale(0.45, scan.behind((x, y + 0.5), 8, soft=0.5))
    scan.paint(
        0.22 + 0.05 * scan.noise(0.5, stretch=5), scan.shape(points_of("-30,24 -10,21 12,22 30,25 30,34 -30,34"), 0.8)
    )
    scan.reflect([(-28, 23.5), (-10, 20.8), (12, 21.8), (28, 24.5)], 0.5, 0.7)
    centre = (-1.0, 4.0)
    angle = np.arctan2(scan.y - centre[1], scan.x - centre[0])
    r = scan.radius(centre, 15.5, 15.5) * 15.5 + 0.25 * np.sin(3 * angle + 1)
    rings = ((16.1, 0.85), (15.3, 0.1), (12.0, 0.75), (10.6, 0.14), (8.4, 0.72), (5.6, 0.2), (3.3, 0.85), (1.2, 0.4))
    for radius, tone in rings:
        scan.paint(tone, ramp((radius - r) / 0.5 + 0.5))
    crescent = scan.ellipse((1.2, 7.6), 4.6, 2.3, soft=0.6)
    scan.paint(0.9, 0.8 * crescent)
    for node in ((-3.6, 1.4), (4.8, 2.2)):
        scan.paint(0.2, scan.ellipse(node, 1.5, 1.1, soft=0.5))
    return scan.finish(10, "R ABD")


def ovarian_cyst(rng: np.random.Generator) -> Canvas:
    """Left adnexa: a 52 mm cyst with one chamber, free of echoes, a thin smooth wall and enhancement behind it."""
    scan = Scan(rng, 0.32, radius=42, spread=38, echo=0.38)
    scan.texture(0.14, 4)
    scan.layers(2, 5)
    scan.paint(0.7, scan.ellipse((-34, 4), 22.5, 15.5, -18, soft=1.5))
    scan.paint(0.24 + 0.02 * scan.noise(1.5), scan.ellipse((-34, 4), 21, 14, -18, soft=1.0))
    scan.reflect([(-49, 9), (-42, 6.5), (-34, 4), (-22, 0)], 3.6, 0.8)
    for x, y, r in ((-50.0, 32.0, 6.0), (-30.0, 36.0, 7.0), (44.0, 38.0, 6.0)):
        scan.paint(0.62, scan.ellipse((x, y), r, r * 0.5, soft=3))
        scan.scale(0.55, scan.behind((x, y), r * 1.6, soft=0.8))
    centre = (12.0, 0.0)
    scan.paint(0.7, scan.ellipse((36, -14), 17.5, 10, 58, soft=1.2))
    scan.paint(0.28, scan.ellipse((36, -14), 16.5, 9, 58, soft=0.8))
    for x, y, r in ((35.0, -24.0, 2.4), (41.5, -17.0, 2.0), (42.0, -7.0, 2.6), (37.0, -16.0, 1.6)):
        scan.paint(0.04, scan.ellipse((x, y), r, r, soft=0.5))
    cyst = scan.ellipse(centre, 26, 26, soft=0.5)
    scan.add(0.42, scan.behind((12, 22), 42, soft=0.25) * (1 - cyst) * np.exp(-np.maximum(scan.depth - 74, 0) / 40))
    scan.paint(0.8, scan.ellipse(centre, 27.2, 27.2, soft=0.6))
    scan.paint(0.02, cyst)
    scan.paint(0.14, cyst * np.exp(-(((scan.y + 24) / 3) ** 2)))
    return scan.finish(20, "LT ADNEXA")


def retinal_detachment(rng: np.random.Generator) -> Canvas:
    """B-scan of the right eye: a thick membrane in the shape of a V, its tip fixed at the optic disc."""
    scan = Scan(rng, 0.105, radius=14, spread=40, echo=0.6)
    scan.texture(0.16, 0.9)
    scan.paint(0.45, ramp((2.4 - scan.depth) / 0.4))
    scan.reflect([(-10, -15.5), (0, -16.6), (10, -15.5)], 0.5, 0.6)
    globe = scan.ellipse((0, -3.0), 12.4, 12.0, soft=0.3)
    nerve = scan.shape(points_of("-1.6,8 1.6,8 2.6,13 3.4,20 -3.4,20 -2.6,13"), 0.3)
    scan.paint(0.14, nerve)
    scan.paint(0.88, globe)
    scan.paint(0.025, scan.ellipse((0, -3.0), 11.4, 11.0, soft=0.25))
    scan.paint(0.55, globe * ramp((-12.2 - scan.y) / 0.8))
    scan.paint(0.06, scan.ellipse((0, -12.8), 4.6, 1.3, soft=0.3))
    scan.reflect(points_of("-4.6,-10.2 -2.4,-9.0 0,-8.6 2.4,-9.0 4.6,-10.2"), 0.45, 0.7)
    scan.paint(0.05, scan.ellipse((0, -10.6), 4.4, 1.8, soft=0.3))
    scan.reflect(points_of("-4.4,-11.2 -2.2,-12.3 0,-12.6 2.2,-12.3 4.4,-11.2"), 0.4, 0.7)
    left = points_of("0,8.0 -1.6,4.2 -3.6,1.6 -5.2,-2.0 -7.6,-4.4 -10.2,-8.0")
    right = points_of("0,8.0 1.4,4.6 3.9,1.2 5.0,-1.6 7.8,-4.8 10.2,-8.0")
    for fold in (left, right):
        scan.paint(0.95, scan.line(fold, 0.85, soft=0.12))
    scan.paint(0.9, scan.ellipse((0, 8.0), 1.5, 0.7, soft=0.3))
    scan.scale(0.7, scan.behind((0, 9.5), 2.4, soft=0.6))
    return scan.finish(5, "R EYE")


def hydronephrosis(rng: np.random.Generator) -> Canvas:
    """Left kidney, long section: 8 mm stone at the pelviureteric junction with shadow, pelvis and calyces dilated."""
    scan = Scan(rng, 0.34, radius=45, spread=37, echo=0.45)
    scan.texture(0.14, 5)
    scan.layers(2, 6)
    scan.paint(0.58 + 0.02 * scan.noise(1), scan.shape(points_of("-64,-36 -40,-40 -22,-28 -34,-12 -60,-6"), 1.5))
    kidney = scan.shape(points_of("-54,2 -44,-20 -18,-29 16,-29 44,-19 54,2 44,17 20,21 -18,21 -44,17"))
    scan.paint(0.85, np.clip(scan.soften(kidney, 1.0) * 1.6, 0, 1))
    scan.paint(0.32 + 0.03 * scan.noise(1.5), kidney)
    scan.paint(0.66 + 0.06 * scan.noise(2), scan.shape(points_of("-34,2 -18,-12 14,-12 34,1 20,18 -20,18"), 2.5))
    pelvis = scan.shape(points_of("-20,3 -8,-5 8,-5 20,3 14,16 7,25 3,35 -3,35 -7,25 -14,16"), 0.4)
    fluid = pelvis
    club = points_of("-4,0 -4.5,9 -8.5,16 -7.5,21 0,23.5 7.5,21 8.5,16 4.5,9 4,0")
    for foot, degrees, length in (
        ((-12, 4), -84, 1.2),
        ((-9, 1), -42, 1.0),
        ((0, 1), 0, 1.0),
        ((9, 1), 42, 1.0),
        ((12, 4), 84, 1.2),
    ):
        calyx = turned([(foot[0] + x, foot[1] - y * length) for x, y in club], degrees, foot)
        fluid = np.maximum(fluid, scan.shape(calyx, 0.4))
    scan.add(0.16, scan.behind((0, 24), 40, soft=0.6) * (1 - fluid))
    scan.paint(0.75, np.clip(scan.soften(fluid, 0.8) * 1.8, 0, 1))
    scan.paint(0.03, fluid)
    stone = (0.0, 36.0)
    scan.scale(0.07, scan.behind((stone[0], stone[1] + 2.2), 8, soft=0.15))
    scan.paint(0.7 + 0.4 * ramp((stone[1] + 2 - scan.y) / 4), scan.ellipse(stone, 4, 4, soft=0.5))
    return scan.finish(20, "LT KIDNEY")


def thyroid_nodule(rng: np.random.Generator) -> Canvas:
    """Left thyroid lobe, transverse section: a solid dark nodule of 12 mm with a smooth margin."""
    scan = Scan(rng, 0.125, radius=None, spread=22, echo=0.3)
    scan.texture(0.12, 1.5)
    scan.layers(2, 2.2)
    scan.paint(
        0.22 + 0.05 * scan.noise(0.4, stretch=5),
        scan.shape(points_of("-22,-17 0,-16 22,-14 22,-9 4,-11.5 -22,-12.5"), 0.4),
    )
    scan.reflect([(-22, -12.4), (0, -11.8), (12, -9.8), (22, -8.6)], 0.5, 0.7)
    gland = scan.shape(
        points_of("-22,-10.5 -9,-9.8 -3,-11 7,-9.6 11.5,-1 9,8.5 2,11 -5,7.5 -8.5,-2 -12,-5.6 -22,-6.2"), 0.3
    )
    scan.paint(0.85, np.clip(scan.soften(gland, 0.4) * 1.5, 0, 1))
    scan.paint(0.58 + 0.02 * scan.noise(0.6), gland)
    airway = scan.radius((-19, 2), 9.5, 8.5)
    scan.paint(0.22, ramp((1.0 - airway) / 0.05))
    scan.paint(0.95, ramp((0.84 - airway) / 0.04))
    scan.paint(
        0.12 + 0.35 * np.exp(-((np.mod(scan.y, 3.4) - 1.7) ** 2) / 0.3) * ramp((6 - scan.y) / 12),
        ramp((0.76 - airway) / 0.04),
    )
    scan.scale(0.35, scan.behind((-19, 4), 13, soft=0.3))
    for centre, rx, ry in (((16.2, 1.5), 3.6, 3.5), ((19.3, -5.5), 3.2, 1.8)):
        scan.paint(0.8, scan.ellipse(centre, rx + 0.7, ry + 0.7, soft=0.4))
        scan.paint(0.03, scan.ellipse(centre, rx, ry, soft=0.3))
    scan.paint(
        0.18 + 0.05 * scan.noise(0.4, stretch=5), scan.shape(points_of("-8,14 4,13 18,11 22,12 22,23 -10,23"), 0.6)
    )
    scan.paint(0.5, scan.ellipse((-6.8, 11), 3.2, 2.4, soft=0.4))
    scan.paint(0.15, scan.ellipse((-6.8, 11), 2.2, 1.5, soft=0.4))
    nodule = scan.ellipse((2.2, 0.0), 6, 6, soft=0.25)
    scan.paint(0.74, scan.ellipse((2.2, 0.0), 6.35, 6.35, soft=0.3) * 0.8)
    scan.paint(0.2 + 0.015 * scan.noise(0.5), nodule)
    return scan.finish(10, "LT LOBE")
