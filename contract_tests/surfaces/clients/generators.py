"""Each generator: it makes a client, which is complete, compiles, and plays the story against a server."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contract_tests.surfaces.clients.workshop import GateError, Workshop, no_warning

AUTOLOAD = """<?php
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/../client/lib/' . str_replace('\\\\', '/', substr($class, strlen('Payments/'))) . '.php';
    if (str_starts_with($class, 'Payments\\\\') && is_file($file)) {
        require $file;
    }
});
"""
"""What Composer would write for Debian's Guzzle and a client in the folder ``client``."""

Step = Callable[[Workshop, str], None]

SETTINGS = {"content_type_overrides": {"application/pdf": "application/octet-stream"}}
"""The configuration of openapi-python-client, which knows of no PDF."""

TSCONFIG: dict[str, Any] = {"strict": True, "target": "es2022", "module": "nodenext", "types": ["node"]}
"""The library of openapi-fetch and the rest are checked as well: ``skipLibCheck`` is off by default."""

DEBIAN_JAVA = Path("/usr/share/java")
ANNOTATIONS = ("jakarta-annotation-api.jar", "jsr305.jar")
JAVA_PACKAGES = "invokerPackage=payments,apiPackage=payments.api,modelPackage=payments.model"
JAVA_LINT = "-Xlint:all,-processing,-deprecation,-serial,-cast"
"""All but what the templates of openapi-generator do themselves in every client."""

VALIDATOR = Path("/usr/share/gocode/src/gopkg.in/validator.v2")
"""The one library that the Go client imports, of Debian's package ``golang-gopkg-validator.v2-dev``."""

GO_MOD = """module example.com/shop

go 1.18

require gopkg.in/validator.v2 v2.0.1

replace gopkg.in/validator.v2 => ./validator
"""


def openapi_python_client(work: Workshop, url: str) -> None:
    """openapi-python-client, checked by mypy."""
    made = work.folder / "client"
    config = work.write("config.json", json.dumps(SETTINGS))
    options = ("generate", "--path", work.document, "--output-path", made, "--config", config)
    no_warning(work.run(work.tools.bin / "openapi-python-client", *options))
    work.no_operation_missing(made, "*/api/*/*.py")
    _python(work, work.story("openapi_python_client.py"), url)
    _python(work, work.sample("python", "sample.py", url), url)


def openapi_generator(work: Workshop, url: str) -> None:
    """openapi-generator for Python, checked by mypy."""
    made = work.generate("python", "--package-name", "payments_client")
    work.no_operation_missing(made, "payments_client/api/*.py")
    _python(work, work.story("openapi_generator.py"), url)


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


def typescript_fetch(work: Workshop, url: str) -> None:
    """openapi-generator for TypeScript and fetch."""
    made = work.generate("typescript-fetch", "--additional-properties=importFileExtension=.js")
    work.no_operation_missing(made, "apis/*.ts")
    _typescript(work, "typescript_fetch.ts", url)


def hey_api(work: Workshop, url: str) -> None:
    """@hey-api/openapi-ts, whose imports have no endings."""
    no_warning(work.run(work.tools.node / "openapi-ts", "-i", work.document, "-o", "client"))
    work.no_operation_missing(work.folder / "client", "sdk.gen.ts")
    _typescript(work, "hey_api.ts", url, module="commonjs", moduleResolution="node10")


def _typescript(work: Workshop, story: str, url: str, **options: str) -> None:
    work.story(story, "story.ts")
    work.write("tsconfig.json", json.dumps({"compilerOptions": TSCONFIG | options, "include": ["*.ts"]}))
    work.write("package.json", json.dumps({"type": "commonjs" if "module" in options else "module"}))
    work.run(work.tools.node / "tsc", "--project", ".")
    work.run("node", "story.js", url)


def go(work: Workshop, url: str) -> None:
    """openapi-generator for Go. Its enumerations share names unless they have a prefix."""
    made = work.generate("go", "--package-name", "payments", "--additional-properties=enumClassPrefix=true")
    work.no_operation_missing(made, "api_*.go")
    (made / "go.mod").unlink()
    made.rename(work.folder / "payments")
    for file in (file for file in VALIDATOR.glob("*.go") if not file.stem.endswith("_test")):
        work.write(f"validator/{file.name}", file.read_text("utf-8"))
    work.write("validator/go.mod", "module gopkg.in/validator.v2\n")
    work.write("go.mod", GO_MOD)
    work.story("story.go", "main.go")
    work.sample("go", "sample/main.go", url)
    offline = {"GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    work.run("go", "vet", ".", "./payments", "./sample", env=offline)
    work.run("go", "run", ".", url, env=offline)
    work.run("go", "run", "./sample", env=offline)


def java(work: Workshop, url: str) -> None:
    """openapi-generator for Java with the HTTP client of the JDK. Jackson is that of openapi-generator itself."""
    properties = f"{JAVA_PACKAGES},openApiNullable=false,useJakartaEe=true,hideGenerationTimestamp=true"
    made = work.generate("java", "--library", "native", f"--additional-properties={properties}")
    work.no_operation_missing(made, "src/main/java/payments/api/*.java")
    jars = [work.tools.generator_jar, *(DEBIAN_JAVA / name for name in ANNOTATIONS)]
    path = os.pathsep.join(map(str, jars))
    programs = [work.story("Story.java"), work.sample("java", "Sample.java", url)]
    sources = [*made.glob("src/main/java/**/*.java"), *programs]
    work.run(
        "javac", "-J-XX:TieredStopAtLevel=1", JAVA_LINT, "-proc:none", "-Werror", "-d", "out", "-cp", path, *sources
    )
    for program in programs:
        work.run("java", "-XX:TieredStopAtLevel=1", "-cp", f"out{os.pathsep}{path}", program.stem, url)


def php(work: Workshop, url: str) -> None:
    """openapi-generator for PHP, with Debian's Guzzle."""
    made = work.generate("php", "--additional-properties=invokerPackage=Payments")
    work.no_operation_missing(made, "lib/Api/*.php")
    # Each file is compiled, and a notice of the compiler counts.
    compile_all = "foreach (array_slice($argv, 1) as $file) if (!opcache_compile_file($file)) exit(1);"
    options = ("-d", "opcache.enable_cli=1", "-d", "error_reporting=-1", "-d", "display_errors=stderr")
    said = work.run("php", *options, "-r", compile_all, "--", *made.glob("lib/**/*.php"))
    if said.strip():
        raise GateError(said)
    work.write("vendor/autoload.php", AUTOLOAD)
    for program in (work.story("story.php"), work.sample("php", "sample.php", url)):
        work.run("php", "-d", "error_reporting=-1", "-d", "display_errors=1", program, url)


GENERATORS: tuple[Step, ...] = (
    java,
    typescript_fetch,
    openapi_generator,
    go,
    php,
    openapi_python_client,
    openapi_typescript,
    hey_api,
)
"""Those that take longest come first, so that two that run side by side end together."""
