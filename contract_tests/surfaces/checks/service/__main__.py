"""``python -m contract_tests.surfaces.checks.service``: the long version of the proof that calibration names what differs.

Each run draws twelve settings and twelve deviations for a second emulator behind TLS and a front that limits and fails.
Exit status 1 if calibration names anything else, or if with the profile a random request is answered otherwise although
no deviation changed its answer.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import click

from contract_tests.surfaces.checks.service.random_requests import Explained, RandomRequests, explained
from contract_tests.surfaces.checks.service.second import (
    KNOWN,
    NOTHING,
    Calibration,
    Draw,
    VirtualTime,
    client,
    drawn,
    serving,
    switched,
)
from contract_tests.surfaces.checks.service.tls import behind_tls
from emulator.checks.service.verdicts import CalibrationReport, profile_of
from emulator.document.profile import Profile


@click.command()
@click.option("--runs", default=10, show_default=True, help="How many draws of settings and deviations.")
@click.option("--seed", default=1, show_default=True, help="Seed of the first draw.")
@click.option("--requests", default=500, show_default=True, help="Random requests with each profile.")
def main(runs: int, seed: int, requests: int) -> None:
    """Calibrate against services that are known to be different."""
    wrong = 0
    for number in range(seed, seed + runs):
        draw, time = drawn(number), VirtualTime()
        with serving(draw, time, number) as server, behind_tls(server.url) as tls:
            report = Calibration(tls.url, time, trusting=tls.trusting).run()
        found = [*unexpected(draw, report)]
        profile = profile_of(KNOWN, report, len(KNOWN.probes))
        unlike = [*disagreeing(draw._replace(deviations=[]), profile, requests, number)]
        deviating = [*disagreeing(draw, profile, requests, number)]
        strange = [each for each in (*unlike, *deviating) if not each.deviations]
        click.echo(
            f"seed {number}: {report.counted()}; {report.requests} requests, {time.now:.0f} s at 2 a second; "
            f"{len(found)} wrong verdicts; {len(unlike)} of {requests} random requests differ without the deviations, "
            f"{len(deviating)} with them, {len(strange)} of these without a deviation at work"
        )
        for name, count in Counter(name for each in deviating for name in each.deviations).most_common():
            click.echo(f"  {count:4} by the deviation: {name}")
        for line in (*found, *map(str, strange)):
            click.echo(f"  {line[:400]}")
        wrong += len(found) + len(strange)
    sys.exit(1 if wrong else 0)


def unexpected(draw: Draw, report: CalibrationReport) -> Iterator[str]:
    """What was named and was not drawn, and what was drawn and was not named."""
    differing = report.of("differs")
    named = switched([each for each in differing if each.followed])
    for name in sorted(named.keys() | draw.switched.keys()):
        if named.get(name) != draw.switched.get(name):
            yield f"{name}: named {named.get(name)!r}, is {draw.switched.get(name)!r}"
    probes = {each.probe for each in differing if not each.followed}
    yield from (f"{probe}: named or missing" for probe in sorted(probes ^ draw.noticed_by))


def disagreeing(draw: Draw, profile: Profile, count: int, seed: int) -> Iterator[Explained]:
    """Yield the random requests that a service and the emulator with its profile answer otherwise."""
    service = draw.service()
    with (
        serving(draw, wrong=service) as real,
        serving(NOTHING, profile=profile) as ours,
        client(real.url) as one,
        client(ours.url) as other,
    ):
        yield from explained(RandomRequests(one, other, seed).run(count), service.reached)


if __name__ == "__main__":
    main()
