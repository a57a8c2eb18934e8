"""MkDocs' hook for the guide: tabs by language, links to the explorer, one menu and one search.

The menu is that of the pages which the emulator serves itself, too (``menu.json``), and the search
knows what stands there.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from jinja2 import ChoiceLoader, FileSystemLoader

sys.path.insert(0, str(Path(__file__).parents[1]))

from emulator.document.bundles import load  # a build finds the package only in the tree
from emulator.document.paths import FIXTURES

METHODS = ("get", "put", "post", "patch", "delete")

_SAMPLE = re.compile(r"^```sh\n(?P<text>.*?)^```\n(?P<answer>\n```text\n.*?^```\n)?", re.S | re.M)
_REQUEST = re.compile(
    r"curl"
    r" (?P<before>[^\n|]*?)(?P<base>\$API|\$CONTROL|http://127\.0\.0\.1:4747/(?:v1|_emulator))(?P<path>/[^\s?'\")]*)"
    r"(?P<after>(?:\\\n|[^\n|])*)"
)
_KEY = re.compile(r"sk_test_[A-Za-z0-9_-]+")
_UNRELEASED = re.compile(r"<!-- unreleased -->\n|<!-- released\n.*?-->\n", re.S)
"""Marks of what a release says otherwise (``.ci/release.py``)."""

_TABS = re.compile(r"<!-- tabs: (?P<names>[^>]+) -->\n(?P<blocks>.*?)<!-- end of tabs -->\n", re.S)
_BLOCK = re.compile(
    r"(?:<!-- [^>]+ -->\n)?^```\w+\n.*?^```$(?:\n\n```text\n.*?^```$)?(?:\n+<p"
    r" class=\"open\">[^\n]*</p>)?",
    re.S | re.M,
)
"""A sample with its answer and the links below it."""

_PICTURE = re.compile(r'"(?:\.\./)*images/([\w-]+\.webp)"')


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put links below samples with requests; turn blocks from ``<!-- tabs: A, B -->`` into tabs."""
    markdown = _UNRELEASED.sub("", markdown)
    markdown = _PICTURE.sub(rf'"{"../" * page.url.count("/")}images/\1"', markdown)
    key = next(iter(_KEY.findall(markdown)), None)

    def linked(match: re.Match[str]) -> str:
        nonlocal key
        # A sample goes on with the key of the one before.
        key = next(iter(_KEY.findall(match["text"])), key)
        return match[0] + _links(match["text"], key)

    return _TABS.sub(_tabs, _SAMPLE.sub(linked, markdown))


def on_page_content(html: str, **_: Any) -> str:
    """Take the header from an empty corner of a table, where it would have no name."""
    return html.replace("<th></th>", "<td></td>")


def on_page_context(context: Any, *, page: Any, nav: Any, **_: Any) -> Any:
    """Give the theme what :file:`face.html` shows beside the page."""
    heads = page.toc.items[0].children if len(page.toc.items) == 1 else page.toc.items
    return context | {
        "here": _address(page),
        "menu": _menu(nav),
        "heads": heads if len(heads) > 1 else [],
        "previous": (
            page.previous_page
            and {"url": _address(page.previous_page), "title": page.previous_page.title}
        ),
        "next": page.next_page and {"url": _address(page.next_page), "title": page.next_page.title},
    }


def _menu(nav: Any) -> list[dict[str, Any]]:
    return [
        {
            "title": group.title,
            "items": [{"title": each.title, "url": _address(each)} for each in group.children],
        }
        for group in nav.items
        if group.is_section
    ]


def _address(entry: Any) -> str:
    """Return where the emulator serves a page; what it serves itself is a link in the menu."""
    return entry.url if entry.is_link else f"/docs/guide/{entry.url.removeprefix('./')}"


def on_env(env: Any, *, config: Any, **_: Any) -> Any:
    """Find the face, and keep the menu for the pages that the emulator serves itself."""
    env.loader = ChoiceLoader(
        [env.loader, FileSystemLoader(Path(__file__).parents[1] / "emulator/ui/docs/templates")]
    )
    config.extra["menu"] = _menu(config.extra["nav"])
    return env


def on_nav(nav: Any, *, config: Any, **_: Any) -> Any:
    config.extra["nav"] = nav
    return nav


def on_post_build(config: Any, **_: Any) -> None:
    """Copy the guide's pictures; write the menu, and the search's texts from outside the guide."""
    site, pictures = Path(config["site_dir"]), Path(__file__).parent / "images"
    shown = {
        name
        for page in site.rglob("index.html")
        for name in _PICTURE.findall(page.read_text("utf-8"))
    }
    for name in shown:
        (site / "images").mkdir(exist_ok=True)
        (site / "images" / name).write_bytes((pictures / name).read_bytes())
    (site / "menu.json").write_text(json.dumps(config.extra["menu"]), "utf-8")
    index = site / "search" / "search_index.json"
    known = json.loads(index.read_text("utf-8"))
    known["docs"] += [
        dict(zip(("location", "title", "text"), each, strict=True)) for each in _served()
    ]
    index.write_text(json.dumps(known, separators=(",", ":")), "utf-8")


def _served() -> Iterator[tuple[str, str, str]]:
    """Address, title and text of what stands on the pages that the emulator serves itself."""
    errors, assumptions = map(_fixture, ("errors", "assumptions"))
    for code, error in errors.items():
        yield f"/docs/errors#{code}", code, error["explain"]
    for number, assumption in assumptions.items():
        yield (
            f"/docs/assumptions#{number}",
            f"{number} {assumption['title']}",
            assumption["decided"],
        )
    for path, item in load("service")["paths"].items():
        # In an order of their own: every build of a wheel has the same bytes.
        for method in filter(item.__contains__, METHODS):
            operation = item[method]
            anchor = f"#/{operation['tags'][0].replace(' ', '%20')}/{operation['operationId']}"
            yield (
                f"/docs/{anchor}",
                operation["summary"],
                f"{method.upper()} {path} {path.replace('/', ' ')}",
            )


def _fixture(name: str) -> Any:
    text = (FIXTURES / f"{name}.yaml").read_text("utf-8")
    # both loaders are the safe one
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def _links(text: str, key: str | None) -> str:
    """Return one link for each request of a sample that the explorer has."""
    found = dict(filter(None, (_link(match, key) for match in _REQUEST.finditer(text))))
    if not found:
        return ""
    links = ", ".join(f'<a href="{url}">{name}</a>' for name, url in found.items())
    return f'\n<p class="open">Open in your world: {links}</p>\n'


def _link(match: re.Match[str], key: str | None) -> tuple[str, str] | None:
    method = re.search(r"-X (\w+)", match["before"] + match["after"])
    verb = (
        method[1].lower() if method else "post" if re.search(r"\s-d\s", match["after"]) else "get"
    )
    api = "control" if match["base"].endswith(("CONTROL", "_emulator")) else "service"
    operation = _operation(api, verb, match["path"])
    if operation is None:
        return None
    prefix = "/_emulator" if api == "control" else "/v1"
    path, tag, id = operation
    query = f"?api={api}&amp;key={key}" if key else f"?api={api}"
    # Markdown would take two underscores for emphasis.
    name = f"{verb.upper()} {prefix}{path}".replace("_", "&#95;")
    return name, f"/docs/{query}#/{tag.replace(' ', '%20')}/{id}"


def _operation(api: str, method: str, path: str) -> tuple[str, str, str] | None:
    """Return the document's path, the tag and the operation id of a request."""
    wanted = re.sub(r"\$\{?\w+\}?|[a-z]+_…", "{}", path)
    for known, item in load(api)["paths"].items():
        if method not in item or method not in METHODS:
            continue
        short = known.removeprefix("/v1").removeprefix("/_emulator")
        if re.fullmatch(re.sub(r"\\\{[^}]+\}", "[^/]+", re.escape(short)), wanted):
            return short, item[method]["tags"][0], item[method]["operationId"]
    return None


def _tabs(match: re.Match[str]) -> str:
    """Return a region with one part per language. Without the script all parts show, stacked."""
    names = [name.strip() for name in match["names"].split(",")]
    blocks = _BLOCK.findall(match["blocks"])
    if len(names) != len(blocks):
        raise ValueError(f"{len(names)} tabs ({match['names']}) for {len(blocks)} samples")
    parts = "\n\n".join(
        f'<div class="tab" data-name="{name}" markdown="1">\n\n<p'
        f' class="tab-name">{name}</p>\n\n{block}\n\n</div>'
        for name, block in zip(names, blocks, strict=True)
    )
    return f'<div class="tabs" markdown="1">\n\n{parts}\n\n</div>\n'
