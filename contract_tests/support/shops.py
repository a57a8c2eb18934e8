"""The example shops by language or framework: their build, tests, sweep, serving, and needs."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from contract_tests import ROOT

EXAMPLES = ROOT / "docs/examples"


class ExampleShop(NamedTuple):
    """Commands run in the shop's folder; ``{built}`` is the folder that ``build`` fills.

    ``passed`` is in the output of its tests. ``checks`` are the formatter and the linter of its
    language. ``day`` is a story that goes on where it was killed, of a shop that does so, too.
    """

    language: str
    folder: str
    programs: tuple[str, ...]
    story: tuple[str, ...]
    tests: tuple[str, ...] = ()
    passed: str = ""
    build: tuple[str, ...] = ()
    serve: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    day: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return EXAMPLES / self.folder

    def command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command with the folder of what was built, which is built first."""
        return tuple(word.replace("{built}", str(built(self))) for word in command)


PHP_TESTS = ("php", "../php-shop/test_shop.php")
PHP_DAY = ("python", "../story.py", "/thanks/", "php", "-S", "127.0.0.1:{port}")
DAY = ("python", "../story.py", "/orders/", "python", "shop.py")

SHOPS = {
    shop.language: shop
    for shop in (
        ExampleShop("python", "python-shop", (), story=("python", "story.py")),
        ExampleShop("subscription", "subscription-shop", (), story=("python", "story.py")),
        ExampleShop("fastapi", "fastapi-shop", (), story=("python", "story.py")),
        ExampleShop("django", "django-shop", ("django",), story=DAY),
        ExampleShop("node", "node-shop", ("node",), story=("node", "story.js")),
        ExampleShop(
            "go",
            "go-shop",
            ("go",),
            build=("sh", "-c", "go build -o {built}/shop . && go test -c -o {built}/shop.test"),
            tests=("{built}/shop.test", "-test.v"),
            passed="--- PASS: TestStory",
            story=("{built}/shop.test", "-test.run", "Story"),
            serve=("{built}/shop",),
            checks=("sh", "-c", "go vet . && test -z $(gofmt -l .)"),
        ),
        ExampleShop(
            "php",
            "php-shop",
            ("php",),
            tests=PHP_TESTS,
            passed="ok a lost answer is asked for again",
            story=(*PHP_TESTS, "--story"),
            serve=("php", "-S", "127.0.0.1:0", "index.php"),
            day=(*PHP_DAY, "index.php"),
            checks=("sh", "-c", "for file in *.php; do php -l $file || exit 1; done"),
        ),
    )
}


@cache
def built(shop: ExampleShop) -> Path:
    """Return the folder of a built shop. Raises ``CalledProcessError`` if the build fails."""
    folder = Path(tempfile.mkdtemp(prefix=f"{shop.language}-shop-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build = [word.replace("{built}", str(folder)) for word in shop.build]
    if build:
        subprocess.run(build, cwd=shop.path, check=True)
    return folder
