"""Each generator: it makes a client, which is complete, compiles, and plays the story against a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contract_tests.surfaces.clients.workshop import Workshop, no_warning

Step = Callable[[Workshop, str], None]

SETTINGS = {"content_type_overrides": {"application/pdf": "application/octet-stream"}}
"""The configuration of openapi-python-client, which knows of no PDF."""

TSCONFIG: dict[str, Any] = {"strict": True, "target": "es2022", "module": "nodenext", "types": ["node"]}
"""The library of openapi-fetch and the rest are checked as well: ``skipLibCheck`` is off by default."""


def openapi_python_client(work: Workshop, url: str) -> None:
    """openapi-python-client, checked by mypy."""
    made = work.folder / "client"
    config = work.write("config.json", json.dumps(SETTINGS))
    options = ("generate", "--path", work.document, "--output-path", made, "--config", config)
    no_warning(work.run(work.tools.bin / "openapi-python-client", *options))
    work.no_operation_missing(made, "*/api/*/*.py")
    _python(work, work.story("openapi_python_client.py"), url)
    _python(work, work.sample("python", "sample.py", url), url)


def datamodel_code_generator(work: Workshop, url: str) -> None:
    """datamodel-code-generator, whose models are checked by mypy and hold real answers.

    It warns of each format of our own, which the pattern beside it says as well, and of patterns that pydantic does not take.
    """
    kind = ("--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel")
    # Without the first option it drops the null of required fields.
    options = (
        "--strict-nullable",
        "--use-annotated",
        "--naming-strategy",
        "parent-prefixed",
        "--target-python-version",
        "3.11",
    )
    made = work.folder / "client" / "models.py"
    made.parent.mkdir()
    work.run(work.tools.bin / "datamodel-codegen", "--input", work.document, "--output", made, *kind, *options)
    _python(work, work.story("datamodel_code_generator.py"), url)


def _python(work: Workshop, story: Path, url: str) -> None:
    work.run(work.tools.bin / "mypy", "--strict", "--follow-imports=silent", story, env={"MYPYPATH": "client"})
    work.run(work.tools.bin / "python", story, url, env={"PYTHONPATH": "client"})


def openapi_typescript(work: Workshop, url: str) -> None:
    """openapi-typescript, with openapi-fetch. Without the flag it takes a field with a default for one that is always there."""
    flag = "--default-non-nullable=false"
    no_warning(work.run(work.tools.node / "openapi-typescript", work.document, flag, "-o", "api.d.ts"))
    work.no_operation_missing(work.folder, "api.d.ts")
    work.sample("ts", "sample.ts", url)
    _typescript(work, "openapi_typescript.ts", url)
    work.run("node", "sample.js")


def orval(work: Workshop, url: str) -> None:
    """orval, of the last version for Node 20, with the client for fetch."""
    output = {"target": "client.ts", "client": "fetch", "baseUrl": f"{url}/v1"}
    settings = {"client": {"input": str(work.document), "output": output}}
    work.write("orval.config.cjs", f"module.exports = {json.dumps(settings)}")
    no_warning(work.run(work.tools.node / "orval", "--config", "orval.config.cjs"))
    work.no_operation_missing(work.folder, "client.ts")
    _typescript(work, "orval.ts", url)


def _typescript(work: Workshop, story: str, url: str) -> None:
    work.story(story, "story.ts")
    work.write("tsconfig.json", json.dumps({"compilerOptions": TSCONFIG, "include": ["*.ts"]}))
    work.write("package.json", json.dumps({"type": "module"}))
    work.run(work.tools.node / "tsc", "--project", ".")
    work.run("node", "story.js", url)


GENERATORS: tuple[Step, ...] = (openapi_python_client, datamodel_code_generator, openapi_typescript, orval)
