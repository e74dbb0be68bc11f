"""The pictures of the built-in cases: drawn the same every time, small, and showing what their cases say."""

from functools import cache
from importlib.resources import files
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from cases.phantoms import PHANTOMS, draw, main
from cases.phantoms.drawing import Array

IMAGES = Path(str(files("cases") / "builtin" / "images"))
COLOURED = {"internal-medicine-02", "laboratory-medicine-01"}


class Picture:
    """A committed picture, measured in millimetres from its centre; brightness goes from 0 to 1."""

    def __init__(self, case_id: str) -> None:
        with Image.open(IMAGES / f"{case_id}.png") as image:
            self.mm: float = 25.4 / image.info["dpi"][0]
            self.colour = np.asarray(image.convert("RGB"), dtype=float) / 255
        self.grey: Array = self.colour.mean(axis=2)
        axis = (np.arange(384) - 191.5) * self.mm
        self.x, self.y = np.meshgrid(axis, axis)

    def inside(self, left: float, right: float, top: float, bottom: float) -> NDArray[np.bool_]:
        return np.asarray((self.x >= left) & (self.x <= right) & (self.y >= top) & (self.y <= bottom))

    def mean(self, left: float, right: float, top: float, bottom: float) -> float:
        return float(self.grey[self.inside(left, right, top, bottom)].mean())

    def pixel(self, millimetres: float) -> int:
        return round(millimetres / self.mm + 191.5)

    def row(self, y: float, thickness: int = 3) -> Array:
        """The brightness along a line from left to right, averaged over a few pixels across it."""
        middle = self.pixel(y)
        return np.asarray(self.grey[middle - thickness // 2 : middle + thickness // 2 + 1].mean(axis=0))

    def column(self, x: float, thickness: int = 3) -> Array:
        """The brightness along a line from top to bottom, averaged over a few pixels across it."""
        middle = self.pixel(x)
        return np.asarray(self.grey[:, middle - thickness // 2 : middle + thickness // 2 + 1].mean(axis=1))

    def run(self, marked: NDArray[np.bool_], at: float) -> float:
        """The length in millimetres of the unbroken run of marked pixels through a place on a line."""
        labels, _ = ndimage.label(marked)
        label = labels[self.pixel(at)]
        assert label, f"nothing marked at {at} mm"
        return float((labels == label).sum() * self.mm)

    def ring(self, centre: tuple[float, float], inner: float, outer: float) -> float:
        """The mean brightness between two radii around a centre."""
        r = np.hypot(self.x - centre[0], self.y - centre[1])
        return float(self.grey[(r >= inner) & (r < outer)].mean())


@cache
def picture(case_id: str) -> Picture:
    return Picture(case_id)


@pytest.mark.parametrize("case_id", PHANTOMS)
def test_is_drawn_the_same_every_time(case_id: str) -> None:
    drawn = draw(case_id).png()
    assert draw(case_id).png() == drawn
    with Image.open(BytesIO(drawn)) as fresh, Image.open(IMAGES / f"{case_id}.png") as committed:
        difference = np.abs(np.asarray(fresh.convert("RGB"), dtype=int) - np.asarray(committed.convert("RGB")))
    # Another processor may round a value to the next grey step, so a few pixels are allowed to differ.
    assert difference.mean() < 0.5


@pytest.mark.parametrize("case_id", PHANTOMS)
def test_file_is_small_and_says_nothing(case_id: str) -> None:
    path = IMAGES / f"{case_id}.png"
    assert path.stat().st_size < 90_000
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
        assert image.size == (384, 384)
        assert image.mode == ("P" if case_id in COLOURED else "L")
        assert set(image.info) == {"dpi"}


def test_folder_holds_just_the_phantoms() -> None:
    assert {path.stem for path in IMAGES.glob("*.png")} == set(PHANTOMS)
    assert len(PHANTOMS) == 21


def test_main_draws_into_the_folder_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cases.phantoms.PHANTOMS", {"surgery-02": PHANTOMS["surgery-02"]})
    main([str(tmp_path / "new")])
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["surgery-02.png"]
    assert "surgery-02.png" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="usage"):
        main(["one", "two"])


def test_gallstone_is_bright_and_casts_a_shadow() -> None:
    scan = picture("surgery-01")
    assert scan.mean(-19, -13, 1, 7) > 0.5
    assert scan.mean(0, 15, 0, 8) < 0.05
    assert scan.mean(-22, -18, 30, 45) < 0.15 * scan.mean(-2, 10, 30, 45)
    stone = scan.grey * (np.hypot(scan.x + 16, scan.y - 4.5) < 8.5) > 0.2
    stone = ndimage.binary_opening(ndimage.binary_closing(stone, iterations=3), iterations=6)
    assert 2 * np.sqrt(stone.sum() / np.pi) * scan.mm == pytest.approx(14, abs=1)


def test_target_has_alternating_rings_31_mm_across() -> None:
    scan = picture("pediatrics-01")
    tones = [scan.ring((-1, 4), inner, outer) for inner, outer in ((15.4, 16), (12.6, 14.8), (11, 11.7), (8.9, 10.2))]
    assert tones[0] > 2 * tones[1]
    assert tones[2] > 2 * tones[1]
    assert tones[2] > 2 * tones[3]


def test_cyst_is_empty_52_mm_wide_and_brightens_what_is_behind() -> None:
    scan = picture("obstetrics-and-gynecology-01")
    assert scan.run(scan.row(0, 5) < 0.15, at=12) == pytest.approx(52, abs=1.5)
    assert scan.run(scan.column(12, 5) < 0.2, at=0) == pytest.approx(52, abs=1.5)
    assert scan.mean(4, 20, 29, 38) > 1.5 * scan.mean(-30, -14, 24, 33)


def test_retina_forms_a_v_with_its_tip_at_the_disc() -> None:
    scan = picture("ophthalmology-01")
    gaps = [scan.run(scan.row(y) < 0.3, at=0) for y in (-6.0, -1.0, 3.0, 6.0)]
    assert all(upper > lower + 1 for upper, lower in pairwise(gaps))
    assert scan.mean(-0.6, 0.6, 7.6, 8.4) > 0.5


def test_kidney_has_a_wide_pelvis_and_a_stone_with_shadow_below() -> None:
    scan = picture("medical-imaging-01")
    assert scan.mean(-8, 8, 4, 14) < 0.05
    assert scan.mean(-2.5, 2.5, 33.5, 38.5) > 0.4
    assert scan.mean(-2, 2, 44, 54) < 0.15 * scan.mean(10, 20, 44, 54)
    assert scan.run(scan.row(36, 5) > 0.25, at=0) >= 7


def test_thyroid_nodule_is_dark_and_12_mm_wide() -> None:
    scan = picture("general-medicine-01")
    assert scan.ring((2.2, 0), 0, 5.5) < 0.5 * scan.ring((2.2, 0), 6.2, 7.5)
    radii = np.arange(3, 8, 0.25)
    tones = np.array([scan.ring((2.2, 0), r, r + 0.25) for r in radii])
    edge = radii[np.argmax(np.diff(tones))] + 0.25
    assert 2 * edge == pytest.approx(12, abs=0.8)


def test_effusion_whitens_the_right_base_only() -> None:
    film = picture("internal-medicine-01")
    assert film.mean(-125, -60, 48, 60) > film.mean(95, 125, 48, 60) + 0.2
    assert film.mean(-120, -60, -90, 0) == pytest.approx(film.mean(60, 120, -90, 0), abs=0.06)
    at_wall, further_in = film.mean(-136, -131, 8, 14), film.mean(-110, -80, 8, 14)
    assert at_wall > further_in + 0.15, "the fluid rises along the chest wall"


def test_pneumothorax_leaves_the_left_periphery_dark_and_plain() -> None:
    film = picture("emergency-medicine-01")
    outer, same_on_the_right = film.mean(114, 127, -40, 50), film.mean(-127, -114, -40, 50)
    assert outer < same_on_the_right - 0.05
    for y, x in ((-44, 104), (12, 112), (60, 114)):
        beside = film.row(y, 9)[film.pixel(x - 5) : film.pixel(x + 5) + 1]
        assert beside.max() > beside[-1] + 0.12, "the pleural line"
    assert film.mean(90, 100, -10, 40) > outer + 0.05


def test_haematoma_is_18_mm_thick_and_pushes_the_midline_5_mm() -> None:
    scan = picture("emergency-medicine-02")
    row = scan.row(12, 5)
    assert scan.run((row > 0.62) & (row < 0.88), at=-55) == pytest.approx(18, abs=1.5)
    assert scan.mean(48, 62, 4, 20) < 0.55
    dark = scan.row(-10, 5) < 0.27
    dark &= np.abs(scan.x[0]) < 25
    runs, count = ndimage.label(dark)
    assert count == 2, "both lateral ventricles"
    inner = (scan.x[0][runs == 1].max() + scan.x[0][runs == 2].min()) / 2
    assert inner == pytest.approx(5, abs=1)


def test_lung_mass_is_32_mm_wide_in_the_right_lung() -> None:
    scan = picture("oncology-01")
    mass = ndimage.binary_opening((scan.grey > 0.6) & (np.hypot(scan.x + 76, scan.y + 20) < 28), iterations=5)
    assert 2 * np.sqrt(mass.sum() / np.pi) * scan.mm == pytest.approx(32, abs=2)
    assert scan.mean(60, 92, -36, -4) < 0.4
    around = scan.ring((-76, -20), 19, 23)
    assert around > scan.ring((76, -20), 19, 23) + 0.05, "spicules"


def test_fluid_level_is_in_the_right_maxillary_sinus_only() -> None:
    scan = picture("otolaryngology-01")
    assert scan.mean(-40, -25, 12, 26) > 0.35
    for air in ((-40, -25, 2, 8), (25, 40, 2, 8), (25, 40, 12, 26)):
        assert scan.mean(*air) < 0.1
    steps = np.diff(scan.grey[scan.pixel(5) : scan.pixel(15), scan.pixel(-40) : scan.pixel(-22)], axis=0)
    assert np.ptp(steps.argmax(axis=0)) <= 2, "the level is horizontal"


def test_fibroid_is_dark_46_mm_and_behind_the_cavity() -> None:
    scan = picture("obstetrics-and-gynecology-02")
    assert scan.run(scan.row(-34, 5) < 0.35, at=16) == pytest.approx(46, abs=1.5)
    assert scan.run(scan.column(16, 5) < 0.35, at=-34) == pytest.approx(46, abs=1.5)
    assert scan.mean(-22, -16, -19, -16) > 0.8, "the bright cavity lies in front of it"


def test_meningioma_is_bright_and_35_mm_on_the_left() -> None:
    scan = picture("medical-imaging-02")
    assert scan.run(scan.column(46.8, 5) > 0.7, at=-34) == pytest.approx(35, abs=1.5)
    assert scan.mean(-56, -38, -44, -24) < 0.6


def test_disc_l4_l5_alone_is_dark_and_reaches_6_mm_back() -> None:
    scan = picture("rehabilitation-01")
    discs = [scan.mean(x - 4, x + 4, y - 2, y + 2) for x, y in ((-6, -75), (-9, -40), (-9, -5), (-6, 29.5), (5, 63))]
    assert discs[3] < 0.2
    assert all(tone > 0.5 for index, tone in enumerate(discs) if index != 3)
    wall = [scan.x[0][(scan.row(y) < 0.3) & (scan.x[0] > 4)].min() for y in (20.0, 34.0)]
    disc = scan.x[0][(scan.row(27) > 0.5) & (scan.x[0] > 4)].min()
    assert disc - np.mean(wall) == pytest.approx(6, abs=0.8)
    assert scan.mean(20, 23, 28, 31) > 0.5, "the sac is indented, not cut through"


def test_radius_is_broken_2_cm_below_the_joint() -> None:
    film = picture("surgery-02")
    column = film.grey[:, film.pixel(-42) : film.pixel(-24)].mean(axis=1)
    shaft = column[film.pixel(2) : film.pixel(22)]
    assert film.y[film.pixel(2) + int(shaft.argmin()), 0] == pytest.approx(10, abs=1.5)
    assert shaft.min() < 0.75 * float(np.median(shaft))


def test_knee_is_narrow_on_the_medial_side_and_dense_beside_it() -> None:
    film = picture("traditional-chinese-medicine-01")
    medial, lateral = (film.run(film.column(x) < 0.45, at=y) for x, y in ((28, 1.1), (-25, 1.0)))
    assert medial < 3 < 5 < lateral
    assert film.mean(18, 36, 4, 8) > film.mean(-32, -16, 7, 11) + 0.08


def test_tooth_has_a_6_mm_lucency_at_the_mesial_apex_and_a_cavity() -> None:
    film = picture("dentistry-01")
    assert film.run(film.row(12) < 0.28, at=-4) == pytest.approx(2 * np.sqrt(3**2 - 1.4**2), abs=0.6)
    assert film.mean(2.6, 4.0, 9.6, 11) > 0.3, "the distal root has none"
    assert film.mean(1.5, 3, -11.5, -9) < 0.25


def test_bone_scan_has_five_hot_spots_where_they_belong() -> None:
    film = picture("oncology-02")
    hot = (ndimage.gaussian_filter(film.grey, 1) < 0.3) & film.inside(-400, 400, -490, 420)
    labels, count = ndimage.label(hot)
    assert count == 5
    rows, columns = np.array(ndimage.center_of_mass(hot, labels, range(1, 6))).round().astype(int).T
    x, y = film.x[0][columns], film.y[:, 0][rows]
    assert sorted(np.select([np.abs(x) < 15, (x < -80) & (y < 0), (x > 60) & (y > 100)], [0, 1, 2], 9)) == [
        0,
        0,
        1,
        1,
        2,
    ]


def test_hot_nodule_is_22_mm_in_the_right_lobe_of_a_faint_gland() -> None:
    film = picture("medical-imaging-03")
    assert film.run(film.row(2, 5) < 0.55, at=-18) == pytest.approx(22, abs=2)
    assert film.mean(14, 22, -8, 10) > 0.7
    assert film.mean(14, 22, -8, 10) < film.mean(40, 50, -8, 10)


def test_ulcer_is_white_10_mm_wide_with_a_red_margin() -> None:
    view = picture("internal-medicine-02")
    assert view.run(view.row(8) > 0.7, at=-4.5) == pytest.approx(10, abs=0.7)
    r = np.hypot(view.x + 4.5, view.y - 8)
    redness = view.colour[..., 0] - view.colour[..., 1]
    assert redness[(r > 5.6) & (r < 7)].mean() > redness[(r > 9) & (r < 11)].mean() + 0.1
    assert redness[r < 4.5].mean() < 0.1


def test_smear_has_six_rings_in_five_red_cells_of_normal_size() -> None:
    smear = picture("laboratory-medicine-01")
    red, green, blue = np.moveaxis(smear.colour, 2, 0)
    micrometre = 0.001
    away = np.hypot(smear.x - 17 * micrometre, smear.y + 15 * micrometre) > 8 * micrometre
    field = away & ~smear.inside(12 * micrometre, 31 * micrometre, 25 * micrometre, 31 * micrometre)
    dots, count = ndimage.label((red - blue > 0.1) & (green < 0.25) & field)
    assert count == 6
    places = np.array(ndimage.center_of_mass(dots > 0, dots, range(1, 7))) * smear.mm / micrometre
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) + 99 * np.eye(6)
    assert (apart < 6).sum() == 2, "just one pair shares a cell"
    cells, _ = ndimage.label(ndimage.binary_erosion((green < 0.75) & (red > blue), iterations=2))
    areas = np.bincount(cells.ravel())[1:]
    whole = 2 * np.sqrt(np.median(areas[areas > 900]) / np.pi) * smear.mm / micrometre + 4 * 0.16
    assert 6.5 < whole < 8.2
