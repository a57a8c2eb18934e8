"""A request of the journal as code that sends it again; address and key come from the environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pprint import pformat
from shlex import quote as shell
from typing import Any, NamedTuple
from urllib.parse import quote as percent_encoded

from emulator.engine.journal import LoggedRequest, redacted_headers, redacted_path, redacted_text

URL, KEY = "PAYMENTS_EMULATOR_URL", "PAYMENTS_EMULATOR_KEY"

SENT_AGAIN = ("content-type", "idempotency-key", "emulator-answer", "prefer", "origin")
"""The headers that make a difference, beside ``Authorization``; a client sends the others by itself."""


class SentCall(NamedTuple):
    """What is sent: ``body`` is a JSON value, a text if it was none, or None; ``status`` is what was answered."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Any
    status: int

    @property
    def text(self) -> str:
        """The body as it is sent."""
        return self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)


def code(entry: LoggedRequest, form: str) -> str:
    """The request in one of the :data:`FORMS`. Card numbers, keys and secrets are masked."""
    headers = {name: value for name, value in redacted_headers(entry.headers).items() if name in SENT_AGAIN}
    text = redacted_text(entry.body)
    try:
        body = json.loads(text)
    except ValueError:
        body = text or None
    query = f"?{redacted_text(entry.query)}" if entry.query else ""
    path = percent_encoded(redacted_path(entry.path), safe="/:@!$&'()*+,;=")
    return FORMS[form](SentCall(entry.method, path + query, headers, body, entry.status))


def _curl(call: SentCall) -> str:
    headers = [f"-H {shell(f'{name}: {value}')}" for name, value in call.headers.items()]
    body = [] if call.body is None else [f"--data-raw {shell(call.text)}"]
    first = f'curl -sS -X {call.method} "${URL}"{shell(call.target)}'
    return " \\\n  ".join([first, f'-H "Authorization: Bearer ${KEY}"', *headers, *body]) + "\n"


def _http(call: SentCall) -> str:
    """As files with requests are written for editors (``.http``)."""
    headers = [f"{name}: {value}" for name, value in call.headers.items()]
    lines = [
        f"{call.method} {{{{$processEnv {URL}}}}}{call.target} HTTP/1.1",
        f"Authorization: Bearer {{{{$processEnv {KEY}}}}}",
        *headers,
    ]
    body = "" if call.body is None else f"\n{call.text}\n"
    return "\n".join(lines) + "\n" + body


def _python_arguments(call: SentCall, more: Mapping[str, str]) -> str:
    """The keyword arguments of httpx for headers and body, each in a line of its own."""
    headers = [f"{name!r}: {value!r}" for name, value in call.headers.items()]
    items = [*(f"{name!r}: {value}" for name, value in more.items()), *headers]
    name = "content" if isinstance(call.body, str) else "json"
    body = [] if call.body is None else [f"{name}={pformat(call.body, sort_dicts=False, width=100)}"]
    arguments = [*([f"headers={{{', '.join(items)}}}"] if items else []), *body]
    return "".join(f"    {line}\n" for argument in arguments for line in f"{argument},".splitlines())


def _httpx(call: SentCall) -> str:
    arguments = _python_arguments(call, {"Authorization": f"f\"Bearer {{os.environ['{KEY}']}}\""})
    url = f'os.environ["{URL}"] + {call.target!r}'
    request = f"answer = httpx.request(\n    {call.method!r},\n    {url},\n{arguments})"
    return f"import os\n\nimport httpx\n\n{request}\nprint(answer.status_code, answer.text)\n"


def _pytest(call: SentCall) -> str:
    """With the plugin installed it runs as it is; ``payments`` is the world of the test."""
    arguments = _python_arguments(call, {}).replace("\n    ", "\n        ")
    first = f"    answer = payments.client.request(\n        {call.method!r},\n        {call.target!r},\n"
    rest = f"    {arguments}" if arguments else ""
    check = f"    assert answer.status_code == {call.status}, answer.text\n"
    return f"def test_request(payments):\n{first}{rest}    )\n{check}"


def _javascript_request(call: SentCall) -> str:
    headers = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in call.headers.items()]
    lines = [f"Authorization: `Bearer ${{process.env.{KEY}}}`", *headers]
    given = call.body if isinstance(call.body, str) else None
    text = json.dumps(given if given is not None else call.body, ensure_ascii=False, indent=2)
    body = [] if call.body is None else [f"body: {text if given is not None else f'JSON.stringify({text})'}"]
    options = [f"method: {json.dumps(call.method)}", f"headers: {{ {', '.join(lines)} }}", *body]
    return f"await fetch(process.env.{URL} + {json.dumps(call.target)}, {{\n  {f',{chr(10)}  '.join(options)},\n}})"


def _fetch(call: SentCall) -> str:
    return f"const answer = {_javascript_request(call)};\nconsole.log(answer.status, await answer.text());\n"


def _node(call: SentCall) -> str:
    imports = 'import assert from "node:assert/strict";\nimport { test } from "node:test";\n\n'
    request = f"const answer = {_javascript_request(call)};\nassert.equal(answer.status, {call.status});"
    return f'{imports}test("request", async () => {{\n{request}\n}});\n'


FORMS: Mapping[str, Callable[[SentCall], str]] = {
    "curl": _curl,
    "httpx": _httpx,
    "fetch": _fetch,
    "http": _http,
    "pytest": _pytest,
    "node": _node,
}
"""The forms by the name that ``?as=`` has for them."""
