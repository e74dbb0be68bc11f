"""An image for tests."""

from cases.files import builtin_folder

PNG = (builtin_folder() / "images" / "surgery-01.png").read_bytes()
