"""The pytest plugin under pytest in small suites: a world per test, clear reports of failures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from html import escape
from importlib.metadata import entry_points
from pathlib import Path
from unittest.mock import Mock
from xml.etree import ElementTree

# Kept loaded here: a run inside this one forgets the modules it was the first to import.
import httpcore  # noqa: F401  # see above
import httpx
import payments_emulator_pytest as plugin
import pytest

from contract_tests.quality.docs.pages import PAGES, ROOT, samples
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.cli.terminal import clean
from emulator.engine.reference_data import named_assumptions
from emulator.testing import Emulator, LocalServer, Webhooks
from emulator.testing.base_emulator import BaseEmulator
from emulator.testing.failed_test_page import MOST, page
from emulator.version import VERSION

PLUGIN = (
    "-p",
    "no:payments_emulator",
    "-p",
    "payments_emulator_pytest",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:asyncio",
)
"""The plugin as it stands here, whatever is installed; loaded as its entry point would be."""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("PAYMENTS_EMULATOR_URL", raising=False)
    monkeypatch.delenv("PAYMENTS_EMULATOR_KEY", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(plugin.__file__).parent), os.pathsep)
    return pytester


def run(suite: pytest.Pytester, *options: str, **files: str) -> pytest.RunResult:
    """Run pytest, in this process, on these modules."""
    if files:
        suite.makepyfile(**files)
    return suite.runpytest_inprocess(*PLUGIN, "-Werror", "--strict-markers", *options)


def test_it_is_installed_with_the_package() -> None:
    (entry_point,) = entry_points(group="pytest11", name="payments_emulator")
    assert entry_point.load() is plugin


def test_who_does_not_use_it_pays_nothing_for_it() -> None:
    """Neither the helpers nor any library of theirs is loaded at the start of a run."""
    code = (
        "import sys, pytest; before = set(sys.modules); import payments_emulator_pytest; print(*{"
        "name for name in set(sys.modules) - before if '.' not in name or 'emulator' in name})"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    loaded = set(done.stdout.split()) - sys.stdlib_module_names
    assert loaded == {"payments_emulator_pytest"}


OWN_EMULATOR = """
import emulator, pytest

def test_cpu():
    assert emulator.CPU == 6502

@pytest.mark.payments_assumptions("all")
def test_payments(payments):
    pass
"""


@pytest.mark.parametrize("command", ["pytest", "python -m pytest"])
def test_a_project_may_have_a_package_of_the_same_name(command: str, tmp_path: Path) -> None:
    """Its tests run; those that use the fixture, and the head of the run, name the reason."""
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator" / "__init__.py").write_text("CPU = 6502", "utf-8")
    (tmp_path / "conftest.py").touch()
    (tmp_path / "test_own.py").write_text(OWN_EMULATOR, "utf-8")
    program = [sys.executable, "-m", "pytest"] if " " in command else [command]
    done = subprocess.run(
        [*program, "-p", "payments_emulator_pytest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=clean(PYTHONPATH=str(Path(plugin.__file__).parent), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    reason = (
        "payments-emulator: no fixture payments, because this project has a package emulator of its"
        f" own, {tmp_path / 'emulator'}"
    )
    assert done.stdout.splitlines().count(reason) == 2, done.stdout + done.stderr
    assert "1 passed, 1 error" in done.stdout


def test_the_command_runs_where_another_package_of_the_same_name_is_first(tmp_path: Path) -> None:
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator" / "__init__.py").touch()
    folders = (str(tmp_path), str(Path(plugin.__file__).parent))
    code = "import payments_emulator_command; payments_emulator_command.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        cwd=tmp_path,
        env=clean(PYTHONPATH=os.pathsep.join(folders)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"payments-emulator {VERSION}\n"


def test_each_test_has_the_same_world_of_its_own_each_time(suite: pytest.Pytester) -> None:
    module = """
        import pytest

        WORLDS = []

        @pytest.mark.parametrize("number", [1, 2])
        def test_worlds(payments, payments_server, number):
            assert payments.events.types == []
            WORLDS.append((payments.key, payments.customer()["id"]))
            assert payments.url == payments_server.url

        def test_they_differ():
            assert len(set(WORLDS)) == 2
            with open("worlds.txt", "a") as file:
                print(WORLDS, file=file)
    """
    for _ in range(2):
        run(suite, test_shop=module).assert_outcomes(passed=3)
    first, second = (suite.path / "worlds.txt").read_text().splitlines()
    assert first == second
    assert "-test-worlds-1" in first


def test_markers_change_how_the_ini_file_has_worlds_start(suite: pytest.Pytester) -> None:
    suite.makeini("""
        [pytest]
        payments_clock = 2026-01-01T00:00:00Z
        payments_fixtures = all.yaml
        """)
    suite.path.joinpath("all.yaml").write_text("settings: {tax_rate: 5, minimum_amount: 7}")
    suite.path.joinpath("own.yaml").write_text("settings: {maximum_amount: 5000}")
    module = """
        import datetime
        import pytest

        pytestmark = pytest.mark.payments(settings={"tax_rate": 10, "commission_rate": 1})

        def shown(payments):
            settings = payments.api.get("/_emulator/app")["settings"]
            names = "tax_rate", "commission_rate", "minimum_amount", "maximum_amount"
            return [settings[name] for name in names]

        def test_usual(payments):
            assert payments.clock.now == "2026-01-01T00:00:00.000Z"
            assert shown(payments) == [10, 1, 7, 99999999]

        @pytest.mark.payments(clock="running", settings={"tax_rate": 20}, fixtures="own.yaml")
        def test_other(payments):
            assert payments.clock.show()["mode"] == "running"
            assert shown(payments) == [20, 1, 7, 5000]

        @pytest.mark.payments(clock=datetime.datetime(2027, 1, 1), seed=8, fixtures=["own.yaml"])
        class TestClass:
            @pytest.mark.payments(seed=9)
            def test_nearest_counts(self, payments):
                assert payments.clock.now == "2027-01-01T00:00:00.000Z"
    """
    run(suite, test_shop=module).assert_outcomes(passed=3)
    run(suite, "--markers").stdout.fnmatch_lines(["@pytest.mark.payments(*initial state of*"])
    run(suite, "--help").stdout.fnmatch_lines(["*payments_clock*", "*payments_fixtures*"])


def test_a_wrong_marker_is_reported_in_a_line(suite: pytest.Pytester) -> None:
    wrong = {
        "sed=1": "does not take sed=; it takes clock, seed, settings, fixtures",
        "7": "does not take 7; it takes clock, seed, settings, fixtures",
        "seed='x'": "payments: seed='x': a whole number",
        "clock='tomorrow'": "clock='tomorrow': 'running', 'frozen', or an instant",
        "settings=[1]": "payments: settings=[1]: a dict of settings, such as",
        "settings={'tax': 1}": (
            "the world of this test cannot start: tax is not a setting; there are"
        ),
        "fixtures=7": "payments: fixtures=7: a path, or a list of paths",
        "fixtures='nowhere.yaml'": "nowhere.yaml: cannot be read",
    }
    tests = [
        f"@pytest.mark.payments({arguments})\ndef test_{n}(payments): pass"
        for n, arguments in enumerate(wrong)
    ]
    result = run(suite, test_shop="\n".join(["import pytest", *tests]))
    result.assert_outcomes(errors=len(wrong))
    text = result.stdout.str()
    assert [message for message in wrong.values() if message not in text] == []
    assert [part for part in ("Traceback", "During handling") if part in text] == []


def test_a_failing_test_shows_the_failure_report_of_its_world(suite: pytest.Pytester) -> None:
    """A report that cannot be made hides no failure."""
    module = """
        from emulator.testing import RemoteServer

        def test_shop(payments):
            payments.webhooks.listen()
            payments.customer()
            payments.webhooks.assert_delivered("customer.created")
            assert payments.client.post("/v1/customers/", json={}).status_code == 201

        def test_expectation(payments):
            with payments.expect("invoice.paid"):
                payments.clock.advance("1d")

        def test_without_a_world():
            assert False

        def test_without_a_report(payments, monkeypatch):
            monkeypatch.setattr(payments, "server", RemoteServer("http://127.0.0.1:1"))
            assert not "this is what went wrong"
    """
    result = run(suite, test_shop=module)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "*- payments emulator -*",
            "world sk_test_*-test-shop at http://127.0.0.1:*",
            "clock: *, frozen",
            "No job is planned.",
            "*POST /v1/webhooks/ -> 201",
            "*POST /v1/customers/ -> 201",
            "*└ customer.created  cust_*",
            "*POST /v1/customers/ -> 422 VALIDATION_ERROR: *",
            "Webhooks received:",
            "*customer.created  evt_* -> 200",
            '>*with payments.expect("invoice.paid"):',
            "E*AssertionError: did not happen: invoice.paid",
            "*- payments emulator -*",
            "E*this is what went wrong*",
            "(no report of the world: NoConnection: *",
        ]
    )
    assert result.stdout.str().count("- payments emulator -") == 3
    assert "emulator/testing" not in result.stdout.str(), (
        "a traceback ends in the test and not in the helpers"
    )


def test_a_failing_test_that_asked_for_it_leaves_its_recording(suite: pytest.Pytester) -> None:
    module = """
        import pytest

        @pytest.mark.parametrize("wrong", [True, False])
        def test_shop(payments, wrong):
            payments.record("shop" if wrong else "fine")
            payments.customer()
            payments.clock.advance("1d")
            assert not wrong

        def test_name(payments):
            with pytest.raises(ValueError, match="letters, digits"):
                payments.record("../shop")

        def test_without(payments):
            assert payments is None
    """
    result = run(suite, test_shop=module)
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(["run it again: pytest *shop.py"])
    assert result.stdout.str().count("run it again") == 1
    folder = suite.path / "payments-recordings"
    assert [file.name for file in folder.iterdir()] == ["shop.py"]
    run(suite, str(folder / "shop.py")).assert_outcomes(passed=1)


def test_who_fakes_another_service_reaches_the_emulator(suite: pytest.Pytester) -> None:
    """During a test, the fixture and the failure's report avoid the things such tools replace."""
    module = """
        FAKED = (
            "httpx.HTTPTransport.handle_request",  # respx and pytest-httpx
            "http.client.HTTPConnection", "http.client.HTTPResponse",  # pytest-recording
            "socket.socket", "socket.create_connection", "socket.getaddrinfo",  # HTTPretty
        )

        def faked(*_, **__):
            raise AssertionError("it was faked")

        def test_shop(payments, monkeypatch):
            for name in FAKED:
                monkeypatch.setattr(name, faked)
            payments.trigger("invoice.paid")
            payments.clock.advance("1d")
            assert payments.events.types.count("invoice.paid") == 1
            assert "the report" == "comes after it"
    """
    result = run(suite, test_shop=module)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the report*", "*POST /_emulator/trigger -> 200*"])
    assert "it was faked" not in "".join(result.outlines).partition("- payments emulator -")[2]


def test_a_test_that_may_use_no_sockets_fails_alone(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = """
        import pytest

        @pytest.mark.disable_socket
        def test_first(payments): pass

        def test_second(payments): payments.trigger("invoice.paid")

        @pytest.mark.disable_socket
        def test_third(payments): pass
    """
    result = run(suite, "-p", "pytest_socket", test_shop=module)
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        ["This test may use no sockets, but*: A test tried to use socket.socket. Allow it*"]
    )
    server = LocalServer()
    with monkeypatch.context() as patch:
        patch.setattr("socket.create_server", Mock(side_effect=RuntimeError("no sockets here")))
        with pytest.raises(RuntimeError, match="no sockets here"):
            Emulator(server=server)
    with Emulator(server=server) as world:
        assert world.trigger("invoice.paid"), "a start that failed is tried again"
    server.stop()


def test_a_server_in_a_greenlet_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """gevent makes a thread run whenever the thread that started it waits, in that one."""
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.run)
    monkeypatch.setattr(threading.Thread, "join", lambda *_: None)
    with pytest.raises(RuntimeError, match="payments-emulator exec -- pytest"):
        Emulator(server=LocalServer())


def test_a_server_elsewhere_has_worlds_of_this_run_alone_and_that_of_a_failed_test_stays(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, local_server: LocalServer
) -> None:
    module = f"""
        import pytest

        @pytest.mark.payments(clock="2026-01-01T00:00:00Z", seed=7, settings={{"tax_rate": 18}})
        @pytest.mark.parametrize("n", range(3))
        def test_of_worlds(payments, payments_server, n):
            assert payments.url == payments_server.url == {local_server.url!r}
            assert payments.events.types == []
            payments.webhooks.listen()
            payments.customer()
            payments.webhooks.assert_delivered("customer.created")
            assert payments.clock.now == "2026-01-01T00:00:00.000Z"
            assert payments.configure()["tax_rate"] == 18
            assert n != 1
    """
    monkeypatch.setenv("PAYMENTS_EMULATOR_URL", local_server.url)
    for _ in range(2):
        run(suite, test_shop=module).assert_outcomes(passed=2, failed=1)
    apps = httpx.get(f"{local_server.url}/_emulator/apps").json()["data"]
    own = [
        (app["name"][13:], app["objects"] > 0) for app in apps if "test-of-worlds-" in app["name"]
    ]
    last_first = [(f"test-of-worlds-{n}", n == 1) for n in (2, 1, 0)]
    assert own == last_first * 2


def test_a_test_runs_once_for_each_value_of_each_assumption(suite: pytest.Pytester) -> None:
    """B-99: the failure names the assumption, in its own id and in words."""
    module = """
        import pytest

        @pytest.mark.payments_assumptions("all")
        def test_no_customer_is_found(payments):
            nobody = payments.client.get("/v1/customers/", params={"search": "nobody"})
            assert nobody.json()["data"] == []
    """
    others = sum(len(assumption.values) - 1 for assumption in named_assumptions().values())
    result = run(suite, test_search=module)
    result.assert_outcomes(passed=others, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_no_customer_is_found[[]search_nothing_found=error[]]*",
            "*payments emulator: assumption*",
            (
                "This test fails when search_nothing_found is error: A search without results"
                " answers 404 *"
            ),
            "The specification: Customers have a search, *",
        ]
    )


def test_a_marker_chooses_assumptions_which_join_the_settings_of_the_test(
    suite: pytest.Pytester,
) -> None:
    module = """
        import pytest

        pytestmark = pytest.mark.payments(
            settings={"tax_rate": 18, "assumptions": {"success_url": "required"}}
        )

        @pytest.mark.payments(settings={"assumptions": {"webhook_retry": "all"}})
        @pytest.mark.payments_assumptions("webhook_success")
        def test_settings(payments, payments_assumption):
            settings = payments.api.get("/_emulator/app")["settings"]
            assert settings["tax_rate"] == 18
            assert settings["assumptions"]["success_url"] == "required"
            assert settings["assumptions"]["webhook_retry"] == "all"
            expected = payments_assumption or ("webhook_success", "200")
            assert expected == ("webhook_success", settings["assumptions"]["webhook_success"])
    """
    result = run(suite, "-v", test_settings=module)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*[[]default assumptions[]]*", "*[[]webhook_success=2xx[]]*"])


def test_a_live_key_in_the_environment_fails_a_test_with_a_world(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its variable: the key is not printed."""
    monkeypatch.setenv("SHOP_KEY", "sk_prod_0123456789abcdef")
    result = run(suite, test_shop="def test_with(payments): pass\ndef test_without(): pass")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*The environment variable SHOP_KEY holds a live key: run tests without it."]
    )
    result.stdout.no_fnmatch_line("*0123456789abcdef*")


# -- the pages: their samples run as they are printed, and the one on test suites has every helper


SAMPLES = [
    sample.text
    for page in PAGES
    for sample in samples(page)
    if sample.language == "python" and not sample.reason
]
SUITES = [sample for sample in SAMPLES if "def test_" in sample]


@pytest.mark.long
def test_the_suites_of_the_pages_pass(suite: pytest.Pytester) -> None:
    """All in one run, as modules. A test under several assumptions runs once for each of them."""
    modules = {f"test_sample_{number}": sample for number, sample in enumerate(SUITES)}
    outcomes = run(suite, "-p", "pytest_socket", **modules).parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] >= sum(sample.count("def test_") for sample in SUITES)


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample not in SUITES])
def test_the_scripts_of_the_pages_run(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAYMENTS_EMULATOR_URL", raising=False)
    exec(compile(sample, "sample", "exec"), {"__name__": "sample"})


def test_the_page_describes_every_option_and_every_method_of_the_helpers() -> None:
    page = (ROOT / "docs/guide/testing.md").read_text("utf-8")
    options = {*plugin.ARGUMENTS, "payments_clock", "payments_fixtures"}
    assert [option for option in options if option not in page] == []
    names = {
        name
        for kind in (BaseEmulator, Emulator, Webhooks)
        for name in vars(kind)
        if not name.startswith("_")
    }
    unsaid = {"close", "record", "recording", "summary", "so_far"}
    assert names - set(re.findall(r"\w+", page)) == unsaid


# -- the page of a failed test: to eyes, to a screen reader, and without a network


SVG = re.compile(r'<svg role="img".*?</svg>', re.S)


def drawn(sandbox: Sandbox) -> str:
    return page(sandbox.url, sandbox.key, "test_shop.py::test_<b>")


def test_money_states_renewals_and_webhooks_are_drawn_and_listed(sandbox: Sandbox) -> None:
    """Nothing comes from elsewhere, and everything is escaped."""
    sandbox.endpoint(
        f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}", name="<b>Shop</b>"
    )
    subscription = sandbox.subscribe()
    sandbox.advance("32d")
    method = sandbox.method(
        {"id": subscription["customer"]}, type="mobile_money", phone=FAILING_PHONE
    )
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"payment_method": method["id"]})
    sandbox.advance("40d")
    sandbox.subscribe(unit_amount=1999, currency="EUR", interval="week", trial_period_days=5)
    sandbox.advance("20d")
    text = drawn(sandbox)
    charts = SVG.findall(text)
    assert len(charts) == text.count("<caption>") == 3
    for chart in charts:
        svg = ElementTree.fromstring(chart.replace("&hellip;", "…"))
        assert (svg.get("role"), svg[0].tag, svg[1].tag) == ("img", "title", "desc")
        assert set((svg.get("aria-labelledby") or "").split()) <= {
            element.get("id") for element in svg.iter()
        }
    assert "58.23\N{NO-BREAK SPACE}EUR" in charts[0], "three weeks of 19.99, less fees"
    assert "XAF" in charts[0]
    assert {"active", "past due", "trialing"} <= set(
        re.findall(r"<title>([\w ]+) from \d", charts[1])
    )
    name = re.escape(
        escape(sandbox.control.get("/names", ids=subscription["id"])[subscription["id"]])
    )
    assert re.search(
        rf'<th scope="row">{name}</th><td>subscription.payment_failed</td><td>failed</td>', text
    )
    assert "invoice.paid: 200 (succeeded)" in charts[2]
    assert re.findall(r'(?:src|href)="(?!#)|<script|@import|url\((?!#)|<b>', text) == []
    assert "&lt;b&gt;Shop&lt;/b&gt;" in text


def test_it_begins_with_what_failed(sandbox: Sandbox) -> None:
    assert "No money moved." in drawn(sandbox)
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}")
    sandbox.inbox_responses("shop", status=400)
    sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("10d")
    began = " ".join(drawn(sandbox).partition("<h2>")[0].split())
    failed = r"1 subscription is past due or unpaid\. \d+ attempts of webhook deliveries failed\."
    assert re.search(rf"The ledger is balanced\. {failed}</p>", began)


def test_only_the_first_failures_of_a_process_have_a_page() -> None:
    code = f"""
from emulator.testing.failed_test_page import draw
for number in range({MOST + 1}):
    print(draw("http://127.0.0.1:1", "sk_test_shop", f"::test_{{number}}", "", ""))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *pages, last = done.stdout.splitlines()
    assert all(page.endswith(".html") for page in pages)
    assert last == f"(no further page: {MOST} are in {Path(pages[0]).parent})"


SUITE = """
    import pytest

    @pytest.fixture
    def renewed(payments):
        payments.subscription(customer=payments.customer(name="Awa"))
        payments.clock.advance("31d")

    def test_renewal(renewed):
        pass

    @pytest.mark.parametrize("text", ["<b>"])
    def test_of_the_shop(renewed, text):
        assert text == "<i>"

    def test_setup(payments, no_such_fixture):
        pass
"""


@pytest.mark.long
def test_a_failed_test_names_its_page(
    suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page calls a subscription by its customer, and passed tests are not drawn."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    suite.makepyfile(test_shop=SUITE)
    # In a process of its own: a run inside this one would forget modules that later tests need.
    result = suite.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1, failed=1, errors=1)
    drawn = sorted(tmp_path.glob("payments-report-*/*.html"))
    assert [file.name.partition("-")[2] for file in drawn] == [
        "test-of-the-shop-b.html",
        "test-setup.html",
    ]
    assert [file for file in drawn if str(file) not in result.outlines] == []
    text = drawn[0].read_text("utf-8")
    why, events, plots = map(
        text.index, ("&lt;b&gt;&#39; == &#39;&lt;i&gt;", "subscription.created", "<svg role")
    )
    assert why < events < plots, "first why, then what happened, then what it looks like"
    assert ">test_shop.py::test_of_the_shop[&lt;b&gt;]</h1>" in text
    assert "Awa · " in text
    assert not re.search(r">sub_\w{24}<", text[plots:])
