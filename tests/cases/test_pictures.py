"""Pictures that a case names lie in its folder, are images by content and of bounded size; else nothing is sent."""

import json
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Raster
from typer.testing import CliRunner

import wardround as wr
from cases import Case, Image, check_cases, load_cases, pictures, save_cases
from cases.pictures import PictureError, only_pictures_in, picture_fault, read_picture, with_sound_pictures
from tests.support.fake_server import FakeServer
from tests.support.pictures import PNG
from wardround.cli import app

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A case's folder with one picture, beside a secret."""
    (tmp_path / "id_rsa").write_text(SECRET)
    folder = tmp_path / "ward"
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "ct.png").write_bytes(PNG)
    return folder


def pictured(file: str, folder: Path) -> Case:
    case = load_cases()[0]
    record = case.examinations.model_copy(update={"images": [Image(file=file, item="CT")]})
    return case.model_copy(update={"examinations": record, "folder": str(folder)})


def test_a_picture_in_the_folder_is_read_with_the_type_that_its_content_has(folder: Path) -> None:
    (folder / "ct.jpg").write_bytes(PNG)
    assert picture_fault(folder, "images/../ct.jpg") is None
    assert read_picture(folder / "ct.jpg") == (PNG, "image/png")


@pytest.mark.parametrize(
    "file",
    ["../id_rsa", "images/../../id_rsa", "/etc/hostname", "link.png", "linked/id_rsa", r"C:\x.png", "c:x.png",
     r"\\host\share\x.png", "//host/share/x.png", r"\\?\C:\x.png"],
)  # fmt: skip
def test_no_way_leads_out_of_the_folder(folder: Path, file: str) -> None:
    (folder / "link.png").symlink_to(folder.parent / "id_rsa")
    (folder / "linked").symlink_to(folder.parent)
    assert "is outside the case's folder" in str(picture_fault(folder, file))


def test_a_phones_jpeg_with_a_preview_behind_it_is_sent_as_jpeg(folder: Path) -> None:
    picture, preview = (Raster.new("RGB", (8, 8), colour) for colour in ("red", "blue"))
    picture.save(folder / "phone.jpg", format="MPO", save_all=True, append_images=[preview])
    assert read_picture(folder / "phone.jpg")[1] == "image/jpeg"


def test_a_picture_outside_of_the_folder_is_refused_though_it_is_an_image(folder: Path) -> None:
    (folder.parent / "other.png").write_bytes(PNG)
    assert "outside the case's folder" in str(picture_fault(folder, "../other.png"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SECRET.encode(), "is not an image"),
        (b"", "is not an image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "is not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "is not an image"),
        (PNG[:20], "cannot be read"),
    ],
)
def test_what_is_no_image_is_refused_whatever_its_name(folder: Path, content: bytes, said: str) -> None:
    (folder / "ct.png").write_bytes(content)
    assert said in str(picture_fault(folder, "ct.png"))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP", "TIFF"])  # WebP is decoded when opened
def test_a_picture_that_was_cut_off_is_named_by_the_check_and_not_sent(folder: Path, format: str) -> None:
    Raster.effect_noise((64, 64), 50).convert("RGB").save(folder / "ct.png", format=format)
    whole = (folder / "ct.png").read_bytes()
    assert picture_fault(folder, "ct.png") is None
    (folder / "ct.png").write_bytes(whole[: len(whole) // 2])
    save_cases([pictured("ct.png", folder)], folder / "cases.jsonl")
    (problem,) = check_cases(folder / "cases.jsonl")[1]
    assert "'ct.png' is damaged or cut off (" in problem.message and "copy it again" in problem.message
    (case,) = load_cases(folder / "cases.jsonl")  # a run decodes it when it comes to the case
    with pytest.raises(PictureError, match="damaged or cut off"):
        with_sound_pictures(case)


@pytest.mark.parametrize("options", [{}, {"quality": 100}, {"progressive": True}, {"restart_marker_rows": 1}])
def test_a_jpeg_of_any_kind_that_lacks_lines_is_refused(folder: Path, options: dict[str, Any]) -> None:
    file = folder / "ct.jpg"
    Raster.effect_noise((64, 64), 50).convert("RGB").save(file, **options)
    file.write_bytes(file.read_bytes()[:-200])
    assert "'ct.jpg' is damaged or cut off (" in str(picture_fault(folder, "ct.jpg"))


def test_lack_of_memory_is_no_fault_of_a_picture_but_names_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", exhausted)
    with pytest.raises(MemoryError, match=r"ct\.png' has more pixels than fit into memory now; send a smaller copy"):
        picture_fault(folder, "images/ct.png")


def test_a_long_text_behind_a_whole_picture_is_not_called_damage(folder: Path) -> None:
    text = b"zTXtk\0\0" + zlib.compress(bytes(2 * 2**20))
    chunk = (len(text) - 4).to_bytes(4) + text + zlib.crc32(text).to_bytes(4)
    (folder / "ct.png").write_bytes(PNG[:-12] + chunk + PNG[-12:])
    assert "'ct.png' holds more than a picture (Decompressed data too large" in str(picture_fault(folder, "ct.png"))


def test_a_picture_that_is_too_large_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "LARGEST", len(PNG) - 1)
    assert "is larger than" in str(picture_fault(folder, "images/ct.png"))
    with (folder / "hole.png").open("wb") as hole:
        hole.truncate(10 * 2**30)
    assert "is larger than" in str(picture_fault(folder, "hole.png"))


@pytest.mark.parametrize(
    "file", ["images", "no.png", "a\0b.png", "x" * 5000, "/dev/zero", "ring.png", "\ud800.png", "~/x.png"]
)
def test_what_is_no_file_is_refused(folder: Path, file: str) -> None:
    (folder / "ring.png").symlink_to("ring.png")
    assert picture_fault(folder, file)


@pytest.fixture
def closed(folder: Path) -> Iterator[Path]:
    only_pictures_in([folder])
    yield folder
    pictures._folders = None


def test_a_server_reads_pictures_of_its_own_folders_alone(closed: Path) -> None:
    assert read_picture(closed / "images" / "ct.png")[0] == PNG
    other = closed.parent / "other.png"
    other.write_bytes(PNG)
    for file in (other, closed / ".." / "other.png"):
        with pytest.raises(PictureError, match="outside the folders that this server may read"):
            read_picture(file)


def test_checking_a_case_file_names_file_case_field_and_remedy(folder: Path) -> None:
    file = folder / "cases.jsonl"
    case = pictured("../id_rsa", folder)
    save_cases([case], file)
    fault = "examinations.images.0.file: '../id_rsa' is outside the case's folder; put the picture into it"
    assert [str(problem) for problem in check_cases(file)[1]] == [f"{file}, line 1 ({case.id}), {fault}"]
    checked = CliRunner().invoke(app, ["cases", "check", str(file)])
    assert checked.exit_code == 2 and fault in " ".join(checked.output.split())


@pytest.mark.parametrize(
    ("tag", "language", "said"),
    [
        ("zh-CN", "zh", ""),
        ("zh-Hans-SG", "zh", ""),
        ("en", "en", ""),
        ("zh-TW", "zh-TW", "there are no prompts in the language 'zh-TW'"),
        ("es", "es", "there are no prompts in the language 'es'"),
    ],
)
def test_checking_a_case_file_says_which_languages_a_run_would_refuse(
    folder: Path, tag: str, language: str, said: str
) -> None:
    file = folder / "cases.jsonl"
    case = {"id": "a", "language": tag, "patient": {"chief_complaint": "x"}, "provenance": {"source": "x"}}
    file.write_text(json.dumps(case), "utf-8")
    assert load_cases(file)[0].language == language
    assert said or wr.ConsultationContext(language=tag).language == language  # as a case's, so the setting
    checked = CliRunner().invoke(app, ["cases", "check", str(file)])
    assert checked.exit_code == 0 and ("to run them: " in checked.output) == bool(said)
    assert said in " ".join(checked.output.split())


def test_saved_elsewhere_cases_take_their_own_pictures_along_and_no_other_file(folder: Path) -> None:
    (folder.parent / "other.png").write_bytes(PNG)
    kept, secret = pictured("images/ct.png", folder), pictured("../other.png", folder)
    file = folder.parent / "elsewhere" / "some.jsonl"
    save_cases([kept, secret.model_copy(update={"id": "secret"})], file)
    faults = [problem.record for problem in check_cases(file)[1]]
    assert faults == ["line 2 (secret)"] and len(list(file.parent.rglob("*.png"))) == 1
    save_cases([kept], folder / "again.jsonl")
    assert load_cases(folder / "again.jsonl")[0].examinations.images[0].file == "images/ct.png"


def test_a_picture_that_is_taken_along_keeps_its_own_report(folder: Path) -> None:
    """Its copy has another name, by which Med-PMC's judges and recalls look for the report."""
    case = pictured("images/ct.png", folder)
    key = case.key.model_copy(update={"picture_reports": {"images/ct.png": "Its own."}})
    for file in (folder / "again.jsonl", folder.parent / "elsewhere" / "some.jsonl"):
        save_cases([case.model_copy(update={"key": key})], file)
        [saved] = load_cases(file)
        [image] = saved.examinations.images
        assert saved.key.picture_reports == {image.file: "Its own."}
        assert saved.report_of(image.item, image.file) == "Its own."


def test_pictures_of_one_name_in_two_folders_keep_their_reports(folder: Path) -> None:
    (folder / "later").mkdir()
    Raster.new("L", (4, 4)).save(folder / "later" / "ct.png")
    images = [Image(file=file, item="CT") for file in ("images/ct.png", "later/ct.png")]
    case = pictured("images/ct.png", folder)
    record = case.examinations.model_copy(update={"images": images})
    key = case.key.model_copy(update={"picture_reports": {"images/ct.png": "Clear.", "later/ct.png": "A mass."}})
    case = case.model_copy(update={"examinations": record, "key": key})
    elsewhere = folder.parent / "elsewhere" / "some.jsonl"
    save_cases([case], elsewhere)
    for each in (case, *load_cases(elsewhere)):
        assert [each.report_of("CT", image.file) for image in each.examinations.images] == ["Clear.", "A mass."]


def test_a_report_stays_with_its_picture_where_another_of_this_name_comes_to_lie_elsewhere(folder: Path) -> None:
    """A link in the path is followed, so one picture of a file is renamed and the other is not."""
    (folder / "later").mkdir()
    Raster.new("L", (4, 4)).save(folder / "later" / "ct.png")
    (folder / "linked").symlink_to(folder / "later")
    images = [Image(file=file, item="CT") for file in ("images/ct.png", "linked/ct.png")]
    case = pictured("images/ct.png", folder)
    record = case.examinations.model_copy(update={"images": images})
    key = case.key.model_copy(update={"picture_reports": {"images/ct.png": "Clear.", "linked/ct.png": "A mass."}})
    save_cases([case.model_copy(update={"examinations": record, "key": key})], folder / "again.jsonl")
    [saved] = load_cases(folder / "again.jsonl")
    assert saved.key.picture_reports == {"images/ct.png": "Clear.", "later/ct.png": "A mass."}


def test_a_picture_with_the_longest_name_is_taken_along_and_never_through_a_link(folder: Path) -> None:
    name = f"{'x' * 251}.png"
    (folder / "images" / "ct.png").rename(folder / name)
    there, elsewhere = folder / "there", folder / "elsewhere"
    save_cases([pictured(name, folder)], there / "cases.jsonl")
    copy = load_cases(there / "cases.jsonl")[0].examinations.images[0].file
    assert copy.endswith("xx.png")
    (there / copy).unlink()
    elsewhere.write_text("mine")
    (there / copy).symlink_to(elsewhere)
    save_cases([pictured(name, folder)], there / "cases.jsonl")
    assert elsewhere.read_text() == "mine" and not check_cases(there / "cases.jsonl")[1]
    shutil.rmtree(there / "cases_pictures")
    (there / "cases_pictures").symlink_to(folder)
    with pytest.raises(OSError, match="is a link; pictures are copied into a folder, so remove it"):
        save_cases([pictured(name, folder)], there / "cases.jsonl")


@pytest.mark.slow
def test_nothing_is_sent_of_a_case_whose_picture_is_refused(folder: Path) -> None:
    """Also from Python, where nobody has checked the case before."""
    (folder / "key.png").write_text(SECRET)
    with FakeServer() as server:
        context = {"models": {"default": f"openai:any@{server.base_url}"}, "retrieval": False}
        for file in ("../id_rsa", "key.png"):
            with pytest.raises(PictureError, match=r"examinations\.images\.0\.file"):
                wr.one_step.invoke({"case": pictured(file, folder)}, context=context)
        assert server.requests == []
