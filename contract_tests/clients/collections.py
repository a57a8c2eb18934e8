"""Collections of the whole API under newman and bru, and recordings under Respect, bru and a validator of HAR."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
from referencing import Registry

from contract_tests.cli.terminal import run
from contract_tests.clients.workflows import respect
from contract_tests.clients.workshop import GateError, Workshop, served
from contract_tests.recording.story import START, past_due
from emulator.testing import Emulator

# The sandbox "safe", its default, is loaded beside the first request, which fails if it is answered earlier.
BRU = ("run", "-r", "--env", "local", "--sandbox", "developer")


INSOMNIA = """
const { convert } = require("insomnia-importers");
convert(require("fs").readFileSync(process.argv[2], "utf8")).then(({ type, data }) => {
  const requests = data.resources.filter((each) => each._type === "request");
  console.log(JSON.stringify({ type: type.id, requests: requests.map(({ method, url }) => [method, url]) }));
});
"""
"""Reads an export by the importer of Insomnia itself and prints what it made of it."""


def collections(work: Workshop, url: str) -> None:
    """Every request of both collections succeeds, and Insomnia's importer reads every request of its own."""
    _imported_by_insomnia(work)
    postman = _exported(work, "postman", "payments.json")
    work.run(work.tools.node / "newman", "run", postman, "--env-var", f"url={url}")
    _bru(work, _exported(work, "bruno", "payments"), url)


def _imported_by_insomnia(work: Workshop) -> None:
    """Its own command line, the last one on npm, runs no scripts; so the requests are only read here."""
    file = _exported(work, "insomnia", "insomnia.json")
    resources = json.loads(file.read_text("utf-8"))["resources"]
    requests = [[each["method"], each["url"]] for each in resources if each["_type"] == "request"]
    script = work.write("import.cjs", INSOMNIA)
    modules = {"NODE_PATH": str(work.tools.folder / "node_modules")}
    found = json.loads(work.run("node", script, file, env=modules))
    if found != {"type": "insomnia-4", "requests": requests}:
        raise GateError("Insomnia's importer reads other requests than were exported")


def _exported(work: Workshop, form: str, name: str) -> Path:
    file = work.folder / name
    _succeeds("spec", "export", "--as", form, "--out", str(file))
    return file


def _succeeds(*arguments: str) -> None:
    ended = run(*arguments)
    if ended.status:
        raise GateError(f"{' '.join(arguments)}: {ended.errors}")


def _bru(work: Workshop, folder: Path, url: str) -> None:
    inside = ("sh", "-c", 'cd "$1" && shift && "$@"', "sh", folder)
    work.run(*inside, work.tools.node / "bru", *BRU, "--env-var", f"url={url}")


def recordings(work: Workshop, url: str) -> None:
    """A shrunk recording passes under Respect and Bruno, and fails where no subscription is renewed; HAR is valid."""
    with Emulator(key="sk_test_recordings", clock=START, seed=7, url=url) as payments:
        story = past_due(payments)
        _valid_har(work, json.loads(payments.recording()))
        for form, name in (("arazzo", "recorded.arazzo.yaml"), ("bruno", "recorded")):
            where = ("--url", url, "--key", payments.key, "--out", str(work.folder / name))
            _succeeds("record", "--as", form, "--shrink", "--seconds", "60", "--expect", story.expected, *where)

    def under_respect(server: str) -> None:
        respect(work, server, served(server), work.folder / "recorded.arazzo.yaml", server=server)

    def under_bruno(server: str) -> None:
        _bru(work, work.folder / "recorded", server)

    with _without_renewals() as wrong:
        for check in (under_respect, under_bruno):
            check(url)
            _fails(check, wrong)


def _fails(check: Callable[[str], None], wrong: str) -> None:
    try:
        check(wrong)
    except GateError:
        return
    raise GateError(f"{check.__name__}: it does not notice that no subscription is renewed")


WITHOUT_RENEWALS = """
from emulator.cli.main import main
from emulator.resources.registry import REGISTRY
REGISTRY.jobs["subscription.renew"] = lambda *_: None
main()
"""


@contextmanager
def _without_renewals() -> Iterator[str]:
    """The URL of an emulator in a process of its own that renews no subscription."""
    command = [sys.executable, "-c", WITHOUT_RENEWALS, "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(found[0] for line in process.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))
        finally:
            process.terminate()


def _valid_har(work: Workshop, document: object) -> None:
    """Hold a HAR against the schemas of har-schema, which validators of HAR use."""
    folder = work.tools.folder / "node_modules" / "har-schema" / "lib"
    schemas = [json.loads(file.read_text("utf-8")) for file in folder.glob("*.json")]
    registry = Registry().with_contents((schema["$id"].rstrip("#"), schema) for schema in schemas)
    problems = [*jsonschema.Draft6Validator({"$ref": "har.json"}, registry=registry).iter_errors(document)]
    if problems:
        raise GateError(f"{problems[0].json_path}: {problems[0].message}")
