"""Responses and headers that follow from what an operation is, so that no operation has to write them.

The root file of a document says which: ``x-implied-responses`` and ``x-implied-headers`` have them by fact. A fact is
``always``, ``security``, ``body``, where a parameter stands (``path``, ``header``, …) or what it is called. A response that
an operation writes itself comes instead of an implied one, and null says that there is none.
"""

from __future__ import annotations

from emulator.document.bounds import METHODS
from emulator.document.tree import Document, Node, resolve

RESPONSES, HEADERS = "x-implied-responses", "x-implied-headers"
ALWAYS = "always"


def add_implied(document: Document) -> None:
    """Add to all operations the responses, and to these the headers, that follow from the operations' facts, in place."""
    responses, headers = document.pop(RESPONSES, {}), document.pop(HEADERS, {})
    for item in document["paths"].values():
        for operation in (item[method] for method in METHODS if "responses" in item.get(method, {})):
            facts = _facts(document, item, operation)
            whole = _of(responses, facts) | operation["responses"]
            operation["responses"] = {
                status: _with_headers(whole[status], _of(headers, facts)) for status in sorted(whole) if whole[status]
            }
    shared = document["components"].get("responses", {})
    for name, response in shared.items():
        shared[name] = _with_headers(response, headers.get(ALWAYS, {}))


def _facts(document: Document, item: Node, operation: Node) -> set[str]:
    parameters = [resolve(document, each) for each in (*item.get("parameters", ()), *operation.get("parameters", ()))]
    facts = {ALWAYS} | {each[key] for each in parameters for key in ("in", "name")}
    if "requestBody" in operation:
        facts.add("body")
    if operation.get("security", document.get("security")):
        facts.add("security")
    return facts


def _of(implied: Node, facts: set[str]) -> Node:
    return {name: part for fact, parts in implied.items() if fact in facts for name, part in parts.items()}


def _with_headers(response: Node, headers: Node) -> Node:
    """The response with these headers, unless it is a reference or has none to get."""
    if "$ref" in response or not headers:
        return response
    whole = {"description": response["description"], "headers": headers | response.get("headers", {})}
    return whole | {key: part for key, part in response.items() if key not in whole}
