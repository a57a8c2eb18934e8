// The emulator as a container of Testcontainers for Node: to be copied into a test suite.
//
//     const payments = await new PaymentsEmulator().start();
//     const shop = new Shop(payments.url, 'sk_test_shop');
import { GenericContainer, Wait } from 'testcontainers';

const PORT = 4747;

export class PaymentsEmulator extends GenericContainer {
  // `clock` as that of serve --clock: running, frozen or frozen@INSTANT.
  constructor(image = 'payments-emulator', { clock = 'frozen', seed = 0 } = {}) {
    super(image);
    this.withExposedPorts(PORT)
      .withEnvironment({
        PAYMENTS_EMULATOR_TRUST_NETWORK: '1',
        PAYMENTS_EMULATOR_CLOCK: clock,
        PAYMENTS_EMULATOR_SEED: String(seed),
      })
      // Webhooks reach the application under test on the machine that runs the container.
      .withExtraHosts([{ host: 'host.docker.internal', ipAddress: 'host-gateway' }])
      .withWaitStrategy(Wait.forHttp('/_emulator/health', PORT));
  }

  async start() {
    const container = await super.start();
    container.url = `http://${container.getHost()}:${container.getMappedPort(PORT)}`;
    return container;
  }
}
