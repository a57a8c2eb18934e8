// A scenario tried with every fault: what a lost answer or webhook does. node --test

import assert from "node:assert/strict";
import { test } from "node:test";
import { verifyWebhook, withPayments } from "payments-emulator";

const AWA = { email: "awa@example.com", name: "Awa Diop" };

// Asks for a payment of 5,000 XAF; when the connection breaks, a second time.
async function charge(payments, keys) {
  for (const key of keys) {
    try {
      const response = await fetch(`${payments.url}/v1/payment-intents/`, {
        method: "POST",
        headers: { authorization: `Bearer ${payments.key}`, "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify({ amount: 5000, currency: "XAF" }),
      });
      return await response.json();
    } catch {
      // Whether it was done is not known.
    }
  }
}

const LOST = ["1:drop-before", "1:drop-after", "1:timeout"];

test("a client that repeats its key ends the same", withPayments(async (payments) => {
  const report = await payments.testApp((world) => charge(world, ["order-1", "order-1"]), { only: LOST });
  assert.deepEqual([report.passed, report.runs, report.unreached], [true, 5, []]);
  assert.match(report.text, /^No problem in 3 cases\./);
}));

test("one that takes another key is found, with the case that repeats it", withPayments(async (payments) => {
  await assert.rejects(
    () => payments.testApp((world) => charge(world, ["order-1", "again"]), { only: LOST }),
    (error) =>
      /2 payment intents .* instead of 1/.test(error.message) &&
      /^A request is sent again with another Idempotency-Key \(1 problem in 3 cases\)\nOnly .*\n1\. A request is sent again with another Idempotency-Key/.test(error.message) &&
      error.message.includes('again: payments.testApp(scenario, { only: ["1:drop-after"] })'),
  );
}));

// Counts the customers it hears of; `handled` are the ids of events that it knows already.
async function listen(payments, handled) {
  const secret = await payments.webhooks.secret();
  const heard = { customers: 0 };
  await payments.webhooks.forwardTo(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    if (!verifyWebhook(body, request.headers, secret)) return response.writeHead(401).end();
    const { id } = JSON.parse(body);
    if (!handled?.has(id)) heard.customers += 1;
    handled?.add(id);
    response.writeHead(200).end();
  });
  return heard;
}

const WEBHOOKS = ["1:late", "1:twice", "1:forged", "1:answered-late"];

const scenario = (remembers) => async (payments) => {
  const heard = await listen(payments, remembers ? new Set() : undefined);
  await payments.api.post("/v1/customers/", AWA, { "Idempotency-Key": "awa" });
  return () => heard.customers;
};

test("a receiver that knows what it has handled ends the same", withPayments(async (payments) => {
  const report = await payments.testApp(scenario(true), { only: WEBHOOKS });
  assert.deepEqual([report.passed, report.runs], [true, 6]);
}));

test("one that forgets counts twice, and what its check returns says so", withPayments(async (payments) => {
  await assert.rejects(() => payments.testApp(scenario(false), { only: WEBHOOKS }), (error) => {
    assert.match(error.message, /delivered twice\n.*responded too late, so delivered again\n.*returns 2 instead of 1\n/);
    assert.doesNotMatch(error.message, /an hour late/);
    return true;
  });
}));

test("a count that a night puts right was wrong before", withPayments(async (payments) => {
  async function* day(payments) {
    const heard = await listen(payments);
    yield () => heard.customers;
    await payments.api.post("/v1/customers/", AWA, { "Idempotency-Key": "awa" });
    await payments.clock.advance("1d");
    heard.customers = 1;
    await payments.clock.advance("1d");
  }
  await assert.rejects(() => payments.testApp(day, { only: ["1:twice"] }), (error) => {
    assert.match(error.message, /wrong from the time before step 1 for up to 1 day: the check returns 2 instead of 1\n/);
    return true;
  });
}));

test("a scenario that fails by itself is not tried, and an unknown case is said", withPayments(async (payments) => {
  const failing = () => {
    throw new Error("sold out");
  };
  await assert.rejects(() => payments.testApp(failing), /fails without any fault.*Error: sold out/);
  await assert.rejects(() => payments.testApp(scenario(true), { only: ["99:lost"] }), /99:lost is not a case of this scenario/);
}));
