"""The guide: the site that MkDocs makes of ``docs/guide``, served as it is."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from emulator.pages.render import HEADERS
from emulator.paths import guide_folder

PATH = "/docs/guide"

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
"""MkDocs' theme brings its scripts along, a few of them within its pages; nobody's input ever stands in those."""


async def with_slash(request: Request) -> Response:
    """The links within the site are relative."""
    return RedirectResponse(f"{PATH}/", 308)


class Guide(StaticFiles):
    """The files of the site. What is not there, the site not having been built included, is a 404."""

    def __init__(self) -> None:
        super().__init__(directory=guide_folder(), html=True, check_dir=False)

    async def check_config(self) -> None:
        """Nothing to complain of: a checkout may have no site."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        found = await super().get_response(path, scope)
        found.headers.update({**HEADERS, "Content-Security-Policy": POLICY})
        return found
