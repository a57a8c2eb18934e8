// The module under jest: npx jest

const { withPayments, Emulator } = require("payments-emulator");

test("a link is paid once and its webhook is delivered", withPayments(async (payments) => {
  await payments.webhooks.listen();
  const event = await payments.trigger("invoice.paid");
  await payments.webhooks.assertDelivered("invoice.paid", { object: event.data.object, times: 1 });
  expect(event.type).toBe("invoice.paid");
}));

describe("with hooks", () => {
  let payments;

  beforeEach(async () => {
    payments = await Emulator.open({ clock: "2026-01-01T00:00:00Z" });
  });

  afterEach(() => payments.close());

  test("time is the test's", async () => {
    await payments.clock.advance("P1M");
    expect(await payments.clock.now()).toBe("2026-02-01T00:00:00.000Z");
  });
});
