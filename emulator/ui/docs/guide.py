"""The guide: serves the site that MkDocs builds from ``docs/guide``."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from emulator.document.paths import guide_folder, guide_pages_folder
from emulator.ui.base.headers import content_security_policy, public_headers

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


async def llms_txt(_: Request) -> Response:
    """The list of the guide's pages, as language models are given it (llmstxt.org)."""
    pages = sorted(guide_pages_folder().glob("*.md"))
    links = [f"- [{_title(page)}]({PATH}/{page.name})" for page in pages]
    return PlainTextResponse("\n".join([*LLMS_TXT, *links, ""]), headers=public_headers(POLICY))


LLMS_TXT = (
    "# Payments emulator",
    "",
    "> A local sandbox of a Payments and Recurring Billing API: offline, with a clock you can move.",
    "",
    f"Begin with [the skill]({PATH}/skill.md). The API: [/openapi.json](/openapi.json); the control API:",
    "[/_emulator/openapi.json](/_emulator/openapi.json).",
    "",
    "## Guide",
    "",
)


def _title(page: Path) -> str:
    """The heading of a page."""
    with page.open(encoding="utf-8") as lines:
        return lines.readline().removeprefix("#").strip()


async def markdown(request: Request) -> Response:
    """A page of the guide as Markdown."""
    page = guide_pages_folder() / f"{request.path_params['name']}.md"
    if not page.is_file():
        raise HTTPException(404)
    return FileResponse(page, media_type="text/markdown; charset=utf-8", headers=public_headers(POLICY))


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
