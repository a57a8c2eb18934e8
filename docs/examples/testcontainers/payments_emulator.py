"""The emulator as a container of Testcontainers for Python (tried with 4.15): to be copied into a test suite.

with PaymentsEmulator() as payments:
    shop = Shop(payments.url, "sk_test_shop")
"""

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

PORT = 4747


class PaymentsEmulator(DockerContainer):
    """``clock`` as that of ``serve --clock``: ``running``, ``frozen`` or ``frozen@INSTANT``."""

    def __init__(self, image: str = "payments-emulator", clock: str = "frozen", seed: int = 0) -> None:
        super().__init__(image)
        self.with_exposed_ports(PORT)
        self.with_env("PAYMENTS_EMULATOR_TRUST_NETWORK", "1")
        self.with_env("PAYMENTS_EMULATOR_CLOCK", clock)
        self.with_env("PAYMENTS_EMULATOR_SEED", str(seed))
        self.waiting_for(HttpWaitStrategy(PORT, "/_emulator/health").for_status_code(200))
        # Webhooks reach the application under test on the machine that runs the container.
        self.with_kwargs(extra_hosts={"host.docker.internal": "host-gateway"})

    @property
    def url(self) -> str:
        """The emulator, as this process reaches it."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(PORT)}"
