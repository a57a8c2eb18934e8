// Compiled, not run: what a suite writes in TypeScript, and mistakes that its types find.

import { Emulator, RequestRefused, type Delivery, verify, withPayments } from "payments-emulator";

export const story = withPayments({ clock: new Date(), settings: { tax_rate: 18 } }, async (payments) => {
  const types: string[] = await payments.events.types();
  const deliveries: Delivery[] = payments.webhooks.deliveries;
  const paid: number = (await payments.clock.advance({ untilEvent: "invoice.paid" })).events["invoice.paid"] ?? 0;
  const made = await payments.expect(types, () => payments.api.post("/v1/customers/", {}));
  await payments.pay(made, { card: "4000000000000002", wait: false });
  verify(await payments.webhooks.secret(), deliveries[0]!.headers, deliveries[0]!.body);
  const swept: string[] = (await payments.testApp((world) => world.pay("inv_1"), { only: ["1:lost"], pairs: true })).unreached;
  types.push(...swept);
  // @ts-expect-error: no such operation
  await payments.failNext("invoice");
  // @ts-expect-error: a misspelt option
  await payments.clock.advance({ until_event: "invoice.paid" });
  // @ts-expect-error: a world is opened by Emulator.open()
  new Emulator();
  return paid;
});

export const status = (error: unknown): number | undefined => (error instanceof RequestRefused ? error.status : undefined);
