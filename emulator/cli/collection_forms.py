"""Collections of the whole API as the files of Postman, Insomnia and Bruno."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from emulator.cli.collection_requests import CollectionRequest, requests

NAME = "Payments API"

VARIABLES: Mapping[str, str] = {
    "url": "http://127.0.0.1:4747",
    "key": "sk_test_collection",
    "receiver": "{{url}}/_emulator/inbox/collection",
    "secret": "whsec_of_your_endpoint",
}
"""What a user sets: address and secret key, and where signed webhooks go with the secret of the endpoint."""


def _signing(body: str, secret: str, header: str) -> list[str]:
    """A script that signs the body with the secret: HMAC-SHA256, in hexadecimal digits."""
    return [
        'const crypto = require("crypto-js");',
        f"const body = {body};",
        f"const signature = crypto.HmacSHA256(body, {secret}).toString(crypto.enc.Hex);",
        header,
    ]


POSTMAN_SIGNING = _signing(
    "pm.variables.replaceIn(pm.request.body.raw)",
    'pm.variables.get("secret")',
    'pm.request.headers.upsert({ key: "Service-Signature", value: signature });',
)

INSOMNIA_SIGNING = _signing(
    "insomnia.request.body.raw",
    'insomnia.environment.get("secret")',
    'insomnia.request.addHeader({ key: "Service-Signature", value: signature });',
)

BRUNO_SIGNING = _signing(
    'typeof req.getBody() === "string" ? req.getBody() : JSON.stringify(req.getBody())',
    'bru.getEnvVar("secret")',
    'req.setBody(body);\nreq.setHeader("Service-Signature", signature);',
)


def _folders() -> Iterator[tuple[str, list[CollectionRequest]]]:
    for name, group in groupby(requests(), key=lambda each: each.folder):
        yield name, [*group]


def _address(request: CollectionRequest) -> str:
    return request.path if request.path.startswith("{{") else f"{{{{url}}}}{request.path}"


def _text(body: Any) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)


def _keys(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{json.dumps(key)}]" for key in path)


def _json(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


# -- Postman


def postman() -> dict[str, str]:
    """A collection in the format 2.1."""
    schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
    return {
        "": _json(
            {
                "info": {"name": NAME, "schema": schema},
                "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{key}}", "type": "string"}]},
                "variable": [{"key": name, "value": value} for name, value in VARIABLES.items()],
                "item": [{"name": name, "item": [*map(_postman_item, group)]} for name, group in _folders()],
            }
        )
    }


def _postman_item(request: CollectionRequest) -> dict[str, Any]:
    saves = [
        f"pm.collectionVariables.set({json.dumps(name)}, pm.response.json(){_keys(path)});"
        for name, path in request.saved.items()
    ]
    check = 'pm.test("it succeeds", () => pm.expect(pm.response.code).to.be.below(300));'
    scripts = {"test": [check, *saves]}
    if request.is_signed:
        scripts["prerequest"] = POSTMAN_SIGNING
    sent = _postman_request(request)
    example = {"name": "Example", "originalRequest": sent, "status": "", "code": request.status, "header": []}
    return {
        "name": request.name,
        "event": [{"listen": name, "script": {"exec": lines}} for name, lines in scripts.items()],
        "request": sent,
        "response": [] if request.answer is None else [{**example, "body": _text(request.answer)}],
    }


def _postman_request(request: CollectionRequest) -> dict[str, Any]:
    options = {"raw": {"language": "json"}}
    body = {} if request.body is None else {"body": {"mode": "raw", "raw": _text(request.body), "options": options}}
    return {
        "method": request.method,
        **({"auth": {"type": "noauth"}} if request.is_signed else {}),
        "header": [{"key": "Content-Type", "value": "application/json"}] if body else [],
        "url": _address(request),
        "description": request.description,
        **body,
    }


# -- Insomnia


def insomnia() -> dict[str, str]:
    """An export in the format 4."""
    space: dict[str, Any] = {"_id": "wrk_payments", "_type": "workspace", "parentId": None, "name": NAME}
    data = {name: _insomnia_text(value) for name, value in VARIABLES.items()}
    base = {"_id": "env_payments", "_type": "environment", "parentId": space["_id"], "name": "Base", "data": data}
    resources: list[dict[str, Any]] = [space, base]
    for number, (name, group) in enumerate(_folders(), 1):
        folder = f"fld_{number}"
        resources.append({"_id": folder, "_type": "request_group", "parentId": space["_id"], "name": name})
        resources += [_insomnia_item(folder, *each) for each in enumerate(group, 1)]
    return {"": _json({"_type": "export", "__export_format": 4, "resources": resources})}


def _insomnia_item(folder: str, number: int, request: CollectionRequest) -> dict[str, Any]:
    saves = [
        f"insomnia.environment.set({json.dumps(name)}, insomnia.response.json(){_keys(path)});"
        for name, path in request.saved.items()
    ]
    body = {"mimeType": "application/json", "text": _insomnia_text(_text(request.body))}
    return {
        "_id": f"req_{folder}_{number}",
        "_type": "request",
        "parentId": folder,
        "name": request.name,
        "description": request.description,
        "method": request.method,
        "url": _insomnia_text(_address(request)),
        "headers": [{"name": "Content-Type", "value": "application/json"}] if request.body is not None else [],
        "authentication": {} if request.is_signed else {"type": "bearer", "token": "{{ _.key }}"},
        "body": {} if request.body is None else body,
        "preRequestScript": "\n".join(INSOMNIA_SIGNING) if request.is_signed else "",
        "afterResponseScript": "\n".join(saves),
        "metaSortKey": number,
    }


def _insomnia_text(text: str) -> str:
    """The text with variables as Insomnia writes them."""
    return text.replace("{{$randomUUID}}", "{% uuid 'v4' %}").replace("{{", "{{ _.").replace("}}", " }}")


# -- Bruno


def bruno() -> dict[str, str]:
    """The files of a collection by their paths."""
    lines = "".join(f"  {name}: {value}\n" for name, value in VARIABLES.items())
    files = {
        "bruno.json": _json({"version": "1", "name": NAME, "type": "collection"}),
        "environments/local.bru": f"vars {{\n{lines}}}\n",
    }
    for number, (name, group) in enumerate(_folders(), 1):
        folder = f"{number:02} {name}"
        files[f"{folder}/folder.bru"] = f"meta {{\n  name: {name}\n  seq: {number}\n}}\n"
        files |= {f"{folder}/{place:03}.bru": _bruno_file(place, each) for place, each in enumerate(group, 1)}
    return files


def _bruno_file(number: int, request: CollectionRequest) -> str:
    body = "none" if request.body is None else "json"
    auth = "none" if request.is_signed else "bearer"
    saves = [f"{name}: res.body{_bruno_keys(path)}" for name, path in request.saved.items()]
    description = [request.description] if request.description else []
    blocks = [
        ("meta", [f"name: {request.name}", "type: http", f"seq: {number}"]),
        (request.method.lower(), [f"url: {_address(request)}", f"body: {body}", f"auth: {auth}"]),
        ("auth:bearer", ["token: {{key}}"] if auth == "bearer" else []),
        ("body:json", [] if request.body is None else _text(request.body).splitlines()),
        ("vars:post-response", saves),
        ("assert", ["res.status: lt 300"]),
        ("script:pre-request", BRUNO_SIGNING if request.is_signed else []),
        ("docs", description),
    ]
    return "\n".join(_bruno_block(title, lines) for title, lines in blocks if lines)


def _bruno_block(title: str, lines: list[str]) -> str:
    return f"{title} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _bruno_keys(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


FORMS: Mapping[str, Callable[[], dict[str, str]]] = {"postman": postman, "insomnia": insomnia, "bruno": bruno}
"""The forms by name; each gives the text of each file by its path, one file with the empty name."""
