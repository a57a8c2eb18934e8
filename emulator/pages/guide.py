"""The guide: serves the site that MkDocs builds from ``docs/guide``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from emulator.html.headers import content_security_policy, public_headers
from emulator.paths import guide_folder

PATH = "/docs/guide"

POLICY = content_security_policy(
    script_src="'self'",
    style_src="'self'",
    img_src="'self' data:",
    font_src="'self'",
    connect_src="'self'",
    worker_src="'self'",
)
"""Everything that a page needs is among the files of the site; search runs in a worker."""


async def with_slash(request: Request) -> Response:
    """Redirect to the path with a slash: the links within the site are relative."""
    return RedirectResponse(f"{PATH}/", 308)


class Guide(StaticFiles):
    """The files of the site. A missing file is a 404, also where the site was not built."""

    def __init__(self) -> None:
        super().__init__(directory=guide_folder(), html=True, check_dir=False)

    async def check_config(self) -> None:
        """Accept a missing folder: a checkout may have no site."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        found = await super().get_response(path, scope)
        found.headers.update(public_headers(POLICY))
        return found
