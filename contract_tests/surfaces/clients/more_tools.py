"""openapi-generator's clients, as far as each language can be tried here; a proxy by Prism; the
programs of the guide's page *In your language*.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from contract_tests.surfaces.cli.terminal import COMMAND

if TYPE_CHECKING:
    from contract_tests.surfaces.clients.__main__ import Workshop

EXPECTED = re.compile(
    r"Failed to get the schema name: null"  # said of each document with a body that is no component
    r"|\(reserved word\) cannot be used as"  # Go has a keyword `type`, and names it otherwise
    r"|Ignoring complex example|Cannot convert OpenAPI default"  # what its samples leave out
)
"""The warnings of openapi-generator that take nothing away from a client."""


class Complaint(Exception):
    """A generator warns, or the proxy finds a fault in a right request or response."""


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


STORIES = Path(__file__).parent / "stories"

JARS = ":".join(
    f"/usr/share/java/{name}.jar"
    for name in (
        *("jackson-annotations", "jackson-core", "jackson-databind"),
        *("jsr305", "jakarta-annotation-api", "httpmime", "httpcore", "httpclient"),
    )
)
"""Debian's libraries of the client in Java; a stand-in takes the place of jackson's for times."""


def java(work: Workshop, client: Path) -> None:
    """Compile it, with a stand-in of one library, and play a story."""
    own = client / "src/main/java/org/openapitools/client"
    (own / "RFC3339InstantDeserializer.java").unlink()
    module = "class RFC3339JavaTimeModule extends {0}.JavaTimeModule {{}}"
    (own / "RFC3339JavaTimeModule.java").write_text(
        "package org.openapitools.client;\n\n"
        + module.format("com.fasterxml.jackson.datatype.jsr310"),
        "utf-8",
    )
    files = [*_files(client, "src/main/**/*.java"), *_files(STORIES, "java/*.java")]
    work.run("javac", "-proc:none", "-d", client / "made", "-cp", JARS, *files)
    work.run("java", "-cp", f"{client / 'made'}:{JARS}", "Story", work.url)


JSON_NET = Path("/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll")

NAMING = re.compile(r"NamingStrategy = new CamelCaseNamingStrategy\s*\{[^}]*\}")
"""It is for fields without names, of which there are none; Debian's Json.NET does not know it."""


def csharp(work: Workshop, client: Path) -> None:
    """Compile it by Mono, with stand-ins of two libraries, and play a story."""
    for file in _files(client, "src/Org.OpenAPITools/**/*.cs"):
        file.write_text(NAMING.sub("", file.read_text("utf-8-sig")), "utf-8")
    files = [*_files(client, "src/Org.OpenAPITools/**/*.cs"), *_files(STORIES, "csharp/*.cs")]
    parts = ("Net.Http", "ComponentModel.DataAnnotations", "Runtime.Serialization", "Web")
    libraries = (f"-r:{JSON_NET}", *(f"-r:System.{part}" for part in parts))
    work.run("mcs", "-langversion:latest", f"-out:{client / 'story.exe'}", *libraries, *files)
    work.run("mono", client / "story.exe", work.url, env={"MONO_PATH": str(JSON_NET.parent)})


VALIDATOR = "gopkg.in/validator.v2"


def go(work: Workshop, client: Path) -> None:
    """Compile it, with a stand-in of the one package that it needs."""
    stand_in = client / "validator"
    stand_in.mkdir()
    (stand_in / "go.mod").write_text(f"module {VALIDATOR}\n\ngo 1.18\n", "utf-8")
    source = "package validator\n\nfunc Validate(any) error { return nil }\n"
    (stand_in / "validator.go").write_text(source, "utf-8")
    with (client / "go.mod").open("a", encoding="utf-8") as module:
        module.write(f"\nreplace {VALIDATOR} => ./validator\n")
    shutil.rmtree(client / "test")  # its tests need one more package
    work.run("go", "build", "-mod=mod", "./...", cwd=client, env={"GOPROXY": "off"})


def php(work: Workshop, client: Path) -> None:
    for file in _files(client, "lib/**/*.php"):
        work.run("php", "-l", file)


def ruby(work: Workshop, client: Path) -> None:
    for file in _files(client, "lib/**/*.rb"):
        work.run("ruby", "-c", file)


def typescript_fetch(work: Workshop, client: Path) -> None:
    options = ("--noEmit", "--strict", "--target", "es2022", "--module", "esnext")
    more = ("--moduleResolution", "bundler", "--lib", "es2022,dom")
    work.run(work.tools.node / "tsc", *options, *more, *_files(client, "**/*.ts"))


def generated_only(work: Workshop, client: Path) -> None:
    """Debian's compiler, Kotlin 1.3, is too old for it."""


Check = Callable[["Workshop", Path], None]

LANGUAGES: dict[str, Check] = {
    "java": java,
    "kotlin": generated_only,
    "csharp": csharp,
    "go": go,
    "php": php,
    "ruby": ruby,
    "typescript-fetch": typescript_fetch,
}
"""Each generator, and how its client is tried."""

PROPERTIES = {
    "java": "library=native,openApiNullable=false,useJakartaEe=true",
    # else an order by ``name`` would hide the name of the enum's constant
    "kotlin": "enumPropertyNaming=UPPERCASE",
    "csharp": "library=httpclient,targetFramework=net48",
    # else there would be two constants ``ALL``: events of all types, and the Albanian currency
    "go": "enumClassPrefix=true",
}
"""What a generator is told by ``--additional-properties``."""


def openapi_generator(work: Workshop) -> None:
    """Generate a client for each language from the document of 3.0, and compile it."""
    for language, check in LANGUAGES.items():
        client = work.folder / language
        command = (work.tools.bin / "openapi-generator-cli", "generate")
        more = [f"--additional-properties={PROPERTIES[language]}"] if language in PROPERTIES else []
        output = work.run(*command, "-i", work.document, "-g", language, "-o", client, *more)
        warnings = [line for line in output.splitlines() if "WARN" in line]
        if unexpected := [line for line in warnings if not EXPECTED.search(line)]:
            raise Complaint(f"{language}: " + "\n".join(unexpected))
        check(work, client)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def prism(work: Workshop) -> None:
    """A proxy that judges each request and response by the document has nothing to say."""
    port = free_port()
    command = (work.tools.node / "prism", "proxy", work.document, f"{work.url}/v1")
    with subprocess.Popen(
        [*map(str, command), "--port", str(port)], stdout=subprocess.PIPE, text=True
    ) as proxy:
        try:
            assert proxy.stdout
            if not any("is listening" in line for line in proxy.stdout):
                raise Complaint("Prism did not start")
            play(f"http://127.0.0.1:{port}")
        finally:
            proxy.terminate()


def play(url: str) -> None:
    """Sell, bill and subscribe through a proxy."""
    options = {"headers": {"Authorization": "Bearer sk_test_prism"}, "timeout": 60}
    with httpx.Client(base_url=url, **options) as client:

        def call(method: str, path: str, status: int, **body: Any) -> Any:
            response = client.request(method, path, json=body or None)
            complaint = response.headers.get("sl-violations")
            if complaint or response.status_code != status:
                raise Complaint(f"{method} {path}: {response.status_code} {complaint}")
            return response.json() if response.content else None

        customer = call("POST", "/customers/", 201, email="awa@example.com", name="Awa Diop")["id"]
        terms = {"amount": 5000, "currency": "XAF", "interval": "month"}
        plan = call("POST", "/subscription-plans/", 201, name="Premium", **terms)["id"]
        call("POST", "/subscriptions/", 201, customer=customer, plan=plan)
        bill = {
            "customer": customer,
            "currency": "XAF",
            "line_items": [{"description": "Work", "quantity": 2, "unit_amount": 1500}],
        }
        thanks = "https://shop.example.com/thanks"
        call("POST", "/checkout-sessions/", 201, success_url=thanks, **bill)
        invoice = call("POST", "/invoices/", 201, **bill)["id"]
        call("POST", f"/invoices/{invoice}/finalize/", 200)
        link = {"payment_link_type": "custom", "amount": 5000}
        call("POST", "/payment-links/", 201, currency="XAF", **link)
        for kind in ("customers", "subscriptions", "invoices", "transactions", "refunds"):
            call("GET", f"/{kind}/", 200)
        call("GET", "/customers/cust_nothing/", 404)
        call("PATCH", f"/customers/{customer}/", 200, name="Awa D.")
        call("DELETE", f"/customers/{customer}/", 204)


# -- the page "In your language"


PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net8.0</TargetFramework>
    <RollForward>Major</RollForward>
    <ImplicitUsings>enable</ImplicitUsings>
    <Nullable>enable</Nullable>
    <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
    <EnableDefaultCompileItems>false</EnableDefaultCompileItems>
  </PropertyGroup>
  <ItemGroup><Compile Include="FILES" /></ItemGroup>
</Project>
"""


def build_csharp(work: Workshop, *files: str) -> tuple[object, ...]:
    """Compile a program, and return the command that runs it."""
    work.write("sample.csproj", PROJECT.replace("FILES", ";".join(files)))
    work.run("dotnet", "build", "--output", "made", "sample.csproj")
    return "dotnet", work.folder / "made" / "sample.dll"


def scenarios(work: Workshop) -> None:
    """Each program ends alike, whichever fault strikes its first request or its last one."""
    page = "in-your-language.md"
    work.sample(page, "java", "Story.java")
    work.run("javac", "-Xlint:all", "-Werror", "Story.java")
    work.sample(page, "ruby", "story.rb")
    programs: dict[str, tuple[object, ...]] = {
        "ruby": ("ruby", "-w", "story.rb"),
        "java": ("java", "-cp", ".", "Story"),
    }
    if shutil.which("dotnet"):
        work.sample(page, "csharp", "story.cs")
        programs["csharp"] = build_csharp(work, "story.cs")
    choice = ("--only", "1:*", "--only", "3:*")
    for language, program in programs.items():
        said = work.run(*COMMAND, "test", "app", *choice, "--", *program)
        if "No problem in " not in said:
            raise Complaint(f"{language}: {said}")
