// The shop's test suite: customers sign up, time passes, and the book says who may come in.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { Shop } from "./shop.js";

const url = process.env.PAYMENTS_EMULATOR_URL ?? "http://127.0.0.1:4747";
const PAYS = "+24177000000";
const TOO_LITTLE_MONEY = "+24177000001";
const REFUND_FAILS = "+24177000008";

let shop;

beforeEach(async () => {
  // A key nobody used before opens a world of its own.
  shop = new Shop(url, `sk_test_${randomUUID()}`);
  await shop.call("POST", "/_emulator/clock/freeze", {});
  await shop.open();
});

afterEach(() => shop.close());

// Answers when everything that fell due is done, the webhooks' answers included.
const advance = (by) => shop.call("POST", "/_emulator/clock/advance", { by });

// What the service has of a customer, newest first.
const list = async (kind, customer) => (await shop.call("GET", `/v1/${kind}/?customer=${customer.id}`)).data;

// The kinds of the emails to an address.
async function emailed(address) {
  const { data } = await shop.call("GET", `/_emulator/emails?to=${encodeURIComponent(address)}`);
  return data.map(({ kind }) => kind);
}

// How many events of a type the service has sent.
const sent = async (type) => (await shop.call("GET", `/_emulator/events?type=${type}`)).pagination.count;

// The instant a month later; the last day of a month stays within the next one.
function oneMonthAfter(instant) {
  const date = new Date(instant);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + 1);
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.toISOString();
}

test("who pays may come in", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await advance("1s");
  assert.equal(shop.members.get(customer.id), "active");
});

test("who pays every month stays", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  const told = await advance("P1Y");
  assert.deepEqual([told.events["invoice.paid"], told.events["payment_intent.succeeded"]], [12, 12]);
  assert.equal(shop.members.get(customer.id), "active");
});

test("the first month is charged once, for its price and until its end", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await shop.signUp({ email: "ben@example.com", phone: PAYS });
  await advance("1s");
  const [subscription, ...further] = await list("subscriptions", customer);
  assert.deepEqual([subscription.status, further.length], ["active", 0]);
  assert.equal(subscription.current_period_end, oneMonthAfter(subscription.current_period_start));
  const [invoice, ...others] = await list("invoices", customer);
  assert.deepEqual([invoice.status, invoice.total, invoice.amount_remaining, others.length], ["paid", 5000, 0, 0]);
  const [paid, ...more] = await list("transactions", customer);
  assert.deepEqual([paid.status, paid.amount, paid.currency, more.length], ["completed", 5000, "XAF", 0]);
  assert.ok(paid.fee > 0);
  assert.equal(shop.months.get(customer.id), 1);
  assert.equal((await shop.call("GET", `/v1/customers/${customer.id}/`)).total_spent, 5000);
  assert.deepEqual(await emailed("awa@example.com"), ["receipt"]);
});

test("a refund pays back a part, and says so", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await advance("1s");
  const { id } = await shop.refund(customer, 1000);
  await advance("7d");
  assert.equal(await sent("refund.succeeded"), 1);
  const { status, amount } = await shop.call("GET", `/v1/refunds/${id}/`);
  assert.deepEqual([status, amount], ["succeeded", 1000]);
  const [back, paid] = await list("transactions", customer);
  assert.deepEqual([back.type, paid.type, paid.amount_refunded], ["refund", "deposit", 1000]);
  assert.deepEqual(await emailed("awa@example.com"), ["refund", "receipt"]);
});

test("a refund that fails pays back nothing", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: REFUND_FAILS });
  await advance("1s");
  const { id } = await shop.refund(customer, 1000);
  await advance("7d");
  assert.equal(await sent("refund.failed"), 1);
  assert.equal((await shop.call("GET", `/v1/refunds/${id}/`)).status, "failed");
});

test("who never pays is behind, is asked again and in the end out", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: TOO_LITTLE_MONEY });
  await advance("1s");
  assert.equal((await list("subscriptions", customer))[0].status, "past_due");
  assert.deepEqual(await emailed("awa@example.com"), ["renewal_failed"]);
  const { events } = await advance("30d");
  assert.ok(events["subscription.payment_failed"] > 1);
  assert.equal(events["payment_intent.failed"], events["subscription.payment_failed"]);
  assert.equal((await list("subscriptions", customer))[0].status, "unpaid");
});

test("who has too little money is overdue, and comes in again after paying", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: TOO_LITTLE_MONEY });
  await advance("1s");
  assert.equal(shop.members.get(customer.id), "overdue");
  await shop.call("PATCH", `/v1/customers/${customer.id}/`, { phone: PAYS });
  assert.equal((await shop.call("GET", `/v1/customers/${customer.id}/`)).phone, PAYS);
  await advance("1d");
  assert.equal(shop.members.get(customer.id), "active");
});

test("who cancels is out", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await advance("1s");
  const { data } = await shop.call("GET", `/v1/subscriptions/?customer=${customer.id}`);
  await shop.call("POST", `/v1/subscriptions/${data[0].id}/cancel/`, { cancel_at_period_end: false });
  await advance("1s");
  assert.equal(shop.members.has(customer.id), false);
  assert.equal((await list("subscriptions", customer))[0].status, "canceled");
});

test("a forged webhook changes nothing", async () => {
  await shop.call("POST", "/_emulator/faults", { then: { tamper: true }, match: { event: "transaction.succeeded" } });
  await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await advance("1s");
  assert.equal(shop.members.size, 0);
});

test("a webhook that comes twice counts once", async () => {
  await shop.call("POST", "/_emulator/faults", { then: { duplicate: 2 }, match: { event: "transaction.succeeded" } });
  await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await advance("1s");
  assert.equal(shop.counted.size, 1);
  assert.deepEqual([...shop.months.values()], [1]);
});

test("a request whose answer is lost is sent again, and done once", async () => {
  shop.pauses = [0.01];
  await shop.call("POST", "/_emulator/faults", { then: { drop: "after" }, match: { path: "/subscriptions/" } });
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  const { data } = await shop.call("GET", `/v1/subscriptions/?customer=${customer.id}`);
  assert.equal(data.length, 1);
});

test("an error of the service reaches whoever signs up", async () => {
  await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await assert.rejects(shop.signUp({ email: "awa@example.com", phone: PAYS }), /: 409 (customer_email_exists|DUPLICATE_EMAIL)/);
});
