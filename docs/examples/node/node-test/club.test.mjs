// The whole module under Node's own test runner: node --test

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Emulator, RequestRefused, verifyWebhook, withPayments } from "payments-emulator";

const AWA = { email: "awa@example.com", name: "Awa Diop", phone: "+24177000000" };

async function subscribe(payments, fields = {}) {
  const customer = await payments.api.post("/v1/customers/", { ...AWA, ...fields });
  const plan = { name: "Premium", amount: 5000, currency: "XAF", interval: "month" };
  const { id } = await payments.api.post("/v1/subscription-plans/", plan);
  return payments.api.post("/v1/subscriptions/", { customer: customer.id, plan: id });
}

async function draft(payments) {
  const { id } = await payments.api.post("/v1/customers/", AWA);
  const line = { description: "Basket", quantity: 1, unit_amount: 5000 };
  const invoice = await payments.api.post("/v1/invoices/", { customer: id, line_items: [line] });
  return payments.api.post(`/v1/invoices/${invoice.id}/finalize/`);
}

test("a month later the subscription has been renewed", withPayments(async (payments) => {
  await subscribe(payments);
  const { events } = await payments.clock.advance("31d");
  assert.equal(events["invoice.paid"], 1);
  assert.equal((await payments.events.of("invoice.paid")).length, 2);
  await payments.ledger.assertBalanced();
}));

test("the clock is the test's", withPayments({ clock: "2026-01-01T00:00:00Z" }, async (payments) => {
  assert.equal(await payments.clock.now(), "2026-01-01T00:00:00.000Z");
  await payments.clock.advance({ to: new Date("2026-03-01") });
  assert.equal(await payments.clock.now(), "2026-03-01T00:00:00.000Z");
  await subscribe(payments);
  await payments.clock.advance({ untilEvent: "invoice.paid" });
  assert.equal(await payments.clock.now(), "2026-04-01T00:00:00.000Z");
  assert.ok((await payments.clock.nextJob()).due_at > "2026-04-01");
}));

test("a buyer pays, or fails to", withPayments(async (payments) => {
  assert.equal((await payments.pay(await draft(payments))).status, "succeeded");
  await payments.failNext("payment", "INSUFFICIENT_FUNDS");
  const second = await payments.api.get("/v1/customers/");
  assert.equal(second.data.length, 1);
  const { payment_url: page } = await payments.invoice();
  assert.equal((await payments.pay(page)).last_error.code, "INSUFFICIENT_FUNDS");
  assert.equal((await payments.pay(page)).status, "succeeded");
  await assert.rejects(() => payments.pay("cust_1"), /is not payable/);
  await assert.rejects(() => payments.pay("inv_1", { phone: "+1", iban: "x" }), /one of phone, iban/);
}));

test("objects have defaults that work, and stand for their ids", withPayments(async (payments) => {
  const [first, second] = [await payments.customer(), await payments.customer({ name: "Ben Obi" })];
  assert.deepEqual([first.email, second.email], ["customer-1@example.com", "customer-2@example.com"]);
  assert.equal((await payments.subscription({ customer: first, plan: await payments.plan() })).status, "active");
  assert.equal((await payments.subscription({ unit_amount: 700, interval: "week" })).plan, null);
  for (const mode of ["payment", "subscription"]) {
    assert.equal((await payments.pay(await payments.session({ mode }))).status, "succeeded");
  }
  assert.equal((await payments.session({ mode: "setup", customer: second })).customer, second.id);
  assert.equal((await payments.invoice({}, { finalize: false })).status, "draft");
}));

test("webhooks arrive, signed, and are answered", withPayments(async (payments) => {
  await payments.webhooks.listen(["customer.created"]);
  payments.webhooks.answer(500);
  const customer = await payments.api.post("/v1/customers/", AWA);
  await payments.settle();
  assert.deepEqual(payments.webhooks.deliveries.map((each) => each.status), [500]);
  await payments.clock.advance("1d");
  const [first, second] = payments.webhooks.deliveries;
  assert.deepEqual([first.attempt, second.attempt, second.status], [1, 2, 200]);
  assert.ok(verifyWebhook(second.body, second.headers, await payments.webhooks.secret()));
  assert.ok(!verifyWebhook(second.body, second.headers, "whsec_another"));
  const [event] = await payments.webhooks.assertDelivered("customer.created", { object: customer, times: 1 });
  assert.equal(event.data.object.email, AWA.email);
  assert.equal((await payments.webhooks.waitFor("customer.created")).id, event.id);
  await payments.webhooks.refuteDelivered("invoice.paid");
  await assert.rejects(() => payments.webhooks.assertDelivered("invoice.paid"), /Webhooks received:/);
}));

for (const security_profile of ["HMAC_SHA256", "BASIC", "JWT"]) {
  test(`webhooks signed by ${security_profile} are genuine`, withPayments(async (payments) => {
    await payments.webhooks.listen(["*"], { security_profile });
    await payments.api.post("/v1/customers/", AWA);
    await payments.settle();
    const [{ genuine, headers, body }] = payments.webhooks.deliveries;
    const endpoint = await payments.webhooks.endpoint();
    assert.ok(genuine);
    assert.ok(!verifyWebhook(body, headers, { ...endpoint, secret: "whsec_another" }));
    assert.equal(verifyWebhook(`${body} `, headers, endpoint), security_profile === "BASIC");
  }));
}

test("a tampered webhook is answered 401 and counts as not delivered", withPayments(async (payments) => {
  await payments.webhooks.listen();
  await payments.fault({ tamper: true }, { event: "customer.created" });
  await payments.api.post("/v1/customers/", AWA);
  await payments.settle();
  assert.deepEqual(payments.webhooks.deliveries.map((each) => [each.genuine, each.status]), [[false, 401]]);
  await payments.webhooks.refuteDelivered("customer.created");
}));

test("webhooks are forwarded to a request listener, whose status is the answer", withPayments(async (payments) => {
  const paths = [];
  await payments.webhooks.forwardTo((request, response) => {
    paths.push(request.url);
    response.writeHead(418).end();
  }, "/hooks");
  await payments.api.post("/v1/customers/", AWA);
  await payments.settle();
  assert.deepEqual(paths, ["/hooks"]);
  assert.deepEqual(payments.webhooks.deliveries.map((each) => each.status), [418]);
  payments.webhooks.stopForwarding();
  await payments.trigger("customer.created");
  assert.equal(payments.webhooks.deliveries.at(-1).status, 200);
}));

test("what the application throws, or says with 500, is the error of its delivery", withPayments(async (payments) => {
  await payments.webhooks.listen(["invoice.paid"]);
  const broken = new Error("no such order");
  const listeners = [
    () => {
      throw broken;
    },
    async () => {
      throw broken;
    },
    (request, response) => response.writeHead(503).end("the database is down"),
  ];
  for (const listener of listeners) {
    await payments.webhooks.forwardTo(listener);
    await payments.trigger("invoice.paid");
  }
  assert.deepEqual(payments.webhooks.deliveries.map((each) => [each.status, each.error]), [
    [500, "no such order"],
    [500, "no such order"],
    [503, "the database is down"],
  ]);
}));

test("an application that is not there is said in the story", withPayments(async (payments) => {
  const closed = createServer();
  await new Promise((ready) => closed.listen(0, "127.0.0.1", ready));
  const { port } = closed.address();
  await new Promise((ready) => closed.close(ready));
  await payments.webhooks.forwardTo(`http://127.0.0.1:${port}`);
  await payments.api.post("/v1/customers/", AWA);
  await payments.settle();
  assert.match(await payments.story(), /customer.created .* -> 500 \(connect ECONNREFUSED/);
}));

test("a URL is forwarded to as it stands", withPayments(async (payments) => {
  const paths = [];
  const server = createServer((request, response) => response.end(String(paths.push(request.url))));
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  await payments.webhooks.forwardTo(`http://127.0.0.1:${server.address().port}/hooks/payments?shop=1`);
  await payments.api.post("/v1/customers/", AWA);
  await payments.settle();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  assert.deepEqual(paths, ["/hooks/payments?shop=1"]);
}));

test("expect says what is missing and what is too much", withPayments(async (payments) => {
  await payments.expect("customer.created", () => payments.api.post("/v1/customers/", AWA));
  await assert.rejects(
    () => payments.expect(["invoice.paid", "customer.created"], () => payments.trigger("customer.deleted")),
    (error) => {
      assert.match(error.message, /^did not happen: invoice.paid\nhappened, but was not expected: customer.deleted\nEvents inside:/);
      return true;
    },
  );
}));

test("settings, snapshots, emails and waiting", withPayments({ settings: { tax_rate: 10 } }, async (payments) => {
  assert.equal((await payments.configure({ tax_rate: 18 })).tax_rate, 18);
  const saved = await payments.snapshot();
  await subscribe(payments);
  assert.match(await payments.emails.html(await payments.emails.waitFor({ to: AWA.email })), /Premium/);
  assert.match((await payments.emails.raw((await payments.emails.all())[0])).toString(), /^Subject: /m);
  assert.equal((await payments.events.waitFor("subscription.created")).type, "subscription.created");
  await saved.restore();
  assert.deepEqual(await payments.events.types(), []);
  await assert.rejects(() => payments.events.waitFor("invoice.paid", { timeout: 1 }), /did not happen within 1 s/);
}));

test("an error answer is an exception that names the fields", withPayments(async (payments) => {
  await assert.rejects(
    () => payments.api.post("/v1/customers/", { email: "x" }),
    (error) => error instanceof RequestRefused && error.status === 422 && /\n {2}name: .*\n {2}email: /.test(error.message),
  );
}));

test("a test that fails tells the story of its world", async () => {
  const failing = withPayments({ clock: "2026-01-01T00:00:00Z" }, async (payments) => {
    await subscribe(payments);
    await payments.pay(await payments.session(), { phone: "+24177000001" });
    await assert.rejects(() => payments.api.get("/v1/customers/cust_1/"));
    assert.equal(1, 2, "one is not two");
  });
  await assert.rejects(failing, (error) => {
    assert.match(error.message, /^one is not two\n[^]*\nworld sk_test_\S+ at http/);
    assert.match(error.message, /POST \/v1\/subscriptions\/ -> 201\n.* └ /);
    assert.match(error.message, /\/pay -> 200 declined, INSUFFICIENT_FUNDS: /);
    assert.match(error.message, /GET \/v1\/customers\/cust_1\/ -> 404 \S+: /);
    assert.match(error.stack, /clock: 2026-01-01T00:00:00.000Z, frozen/);
    return true;
  });
});

test("worlds are apart, and a closed one is empty", async () => {
  const one = await Emulator.open();
  const other = await one.another("branch");
  await one.api.post("/v1/customers/", AWA);
  assert.equal((await other.api.get("/v1/customers/")).data.length, 0);
  await one.close();
  assert.equal((await one.api.get("/v1/customers/")).data.length, 0);
  await other.close();
});

test("a world is attached to as it is, and left as it is", withPayments(async (payments) => {
  await payments.customer();
  const attached = Emulator.attach({ url: payments.url, key: payments.key });
  assert.equal((await attached.events.last("customer.created")).data.object.email, "customer-1@example.com");
  assert.deepEqual(await attached.clock.datetime(), await payments.clock.datetime());
  await assert.rejects(() => attached.events.last("refund.failed"), /^Error: refund.failed did not happen.\nEvents so far:/);
  await attached.close();
  assert.deepEqual(await payments.events.types(), ["customer.created"]);
  assert.throws(() => Emulator.attach({ url: "" }), /PAYMENTS_EMULATOR_URL/);
}));

test("where no emulator is, the error says so", async () => {
  await assert.rejects(() => Emulator.open({ url: "http://127.0.0.1:9" }), /no emulator answers at http:\/\/127.0.0.1:9/);
});

const LIVE = "sk_prod_0123456789abcdef";

test("a live key in the environment is named before the test begins", async () => {
  process.env.SHOP_KEY = LIVE;
  try {
    await assert.rejects(Emulator.open(), /SHOP_KEY holds a live key/);
  } finally {
    delete process.env.SHOP_KEY;
  }
});
