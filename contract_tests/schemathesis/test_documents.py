"""schemathesis takes both documents at their word: with requests they allow and requests they do not, every check on.

A long run: ``EXAMPLES=1000 pytest -n 2 contract_tests/schemathesis``.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from contract_tests.sandbox import RunningServer
from contract_tests.schemathesis.documents import chosen, control, judge, service

PATIENCE = 60
"""Seconds an answer may take: the control API holds some back for 30 when asked to."""

SECONDS = frozenset(map(str, range(31)))
"""The times that an answer may be held back."""


def key(world: str) -> dict[str, str]:
    """The control API changes settings and arranges faults, so it is tried in a world of its own."""
    return {"Authorization": f"Bearer sk_test_schemathesis-{world}"}


@service.parametrize()
@chosen
def test_the_service(case: Any, server: RunningServer) -> None:
    response = case.call(base_url=f"{server.url}/v1", headers=key("service"), timeout=PATIENCE)
    judge(response, case, headers=key("service"))


@control.parametrize()
@chosen
def test_the_control_api(case: Any, server: RunningServer) -> None:
    if str((case.query or {}).get("wait")) in SECONDS:
        case.query["wait"] = 0  # to hold an answer back is what it is for, and there is nothing to wait for here
    response = case.call(base_url=f"{server.url}/_emulator", headers=key("control"), timeout=PATIENCE)
    judge(response, case, headers=key("control"))


def test_what_one_answer_leads_to(server: RunningServer) -> None:
    """The links of the document: what was made is read, changed, confirmed, deleted, in any order."""
    worlds = count(1)

    class Links(service.as_state_machine()):  # type: ignore[misc]  # made at run time
        def setup(self) -> None:
            self.key = key(f"links-{next(worlds)}")

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"base_url": f"{server.url}/v1", "headers": self.key, "timeout": PATIENCE}

        def validate_response(self, response: Any, case: Any, **options: Any) -> None:
            judge(response, case, headers=self.key, recorder=self.recorder)

    Links.run(settings=chosen)
