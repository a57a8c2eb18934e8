"""The reason of a failed command: the line that names the error, in whatever language it is."""

from __future__ import annotations

import pytest

from emulator.cli.reasons import ERRORS, failure_of

SAMPLES = {
    "any language's class, and Java's thread": (
        'Exception in thread "main" IllegalStateException: sold twice\n\tat A.main(A.java:1)',
        'Exception in thread "main" IllegalStateException: sold twice',
    ),
    "pytest": (
        "FAILED test_shop.py::test_refund - assert 2 == 1\n1 failed in 3.79s",
        "FAILED test_shop.py::test_refund - assert 2 == 1",
    ),
    "TAP, such as Node's tests": (
        "not ok 1 - sells once\n# tests 1\n# fail 1",
        "not ok 1 - sells once",
    ),
    "Ruby": (
        "buy.rb:5:in `post': the service said 500 (RuntimeError)\n"
        "\tfrom buy.rb:8:in `main'\n\tfrom buy.rb:9:in `<main>'",
        "buy.rb:5:in `post': the service said 500 (RuntimeError)",
    ),
    "minitest": (
        "  1) Failure:\nTestGym#test_a [t.rb:3]:\nExpected: 1\n  Actual: 2\n\n"
        "1 runs, 1 assertions, 1 failures, 0 errors, 0 skips",
        "TestGym#test_a [t.rb:3]: Expected: 1 Actual: 2",
    ),
    "RSpec": (
        "  1) Gym sells\n     Failure/Error: expect(sold).to eq(1)\n\n       expected: 1\n"
        "            got: 2\n     # ./gym_spec.rb:3:in `block'\n\n1 example, 1 failure",
        "Failure/Error: expect(sold).to eq(1) expected: 1 got: 2",
    ),
    "Go": (
        "panic: sold twice\n\ngoroutine 1 [running]:\nmain.main()\n\t/shop/a.go:2 +0x27\n"
        "exit status 2",
        "panic: sold twice",
    ),
    "Go's tests": (
        "--- FAIL: TestA (0.00s)\n    a_test.go:3: 2 instead of 1\nFAIL\nFAIL\ta\t0.003s\nFAIL",
        "--- FAIL: TestA (0.00s) a_test.go:3: 2 instead of 1",
    ),
    "Rust": (
        "thread 'main' (2565) panicked at a.rs:1:13:\nsold twice\nstack backtrace:\n   1: a::main\n"
        "note: run with `RUST_BACKTRACE=1`",
        "thread 'main' (2565) panicked at a.rs:1:13: sold twice",
    ),
    ".NET": (
        "Unhandled exception. System.InvalidOperationException: sold twice\n   at Shop.Main()",
        "Unhandled exception. System.InvalidOperationException: sold twice",
    ),
    "PHP": (
        "PHP Fatal error:  Uncaught RuntimeException: sold twice in /a.php:1\nStack trace:\n"
        "#0 {main}\n  thrown in /a.php on line 1",
        "PHP Fatal error:  Uncaught RuntimeException: sold twice in /a.php:1",
    ),
    "PHPUnit": (
        "1) ShopTest::testSells\nFailed asserting that 2 matches expected 1.\n\n"
        "/shop/ShopTest.php:7\n\nFAILURES!\nTests: 1, Assertions: 1, Failures: 1.",
        "1) ShopTest::testSells Failed asserting that 2 matches expected 1.",
    ),
    "Elixir": (
        "** (RuntimeError) sold twice\n    shop.exs:1: (file)",
        "** (RuntimeError) sold twice",
    ),
}
"""By the name of each pattern: what a program prints, and the reason in it."""


def test_each_pattern_has_a_sample() -> None:
    assert SAMPLES.keys() == ERRORS.keys()


@pytest.mark.parametrize("name", SAMPLES)
def test_the_reason_is_the_line_that_names_the_error(name: str) -> None:
    output, reason = SAMPLES[name]
    assert failure_of(1, output) == f"exit status 1, {reason}"


def test_without_an_error_the_last_line_that_is_no_place_is_the_reason() -> None:
    output = "the shop does not start\n\tfrom shop.rb:8:in `main'\nexit status 3"
    assert failure_of(3, output) == "exit status 3, the shop does not start"
