"""URLs in requests (B-82): fields take the pattern of their format; errors name the wrong part."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from emulator.document.published import LIMITS

NEVER_OPENED = frozenset(["javascript", "data", "vbscript", "file", "blob", "about", "ftp"])
"""Schemes of no app: a browser runs, reads or downloads by them."""

EXPLAINED: Mapping[str, str] = {
    "uri": "must be an http:// or https:// URL",
    "https-uri": "must be an https:// URL",
    "page-url": "must be an https:// URL; http:// is for loopback hosts only",
    "app-url": (
        "must be an http:// or https:// URL, or one of an app's own scheme such as myapp://thanks"
    ),
}
"""The formats of URLs, and the rule of each."""

_RULES: Mapping[str, Callable[[str], bool]] = {
    "app-url": lambda url: url.partition(":")[0] not in NEVER_OPENED,
}
"""What a pattern cannot say."""

_PATTERNS = {
    name: re.compile(LIMITS[name]["pattern"].removesuffix("$"), re.ASCII) for name in EXPLAINED
}


def takes(format: str, text: str) -> bool:
    """Return whether a text is a URL of this format; a bracketed address must be IPv6."""
    if not _PATTERNS[format].fullmatch(text):
        return False
    try:
        urlsplit(text)
    except ValueError:
        return False
    return format not in _RULES or _RULES[format](text)


PROBLEMS: Mapping[str, str] = {
    "space": "must have no spaces or control characters; a space is written %20",
    "capitals": "must have its scheme in lower case, such as https://",
    "password": "must have no user name or password in it; they would show up in logs",
    "no_host": "must have a host after ://",
    "host": (
        "must have a host of ASCII letters, digits, '.', '_' and '-'; other letters are written as"
        " xn--…"
    ),
    "port": "must have a port of at most 65535",
    "brackets": "must have an IPv6 address in its brackets",
}
"""The sentences about the parts that may be wrong."""

_PARTS = re.compile(r"([^:/?#]*)://([^/?#]*@)?(\[[^\]/?#]*\]|[^:/?#]*)(:[^/?#]*)?(.*)", re.DOTALL)


def problem(format: str, text: str) -> str:
    """Return the sentence about a URL's first wrong part, for a format that rejects the URL."""
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        return PROBLEMS["space"]
    if not (parts := _PARTS.fullmatch(text)):
        return EXPLAINED[format]
    scheme, user, host, port, _ = parts.groups()
    if scheme != scheme.lower() and takes(format, text.replace(scheme, scheme.lower(), 1)):
        return PROBLEMS["capitals"]
    is_host, is_port = (
        takes("uri", f"http://{host}/"),
        takes("uri", f"http://localhost{port or ''}/"),
    )
    problems = {
        "password": bool(user),
        "no_host": not host,
        "brackets": host.startswith("[") and not is_host,
        "host": not is_host,
        "port": not is_port,
    }
    return next(
        (PROBLEMS[part] for part, is_wrong in problems.items() if is_wrong), EXPLAINED[format]
    )
