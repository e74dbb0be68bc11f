"""Draws the pictures of the built-in cases: synthetic phantoms, not images of patients.

Every picture shows one finding with the side, the number and the size that its case states, in plausible anatomy and
in radiological convention: the patient's left is on the right of the picture. A picture is 384 by 384 pixels; its
pixel spacing is in the PNG file (as pHYs) and its scale bar shows it. `python -m cases.phantoms` redraws them all.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from cases.phantoms import colour, radiograph, sections, ultrasound
from cases.phantoms.drawing import Canvas, generator

Drawing = Callable[[np.random.Generator], Canvas]

PHANTOMS: dict[str, Drawing] = {
    "surgery-01": ultrasound.gallstone,
    "surgery-02": radiograph.radius_fracture,
    "internal-medicine-01": radiograph.pleural_effusion,
    "internal-medicine-02": colour.gastric_ulcer,
    "emergency-medicine-01": radiograph.pneumothorax,
    "emergency-medicine-02": sections.epidural_haematoma,
    "oncology-01": sections.lung_mass,
    "oncology-02": radiograph.bone_metastases,
    "pediatrics-01": ultrasound.intussusception,
    "obstetrics-and-gynecology-01": ultrasound.ovarian_cyst,
    "obstetrics-and-gynecology-02": sections.uterine_fibroid,
    "ophthalmology-01": ultrasound.retinal_detachment,
    "otolaryngology-01": sections.sinus_fluid_level,
    "dentistry-01": radiograph.apical_lesion,
    "medical-imaging-01": ultrasound.hydronephrosis,
    "medical-imaging-02": sections.meningioma,
    "medical-imaging-03": radiograph.toxic_nodule,
    "rehabilitation-01": sections.disc_protrusion,
    "traditional-chinese-medicine-01": radiograph.knee_osteoarthritis,
    "laboratory-medicine-01": colour.malaria_smear,
    "general-medicine-01": ultrasound.thyroid_nodule,
}
"""The drawing of each case's picture, by case id."""


def draw(case_id: str) -> Canvas:
    """Draw the picture of a case; the same every time."""
    return PHANTOMS[case_id](generator(case_id))


def draw_all(folder: Path) -> list[Path]:
    """Draw every picture into a folder as ``<case id>.png`` and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for case_id in PHANTOMS:
        path = folder / f"{case_id}.png"
        path.write_bytes(draw(case_id).png())
        written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw every picture into the folder given, or into that of the built-in cases."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) > 1 or any(argument.startswith("-") for argument in given):
        sys.exit("usage: python -m cases.phantoms [FOLDER]")
    folder = Path(given[0]) if given else Path(str(files("cases") / "builtin" / "images"))
    for path in draw_all(folder):
        print(f"{path}  {path.stat().st_size} bytes")
