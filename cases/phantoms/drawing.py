"""What all phantoms are drawn with: a canvas measured in millimetres, soft shapes, grain and annotations."""

import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

Array = NDArray[np.float64]
Point = tuple[float, float]
Colour = tuple[float, float, float]
Paint = float | Array | Colour
Pixels = Callable[[Sequence[Point]], list[Point]]

SIZE = 384
"""Width and height of every picture, in pixels."""

LETTERS = {
    "A": (".###.", "#...#", "#...#", "#####", "#...#", "#...#", "#...#"),
    "L": ("#....", "#....", "#....", "#....", "#....", "#....", "#####"),
    "P": ("####.", "#...#", "#...#", "####.", "#....", "#....", "#...."),
    "R": ("####.", "#...#", "#...#", "####.", "#.#..", "#..#.", "#...#"),
}
"""The orientation letters, drawn here so that they do not depend on an installed font."""

OVERSAMPLING = 3


def generator(name: str) -> np.random.Generator:
    """Return a random generator seeded by a name: the same in every process and on every machine."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def ramp(values: Array) -> Array:
    """Rise smoothly from 0 to 1 while the values go from 0 to 1."""
    clipped = np.clip(values, 0.0, 1.0)
    return np.asarray(clipped * clipped * (3.0 - 2.0 * clipped))


def points_of(text: str) -> list[Point]:
    """Read points as the attribute ``points`` of SVG has them: pairs ``x,y`` with spaces between."""
    pairs = (pair.split(",") for pair in text.split())
    return [(float(x), float(y)) for x, y in pairs]


def curve(points: Sequence[Point], closed: bool = False, steps: int = 12) -> list[Point]:
    """Return the points of a smooth (Catmull-Rom) curve through the given points."""
    knots = np.asarray(points, dtype=float)
    around = np.vstack([knots[-1:], knots, knots[:2]]) if closed else np.vstack([knots[:1], knots, knots[-1:]])
    t = np.linspace(0.0, 1.0, steps, endpoint=False)[:, None]
    pieces = [
        0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
        for a, b, c, d in zip(around, around[1:], around[2:], around[3:], strict=False)
    ]
    if not closed:
        pieces.append(knots[-1:])
    return [(float(x), float(y)) for x, y in np.vstack(pieces)]


def turned(
    points: Sequence[Point], degrees: float, about: Point = (0.0, 0.0), shift: Point = (0.0, 0.0)
) -> list[Point]:
    """Turn points clockwise on the screen about a point, then shift them."""
    angle = np.deg2rad(degrees)
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    return [
        (
            about[0] + (x - about[0]) * cos - (y - about[1]) * sin + shift[0],
            about[1] + (x - about[0]) * sin + (y - about[1]) * cos + shift[1],
        )
        for x, y in points
    ]


def mirrored(points: Sequence[Point]) -> list[Point]:
    """Mirror points left to right about the middle of the picture."""
    return [(-x, y) for x, y in points]


def blurred(field: Array, sigma_x: float, sigma_y: float | None = None) -> Array:
    """Blur a field with a Gaussian of the given widths in pixels."""
    sigma_y = sigma_x if sigma_y is None else sigma_y
    margin = int(np.ceil(3 * max(sigma_x, sigma_y))) + 1
    size = -(-(SIZE + 2 * margin) // 32) * 32
    padded = np.pad(field, [(margin, size - length - margin) for length in field.shape], mode="edge")
    fy, fx = np.fft.fftfreq(padded.shape[0])[:, None], np.fft.rfftfreq(padded.shape[1])[None, :]
    transfer = np.exp(-2 * np.pi**2 * ((fx * sigma_x) ** 2 + (fy * sigma_y) ** 2))
    smooth = np.fft.irfft2(np.fft.rfft2(padded) * transfer, s=padded.shape)
    return np.asarray(smooth[margin : margin + field.shape[0], margin : margin + field.shape[1]])


class Canvas:
    """A square picture whose coordinates are millimetres from its centre, x to the right and y down.

    A mask is an array of the picture's size with 1 inside a shape and 0 outside it. Brightness goes from 0 to 1.
    """

    unit = 1.0
    """Millimetres in one unit of length of this canvas: 1 unless it is measured in micrometres."""

    grey_step = 4
    """Grey values are rounded to multiples of this, which keeps grainy pictures small."""

    def __init__(self, rng: np.random.Generator, mm_per_pixel: float, background: Paint = 0.0) -> None:
        """Start an empty picture; a background of three numbers makes it a colour picture."""
        self.rng = rng
        self.mm_per_pixel = mm_per_pixel
        self.half = SIZE / 2 * mm_per_pixel
        axis = (np.arange(SIZE) + 0.5) * mm_per_pixel - self.half
        self.x, self.y = (np.asarray(grid) for grid in np.meshgrid(axis, axis))
        self.channels = 3 if isinstance(background, tuple) else 1
        self.pixels: Array = np.zeros((SIZE, SIZE, self.channels))
        self.pixels[:] = self._paint(background)
        self._ink: list[tuple[Callable[[ImageDraw.ImageDraw, int], None], float]] = []

    def _paint(self, value: Paint) -> Array:
        array = np.asarray(value, dtype=float)
        return array[..., None] if array.ndim == 2 else array

    # Masks

    def ellipse(self, centre: Point, rx: float, ry: float, degrees: float = 0.0, soft: float | None = None) -> Array:
        """Mask of an ellipse; its edge is soft over the given millimetres (one pixel by default)."""
        r = self.radius(centre, rx, ry, degrees)
        return ramp((1.0 - r) * min(rx, ry) / (soft or self.mm_per_pixel) + 0.5)

    def radius(self, centre: Point, rx: float, ry: float, degrees: float = 0.0) -> Array:
        """Distance from the centre of an ellipse as a share of its radius: 1 on its edge."""
        angle = np.deg2rad(degrees)
        dx, dy = self.x - centre[0], self.y - centre[1]
        along, across = dx * np.cos(angle) + dy * np.sin(angle), dy * np.cos(angle) - dx * np.sin(angle)
        return np.asarray(np.hypot(along / rx, across / ry))

    def shape(self, points: Sequence[Point], soft: float = 0.0, smooth: bool = True) -> Array:
        """Mask of a closed outline, smooth or with corners."""
        outline = curve(points, closed=True) if smooth else list(points)
        return self._raster(lambda draw, pixels: draw.polygon(pixels(outline), fill=255), soft)

    def line(self, points: Sequence[Point], width: float, soft: float = 0.0, closed: bool = False) -> Array:
        """Mask of a smooth line with round ends through the points."""
        path = curve(points, closed=closed)
        if closed:
            path.append(path[0])
        thickness = max(1, round(width / self.mm_per_pixel * OVERSAMPLING))

        def draw(pen: ImageDraw.ImageDraw, pixels: Pixels) -> None:
            places = pixels(path)
            for pair in pairwise(places):
                pen.line(pair, fill=255, width=thickness)
            for place in places:
                pen.circle(place, (thickness - 1) / 2, fill=255)

        return self._raster(draw, soft)

    def _raster(self, drawing: Callable[[ImageDraw.ImageDraw, Pixels], None], soft: float) -> Array:
        image = Image.new("L", (SIZE * OVERSAMPLING, SIZE * OVERSAMPLING))
        scale = OVERSAMPLING / self.mm_per_pixel
        drawing(
            ImageDraw.Draw(image),
            lambda points: [((x + self.half) * scale, (y + self.half) * scale) for x, y in points],
        )
        mask = np.asarray(image.resize((SIZE, SIZE), Image.Resampling.BOX), dtype=float) / 255
        return self.soften(mask, soft) if soft else mask

    def soften(self, mask: Array, millimetres: float) -> Array:
        """Blur a mask with a Gaussian of the given width."""
        return blurred(mask, millimetres / self.mm_per_pixel)

    def rim(self, mask: Array, width: float) -> Array:
        """Mask of the inner edge of a shape, about as wide as given: a cortex, a capsule, a wall."""
        return mask * (1.0 - ramp((self.soften(mask, width) - 0.62) / 0.33))

    def noise(self, grain: float, stretch: float = 1.0) -> Array:
        """Random grain of the given size in millimetres, mean 0 and deviation 1, wider than high by the stretch."""
        sigma = grain / self.mm_per_pixel
        field = blurred(self.rng.standard_normal((SIZE, SIZE)), sigma * stretch, sigma)
        return np.asarray((field - field.mean()) / field.std())

    # Painting

    def paint(self, value: Paint, mask: Array) -> None:
        """Cover the picture with a value where the mask is."""
        alpha = np.clip(mask, 0.0, 1.0)[..., None]
        self.pixels = self.pixels * (1.0 - alpha) + self._paint(value) * alpha

    def add(self, value: Paint, mask: Array) -> None:
        """Brighten (or darken, if negative) the picture where the mask is, as overlapping shadows do."""
        self.pixels = self.pixels + self._paint(value) * mask[..., None]

    def scale(self, factor: Paint, mask: Array) -> None:
        """Multiply the picture by a factor where the mask is."""
        self.pixels = self.pixels * (1.0 + (self._paint(factor) - 1.0) * mask[..., None])

    # Annotations

    def bar(self, length: float, label: str, brightness: float = 1.0) -> None:
        """Note a scale bar of the given length in millimetres at the lower right, with its label above."""
        right, bottom = SIZE - 12, SIZE - 10
        left = right - round(length / self.mm_per_pixel)

        def draw(pen: ImageDraw.ImageDraw, ink: int) -> None:
            pen.line([(left, bottom), (right, bottom)], fill=ink, width=2)
            for end in (left, right):
                pen.line([(end, bottom - 4), (end, bottom + 3)], fill=ink, width=1)
            pen.text(((left + right) / 2 - 3 * len(label), bottom - 16), label, ink, ImageFont.load_default_imagefont())

        self._ink.append((draw, brightness))

    def letter(self, letter: str, x: int, y: int, brightness: float = 1.0) -> None:
        """Note an orientation letter (L, R, A or P) at a place in pixels."""

        def draw(pen: ImageDraw.ImageDraw, ink: int) -> None:
            for row, dots in enumerate(LETTERS[letter]):
                for column, dot in enumerate(dots):
                    if dot == "#":
                        left, top = x + 2 * column, y + 2 * row
                        pen.rectangle([left, top, left + 1, top + 1], fill=ink)

        self._ink.append((draw, brightness))

    def label(self, text: str, x: int, y: int, brightness: float = 1.0) -> None:
        """Note the name of the part or of the view at a place in pixels."""

        def draw(pen: ImageDraw.ImageDraw, ink: int) -> None:
            pen.text((x, y), text, ink, ImageFont.load_default_imagefont())

        self._ink.append((draw, brightness))

    # Result

    def image(self) -> Image.Image:
        """Return the picture, its values rounded so that the file is small, with the annotations on it."""
        values = np.clip(self.pixels, 0.0, 1.0) * 255
        if self.channels == 1:
            values = np.clip(np.round(values / self.grey_step) * self.grey_step, 0, 255)
        picture = Image.fromarray(values.round().astype(np.uint8).squeeze())
        for draw, brightness in self._ink:
            ink = Image.new("L", (SIZE, SIZE))
            draw(ImageDraw.Draw(ink), 255)
            for tone, mask in ((1.0 - brightness, ink.filter(ImageFilter.MaxFilter(3))), (brightness, ink)):
                grey = round(255 * tone)
                picture.paste(grey if self.channels == 1 else (grey, grey, grey), mask=mask)
        return (
            picture
            if self.channels == 1
            else picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        )

    def png(self) -> bytes:
        """Return the picture as a PNG file; its only metadata is the pixel spacing."""
        buffer = BytesIO()
        dots_per_inch = 25.4 / (self.mm_per_pixel * self.unit)
        self.image().save(buffer, "PNG", optimize=True, dpi=(dots_per_inch, dots_per_inch))
        return buffer.getvalue()
