// The shop's tests under vitest: npx vitest run

import { once } from "node:events";
import { expect, test } from "vitest";
import { withPayments } from "payments-emulator";
import { shop } from "./shop.mjs";

/** The shop, served, with the webhooks of the world forwarded to it, and a way to call it. */
async function open(payments) {
  const app = shop({ url: payments.url, key: payments.key, secret: await payments.webhooks.secret() });
  await payments.webhooks.forwardTo(app);
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  const call = async (path, body) => {
    const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    return (await fetch(`http://127.0.0.1:${server.address().port}${path}`, options)).json();
  };
  const subscribe = (phone = "+24177000000") => call("/subscribe", { email: "awa@example.com", phone });
  const isMember = async (customer) => (await call(`/members/${customer}`)).member;
  return { subscribe, isMember };
}

test("who subscribes is a member", withPayments(async (payments) => {
  const { subscribe, isMember } = await open(payments);
  const { customer } = await subscribe();
  await payments.webhooks.assertDelivered("subscription.created");
  expect(await isMember(customer)).toBe(true);
}));

test("a year of renewals is paid", withPayments({ clock: "2026-01-01T00:00:00Z" }, async (payments) => {
  const { subscribe } = await open(payments);
  await subscribe();
  const { events } = await payments.clock.advance("P1Y");
  expect(events["invoice.paid"]).toBe(12);
  expect(await payments.emails.to("awa@example.com", "receipt")).toHaveLength(13);
}));

test("who cancels is no member any more", withPayments(async (payments) => {
  const { subscribe, isMember } = await open(payments);
  const { customer, subscription } = await subscribe();
  await payments.api.post(`/v1/subscriptions/${subscription}/cancel/`, { cancel_at_period_end: false });
  await payments.webhooks.assertDelivered("subscription.canceled");
  expect(await isMember(customer)).toBe(false);
}));

test("a forged webhook changes nothing", withPayments(async (payments) => {
  const { subscribe, isMember } = await open(payments);
  await payments.fault({ tamper: true }, { event: "subscription.created" });
  const { customer } = await subscribe();
  await payments.webhooks.refuteDelivered("subscription.created");
  expect(await isMember(customer)).toBe(false);
}));
