// The renewal matrix: eight things that happen to subscriptions. Copy it, with your application in place of the shop.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withPayments } from "payments-emulator";
import { EVENTS, Shop } from "./shop.js";

const AWA = "awa@example.com";
const PAYS = "+24177000000";
const TOO_LITTLE_MONEY = "+24177000001";

// A test with your application, which hears the webhooks of the test's world.
function withShop(body) {
  return withPayments({ clock: "2026-01-01T00:00:00Z" }, async (payments) => {
    await payments.webhooks.listen(EVENTS);
    const shop = new Shop(payments.url, payments.key, await payments.webhooks.secret());
    await payments.webhooks.forwardTo(shop.receive);
    await shop.open();
    await body(payments, shop);
  });
}

// An account that has paid its first month in the hosted checkout.
async function join(payments, shop, plan = "premium", method = { phone: PAYS }) {
  await payments.pay(await shop.subscribe(AWA, plan), method);
  await payments.settle();
}

const access = async (payments, shop) => shop.hasAccess(AWA, await payments.clock.datetime());

// What the invoices with a status cost, the newest first.
const totals = async (payments, status) =>
  (await payments.api.get("/v1/invoices/", { status })).data.map((invoice) => invoice.total);

// The money that came in, and was not paid back.
const spent = async (payments, shop) =>
  (await payments.api.get(`/v1/customers/${shop.customers.get(AWA)}/`)).total_spent;

// The buyer follows the link.
async function payNow(payments, shop) {
  await payments.pay(await shop.payNow(AWA), { phone: PAYS });
  await payments.settle();
}

test("duplicate: a renewal whose webhook comes three times is one renewal", withShop(async (payments, shop) => {
  await join(payments, shop);
  await payments.fault({ duplicate: 2 }, { event: "invoice.paid" });
  await payments.clock.advance("31d");
  assert.equal(payments.webhooks.deliveries.filter(({ event }) => event.type === "invoice.paid").length, 4);
  assert.deepEqual(await totals(payments, "paid"), [5000, 5000]);
  assert.ok(await access(payments, shop));
}));

test("grace: a renewal that fails leaves access for some days; the customer is told", withShop(async (payments, shop) => {
  await join(payments, shop);
  await shop.payWith(AWA, TOO_LITTLE_MONEY);
  await payments.clock.advance("32d");
  assert.ok(await access(payments, shop));
  await payments.clock.advance("3d");
  assert.ok(!(await access(payments, shop)));
  assert.ok((await payments.emails.to(AWA, "renewal_failed")).length);
  await payments.clock.advance("30d");
  await shop.reconcile();
  assert.equal(shop.subscriptions.get(AWA).status, "unpaid");
  assert.ok(!(await access(payments, shop)));
}));

for (const how of ["retry", "pay now", "pay now after the last retry"]) {
  test(`recovery: who pays again has access again (${how})`, withShop(async (payments, shop) => {
    await join(payments, shop);
    await shop.payWith(AWA, TOO_LITTLE_MONEY);
    const isLate = how === "pay now after the last retry";
    await payments.clock.advance(isLate ? "46d" : "36d");
    await shop.reconcile();
    assert.equal(shop.subscriptions.get(AWA).status, isLate ? "unpaid" : "past_due");
    assert.ok(!(await access(payments, shop)));
    await shop.payWith(AWA, PAYS);
    if (how === "retry") {
      await payments.clock.advance("3d");
    } else {
      await payNow(payments, shop);
    }
    assert.ok(await access(payments, shop));
    assert.equal(await shop.payNow(AWA), undefined);
    assert.equal(await spent(payments, shop), 10000);
  }));
}

test("change of plan: it costs nothing now, and the new price from the next period on", withShop(async (payments, shop) => {
  await join(payments, shop);
  await shop.changePlan(AWA, "basic");
  assert.deepEqual(await totals(payments, "paid"), [5000]);
  await payments.clock.advance("31d");
  assert.deepEqual(await totals(payments, "paid"), [2000, 5000]);
  assert.ok(await access(payments, shop));
}));

test("cancel undone: it never happened; one that is not undone ends access with the period", withShop(async (payments, shop) => {
  await join(payments, shop);
  await shop.cancel(AWA);
  await shop.keep(AWA);
  await payments.clock.advance("31d");
  assert.ok(await access(payments, shop));
  assert.deepEqual(await totals(payments, "paid"), [5000, 5000]);
  await shop.cancel(AWA);
  assert.ok(await access(payments, shop));
  await payments.clock.advance("31d");
  assert.ok(!(await access(payments, shop)));
  assert.deepEqual(await totals(payments, "paid"), [5000, 5000]);
}));

test("refund: of a renewal, twice clicked, the money comes back once; access stays", withShop(async (payments, shop) => {
  await join(payments, shop);
  await payments.clock.advance("31d");
  const [refund] = [await shop.refund(AWA), await shop.refund(AWA)];
  await payments.clock.advance("1d");
  assert.equal((await payments.api.get(`/v1/refunds/${refund.id}/`)).status, "succeeded");
  assert.equal(await spent(payments, shop), 5000);
  assert.ok((await payments.emails.to(AWA, "refund")).length);
  assert.ok(await access(payments, shop));
}));

test("trial end: it is announced, and then costs what the plan costs", withShop(async (payments, shop) => {
  await join(payments, shop, "trial");
  assert.deepEqual([await access(payments, shop), await totals(payments, "paid")], [true, []]);
  await payments.clock.advance("13d");
  assert.deepEqual([...shop.reminders], [AWA]);
  await payments.clock.advance("2d");
  assert.deepEqual(await totals(payments, "paid"), [5000]);
  assert.ok(await access(payments, shop));
}));

test("card expired: the renewal fails, not the period that is paid", withShop(async (payments, shop) => {
  const card = { number: "4242424242424242", exp_month: 1, exp_year: 2026, cvc: "123" };
  await join(payments, shop, "premium", { card });
  await payments.clock.advance("30d");
  assert.ok(await access(payments, shop));
  await payments.clock.advance("5d");
  assert.equal(shop.subscriptions.get(AWA).status, "past_due");
  await shop.payWith(AWA, PAYS);
  await payNow(payments, shop);
  assert.equal(shop.subscriptions.get(AWA).status, "active");
  assert.ok(await access(payments, shop));
}));
