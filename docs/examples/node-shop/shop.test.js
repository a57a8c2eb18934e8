// The shop's test suite: customers sign up, time passes, and the book says who may come in.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { Shop } from "./shop.js";

const url = process.env.PAYMENTS_EMULATOR_URL ?? "http://127.0.0.1:4747";
const PAYS = "+24177000000";
const TOO_LITTLE_MONEY = "+24177000001";

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

test("who pays may come in", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  await advance("1s");
  assert.equal(shop.members.get(customer.id), "active");
});

test("who pays every month stays", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: PAYS });
  const told = await advance("P1Y");
  assert.equal(told.events["invoice.paid"], 12);
  assert.equal(shop.members.get(customer.id), "active");
});

test("who has too little money is overdue, and comes in again after paying", async () => {
  const customer = await shop.signUp({ email: "awa@example.com", phone: TOO_LITTLE_MONEY });
  await advance("1s");
  assert.equal(shop.members.get(customer.id), "overdue");
  await shop.call("PATCH", `/v1/customers/${customer.id}/`, { phone: PAYS });
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
  assert.equal(shop.handled.size, 1 + 1); // the ping and the transaction
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
  await assert.rejects(shop.signUp({ email: "awa@example.com", phone: PAYS }), /: 409 /);
});
