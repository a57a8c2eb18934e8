// A bakery delivers bread boxes to its members every month: `node bakery.mjs PORT` serves it.
// BUG=NAME[,NAME] in the environment switches planted bugs on; corpus.yaml lists them.

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

export const BUGS = new Set((process.env.BUG ?? "").split(","));
const PRICE = 9000;
const TIME_LIMIT = 5000;
const PAUSES = [1000, 2000, 4000];

// -- the book, which is replaced as a whole

let book;

const file = () => `${process.env.PAYMENTS_EMULATOR_FOLDER ?? "."}/bakery.json`;

export function open() {
  const empty = { members: {}, handled: [], receipts: {}, refunds: {} };
  book = existsSync(file()) ? JSON.parse(readFileSync(file(), "utf8")) : empty;
}

function save() {
  writeFileSync(`${file()}.new`, JSON.stringify(book));
  renameSync(`${file()}.new`, file());
}

function memberOf(customer) {
  return Object.values(book.members).find((member) => member.customer === customer);
}

// -- the client of the payments service

class ServiceError extends Error {
  constructor(title, status) {
    super(`${title}: ${status}`);
    this.status = status;
  }
}

async function send(method, path, body, key) {
  const response = await fetch(process.env.PAYMENTS_EMULATOR_URL + path, {
    method,
    headers: {
      authorization: `Bearer ${process.env.PAYMENTS_EMULATOR_KEY}`,
      "content-type": "application/json",
      ...(key && { "idempotency-key": key }),
    },
    body: body && JSON.stringify(body),
    signal: BUGS.has("no_timeout") ? undefined : AbortSignal.timeout(TIME_LIMIT),
  });
  const text = await response.text();
  const retryAfter = Number(response.headers.get("retry-after") ?? 0) * 1000;
  return { status: response.status, retryAfter, body: text && JSON.parse(text) };
}

// The response to a request, which is sent again while nobody knows whether it was done.
export async function call(method, path, body, key) {
  for (const pause of [...PAUSES, null]) {
    const sentKey = BUGS.has("key_per_attempt") && key ? randomUUID() : key;
    let status = 0;
    let retryAfter = 0;
    try {
      const response = await send(method, path, body, sentKey);
      ({ status, retryAfter } = response);
      if (status < 300) return response.body;
      if (status >= 500 && BUGS.has("takes_error_bodies")) return response.body;
    } catch (error) {
      if (pause === null) throw error;
    }
    const isFinal = status >= 400 && status < 500 && status !== 429;
    if ((isFinal && !BUGS.has("retries_everything")) || pause === null) {
      throw new ServiceError(`${method} ${path}`, status);
    }
    if (!BUGS.has("no_pause")) await sleep(retryAfter || pause);
  }
}

// The objects of all pages of a list.
async function every(path) {
  const all = [];
  for (let page = 1; ; page += 1) {
    const list = await call("GET", page === 1 ? path : `${path}&page=${page}`);
    all.push(...list.data);
    if (!list.pagination.next) return all;
  }
}

// -- members

async function customerOf(email, phone) {
  const person = { email, name: email.split("@")[0], phone };
  const key = BUGS.has("conflict_is_failure") ? null : `customer-${email}`;
  try {
    return await call("POST", "/v1/customers/", person, key);
  } catch (error) {
    if (error.status !== 409 || BUGS.has("conflict_is_failure")) throw error;
    const { data } = await call("GET", `/v1/customers/?search=${encodeURIComponent(email)}`);
    return data[0];
  }
}

// Sign a member up, who pays now and every month.
export async function join(email, phone) {
  const { id: customer } = await customerOf(email, phone);
  const member = { customer, status: "joining", boxes: 0, paid: [], refunded: 0 };
  if (!BUGS.has("remembers_after")) book.members[email] = member;
  const terms = { customer, unit_amount: PRICE, interval: "month" };
  const key = BUGS.has("no_key") ? null : `subscription-${customer}`;
  const subscription = await call("POST", "/v1/subscriptions/", terms, key);
  book.members[email] = Object.assign(member, { subscription: subscription.id });
  save();
}

// A month for nothing: the page on which the member says with what to pay afterwards.
export async function tryOut(email, home) {
  const { id } = await call("POST", "/v1/checkout-sessions/", {
    mode: "subscription",
    currency: "XAF",
    customer_email: email,
    success_url: `${home}/thanks?session={CHECKOUT_SESSION_ID}`,
    line_items: [{ description: "Bread boxes", unit_amount: PRICE }],
    subscription_data: { interval: "month", trial_period_days: 14 },
  }, `trial-${email}`);
  book.members[email] = { session: id, status: "invited", boxes: 0, paid: [], refunded: 0 };
  save();
  return id;
}

// The page to which a buyer comes back, which proves nothing.
async function thank(session) {
  const member = Object.values(book.members).find((one) => one.session === session);
  if (!member) return;
  if (BUGS.has("trust_redirect")) start(member, member.customer);
  await lookUpSession(member);
}

async function lookUpSession(member) {
  const session = await call("GET", `/v1/checkout-sessions/${member.session}/`);
  if (session.status === "complete") start(member, session.customer);
}

function start(member, customer) {
  member.customer ??= customer;
  if (member.status !== "invited") return;
  member.status = "trialing";
  member.boxes += 1;
  save();
}

// Members mistype their numbers; the service says so, and then it is no use to try again.
export async function changePhone(email, phone) {
  try {
    await call("PATCH", `/v1/customers/${book.members[email].customer}/`, { phone });
    return true;
  } catch (error) {
    if (error.status !== 422) throw error;
    return false;
  }
}

// A member who complains gets half of the last box's price back, once.
export async function complain(email) {
  const member = book.members[email];
  const { data } = await call("GET", `/v1/transactions/?customer=${member.customer}&type=deposit`);
  const order = { transaction: data[0].id, amount: PRICE / 2 };
  const key = BUGS.has("refund_key_random") ? randomUUID() : `refund-${data[0].id}`;
  const sent = BUGS.has("refund_without_key") ? null : key;
  const refund = await call("POST", "/v1/refunds/", order, sent);
  book.refunds[refund.id] = { email, counted: BUGS.has("refund_at_request") };
  if (BUGS.has("refund_at_request")) member.refunded += refund.amount;
  save();
}

function countRefund(id, amount) {
  const refund = book.refunds[id];
  if (!refund || (refund.counted && !BUGS.has("refund_adds"))) return;
  refund.counted = true;
  book.members[refund.email].refunded += amount;
}

// Every night: ask for everything that no webhook has said.
export async function night() {
  if (BUGS.has("no_reconcile")) return;
  for (const member of Object.values(book.members)) {
    if (member.status === "invited") await lookUpSession(member);
    if (!member.customer) continue;
    const { data } = await call("GET", `/v1/subscriptions/?customer=${member.customer}`);
    member.subscription ??= data[0]?.id;
    if (data[0] && !BUGS.has("status_by_event")) member.status = data[0].status;
    const paid = await every(`/v1/invoices/?customer=${member.customer}&status=paid`);
    for (const invoice of paid) deliver(member, invoice, false);
  }
  for (const [id, refund] of Object.entries(book.refunds)) {
    const state = refund.counted ? null : await call("GET", `/v1/refunds/${id}/`);
    if (state?.status === "succeeded") countRefund(id, state.amount);
  }
  save();
}

// -- webhooks

function deliver(member, invoice, repeats) {
  if (!invoice.amount_paid) return;
  if (member.paid.includes(invoice.id) && !repeats) return;
  if (!member.paid.includes(invoice.id)) member.paid.push(invoice.id);
  member.boxes += 1;
}

async function handle(event) {
  const thing = event.data.object;
  if (BUGS.has("dedupe_by_event")) {
    if (book.handled.includes(event.id)) return;
    book.handled.push(event.id);
  }
  if (event.type === "refund.succeeded") countRefund(thing.id, thing.amount);
  if (event.type === "checkout.session.completed") {
    const member = Object.values(book.members).find((one) => one.session === thing.id);
    if (member) start(member, thing.customer);
  }
  const member = memberOf(thing.customer);
  if (!member) return;
  if (event.type === "invoice.paid") {
    deliver(member, thing, BUGS.has("no_dedupe") || BUGS.has("dedupe_by_event"));
    const sent = BUGS.has("receipt_each_time") ? book.receipts[thing.id] ?? 0 : 0;
    book.receipts[thing.id] = sent + 1;
  }
  if (event.type === "invoice.paid" || event.type.startsWith("subscription.")) {
    await follow(member, thing.subscription ?? thing.id, event);
  }
}

// A member is what the service says now, not what an event said when it was sent.
async function follow(member, subscription, event) {
  if (BUGS.has("event_payload") || BUGS.has("status_by_event")) {
    const statuses = {
      "invoice.paid": "active",
      "subscription.payment_failed": "past_due",
      "subscription.canceled": "canceled",
    };
    member.status = statuses[event.type] ?? member.status;
  } else {
    member.status = (await call("GET", `/v1/subscriptions/${subscription}/`)).status;
  }
}

function isGenuine(signature, body) {
  const signed = BUGS.has("parsed_body") ? JSON.stringify(JSON.parse(body)) : body;
  const expected = createHmac("sha256", endpoint.secret).update(signed).digest("hex");
  if (BUGS.has("no_signature")) return true;
  if (!signature) return BUGS.has("missing_header_ok");
  if (BUGS.has("shortened_signature")) {
    for (let i = 0; i < signature.length; i += 1) if (signature[i] !== expected[i]) return false;
    return true;
  }
  if (BUGS.has("lengthened_signature")) return signature.startsWith(expected);
  if (signature.length !== expected.length) return false;
  return timingSafeEqual(Buffer.from(signature, "latin1"), Buffer.from(expected, "latin1"));
}

export const endpoint = { secret: process.env.WEBHOOK_SECRET ?? "" };

async function receive(request, response) {
  const url = new URL(request.url, "http://localhost");
  if (request.method === "GET") {
    await thank(url.searchParams.get("session"));
    return response.writeHead(200).end();
  }
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const event = JSON.parse(body);
  if (event.type === "webhook.ping") return response.writeHead(200).end();
  if (!isGenuine(request.headers["service-signature"], body)) return response.writeHead(401).end();
  await handle(event);
  save();
  return response.writeHead(200).end();
}

export function serve(port) {
  const server = createServer((request, response) =>
    receive(request, response).catch(() => response.writeHead(500).end()));
  return new Promise((done) => server.listen(port, "127.0.0.1", () => done(server)));
}

// Play the case of the environment, or one after another with the variables of each.
export async function eachCase(play) {
  const cases = process.env.PAYMENTS_EMULATOR_CASES ? createInterface(process.stdin) : ["{}"];
  for await (const variables of cases) {
    Object.assign(process.env, JSON.parse(variables));
    open();
    await play();
    console.log('{"done": true}');
  }
}

function report() {
  const rows = Object.entries(book.members).map(([email, { status, boxes, paid, refunded }]) => {
    const doubleReceipts = paid.filter((invoice) => book.receipts[invoice] > 1).length;
    return [email, { status, boxes, refunded, doubleReceipts }];
  });
  console.log(JSON.stringify(Object.fromEntries(rows)));
}

if (process.argv[2] === "report") {
  await eachCase(report);
} else if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  open();
  await serve(Number(process.argv[2]));
}
