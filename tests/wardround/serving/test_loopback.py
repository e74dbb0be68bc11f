"""Our local pages: whatever is sent to them, they answer, and say nothing of it on the terminal."""

import base64
import io
import socket
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from tests.support.hostile import obeyed
from tests.support.serving import serving
from wardround.serving.loopback import GuardedHandler, LoopbackServer, as_data


class Page(GuardedHandler):
    def show(self) -> None:
        if "broken" in self.path:
            raise RuntimeError("\x1b[2J")
        self.answer(HTTPStatus.OK, "here")

    def do_POST(self) -> None:
        if self.posted("judge", "application/json", 100, "a judgement") is not None:
            self.answer(HTTPStatus.NO_CONTENT, "")


HOST, BODY = "Host: 127.0.0.1:{port}", "Content-Type: application/json\r\nContent-Length: "


def sent(text: str, *, and_gone: bool = False) -> int | None:
    """Send a request and return the status of its answer."""
    with serving(LoopbackServer(Page)) as server:
        request = text.format(port=server.server_port, path=urlsplit(server.address).path)
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as caller:
            caller.sendall(f"{request}\r\n\r\n".encode("latin-1"))
            if and_gone:
                return None
            line = caller.makefile("rb").readline().split()
    return int(line[1]) if line else None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (f"GET {{path}} HTTP/1.1\r\n{HOST}", 200),
        (f"GET http://[ HTTP/1.1\r\n{HOST}", 403),  # which is no URL
        (f"GET http://127.0.0.1{{path}} HTTP/1.1\r\n{HOST}", 403),  # as a proxy is asked
        (f"GET /\x1b[2J\xff HTTP/1.1\r\n{HOST}", 403),
        (f"GET {{path}} HTTP/1.1\r\n{HOST}\r\nOrigin: null", 403),
        (f"GET {{path}} HTTP/1.1\r\n{HOST}\r\n{HOST}", 403),
        (f"GET {{path}}../secret HTTP/1.1\r\n{HOST}", 404),
        (f"POST {{path}}judge HTTP/1.1\r\n{HOST}\r\n{BODY}0", 204),
        (f"POST {{path}}judge HTTP/1.1\r\n{HOST}\r\n{BODY}{'9' * 5_000}", 413),  # of which Python makes no number
        (f"POST {{path}}judge HTTP/1.1\r\n{HOST}\r\n{BODY}-1", 400),
    ],
)
def test_whatever_is_sent_gets_an_answer_and_writes_nothing_on_the_terminal(
    text: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sent(text) == status
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_who_goes_away_in_the_middle_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    sent(f"POST {{path}}judge HTTP/1.1\r\n{HOST}\r\n{BODY}90", and_gone=True)
    assert capsys.readouterr().err == ""


def test_a_fault_of_ours_is_told_on_the_terminal_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert sent(f"GET {{path}}?broken HTTP/1.1\r\n{HOST}") is None
    told = capsys.readouterr().err
    assert "RuntimeError: [2J" in told and obeyed(told) == []


def scaled_down(file: Path) -> Image.Image:
    """Return a picture as a page shows it, with a longer side of 10 pixels."""
    source, why = as_data(file, 10)
    assert not why
    return Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))


@pytest.mark.parametrize(
    ("kind", "suffix", "how"),
    [
        ("uint16", "png", {}),
        ("uint16", "png", {"transparency": 0}),
        (">u2", "tiff", {}),
        ("int32", "tiff", {}),  # as Pillow reads signed 16 bits, too
    ],
)
def test_an_xray_of_more_than_8_bits_keeps_its_greys_when_it_is_scaled_down(
    kind: str, suffix: str, how: dict[str, int], tmp_path: Path
) -> None:
    greys = np.tile(np.linspace(0, 4095, 40).astype(kind), (40, 1))
    Image.fromarray(greys).save(tmp_path / f"xray.{suffix}", **how)
    shown = np.asarray(scaled_down(tmp_path / f"xray.{suffix}"))
    assert shown.shape == (10, 10)
    assert len(np.unique(shown[0])) == 10


def test_a_transparent_drawing_stays_transparent_when_it_is_scaled_down(tmp_path: Path) -> None:
    Image.new("RGBA", (40, 20), (0, 0, 0, 0)).save(tmp_path / "drawing.png")
    shown = scaled_down(tmp_path / "drawing.png")
    assert shown.size == (10, 5)
    assert shown.getpixel((0, 0)) == (0, 0, 0, 0)


def test_a_photograph_stands_upright_when_it_is_scaled_down(tmp_path: Path) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6  # orientation: taken with the camera on its side
    Image.new("RGB", (40, 20)).save(tmp_path / "photo.jpg", exif=turned)
    assert scaled_down(tmp_path / "photo.jpg").size == (5, 10)
