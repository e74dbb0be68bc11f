"""The viewer's server, for people at this machine."""

import traceback
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from cases import CaseFileError
from wardround.config.experiment import ConfigurationError
from wardround.report.pages import policy
from wardround.serving.loopback import GuardedHandler, LoopbackServer
from wardround.view.pages import NoSuchPageError, Pages
from wardround.view.run_library import Shelf

_MAX_ADDRESS = 4_000  # characters


class Viewer(LoopbackServer):
    """A server for the runs on a shelf."""

    def __init__(self, shelf: Shelf, *, follow: bool = False, port: int = 0) -> None:
        self.pages = Pages(shelf, follow=follow)
        super().__init__(_Handler, port)


class _Handler(GuardedHandler):
    server: Viewer

    def show(self) -> None:
        """Send a page, or an empty response if it has not changed."""
        if len(self.path) > _MAX_ADDRESS:
            self.answer(HTTPStatus.NOT_FOUND, "there is no such page")
            return
        query = {name: value for name, value in parse_qsl(urlsplit(self.path).query) if value}
        pages = self.server.pages
        try:
            known = self.headers.get("if-none-match")
            if known and known == pages.stamp(query):
                self.answer(HTTPStatus.NO_CONTENT, "")
                return
            status, page = HTTPStatus.OK, pages.page(query)
        except NoSuchPageError as error:
            status, page = HTTPStatus.NOT_FOUND, pages.trouble(str(error))
        except (ConfigurationError, CaseFileError, OSError, ValueError) as error:
            status, page = HTTPStatus.INTERNAL_SERVER_ERROR, pages.trouble(str(error))
        except Exception as error:  # a bug of ours is reported on the page, with its traceback on the terminal
            traceback.print_exc()
            message = f"this page cannot be rendered ({type(error).__name__}: {error}); please report it"
            status, page = HTTPStatus.INTERNAL_SERVER_ERROR, pages.trouble(message)
        self.answer(status, page, "text/html", policy(served=True))
