// Compiled, not run: what a suite writes in TypeScript, and mistakes that its types find.

import { Emulator, RequestRefused, type Delivery, type EventType, verifyWebhook, withPayments } from "payments-emulator";
import setup from "payments-emulator/global-setup";

export const story = withPayments({ clock: new Date(), settings: { tax_rate: 18 } }, async (payments) => {
  const types: EventType[] = await payments.events.types();
  const deliveries: Delivery[] = payments.webhooks.deliveries;
  const paid: number = (await payments.clock.advance({ untilEvent: "invoice.paid" })).events["invoice.paid"] ?? 0;
  const made = await payments.expect(types, () => payments.api.post("/v1/customers/", {}));
  await payments.pay(made, { card: "4000000000000002", wait: false });
  verifyWebhook(deliveries[0]!.body, deliveries[0]!.headers, await payments.webhooks.secret());
  const swept: string[] = (await payments.testApp((world) => world.pay("inv_1"), { only: ["1:lost"] })).unreached;
  const session = await payments.session({ customer: await payments.customer(), mode: "payment" });
  swept.push((await payments.pay(session.url)).id, (await payments.events.last("invoice.paid")).id, Emulator.attach().key);
  // @ts-expect-error: a misspelt type of event
  await payments.events.last("invoice.payed");
  // @ts-expect-error: a misspelt field of an answer
  session.amout_total;
  // @ts-expect-error: a misspelt field of a request
  await payments.customer({ emial: "awa@example.com" });
  // @ts-expect-error: no such operation
  await payments.failNext("invoice");
  // @ts-expect-error: a misspelt option
  await payments.clock.advance({ until_event: "invoice.paid" });
  // @ts-expect-error: a world is opened by Emulator.open()
  new Emulator();
  return paid;
});

export const stop: Promise<() => unknown> = setup();
export const status = (error: unknown): number | undefined => (error instanceof RequestRefused ? error.status : undefined);
