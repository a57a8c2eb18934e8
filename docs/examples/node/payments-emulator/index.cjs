// A world of the payments emulator for each test: node:test, vitest and jest. No dependencies; Node 20 or newer.
// The words are those of the pytest plugin, in camelCase. index.d.ts has the types.
"use strict";

const { spawn } = require("node:child_process");
const { createHash, createHmac, randomUUID, timingSafeEqual } = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");
const { command } = require("./command.cjs");
const { realTime, send, wait } = require("./thread.cjs");

const RACING = { Prefer: "respond-async" };
const PAYABLE = { sess: "checkout-sessions", link: "payment-links", inv: "invoices" };
const REFERENCES = ["customer", "plan", "product", "payment_method"]; // fields with the id of another object
const WORK = { description: "Work", quantity: 2, unit_amount: 1500 }; // what an invoice bills, or a session sells
const CARD = { exp_month: 12, exp_year: 2099, cvc: "123" };
const START_LIMIT = 60_000; // milliseconds for the emulator to start
const LATEST = 40; // requests, and events, in a report
const ERROR_LENGTH = 500; // characters that an error shows of an answer
const STANDING = 6; // objects whose standing a report describes
const ASKED = 12; // objects whose standing is asked for, to find those with something under way
const STANDING_KINDS = ["subscription", "invoice", "refund", "checkout_session", "payment_intent", "transaction"];
const PAID = ["paid", "succeeded", "complete", "completed"]; // statuses that a report leaves out beside others
const EXPLAINED = 5; // failed requests, and payments, the last ones, that are shown with their errors

// -- requests

/** An error answer; `status`, `code`, `param` and `body` are those of the answer. */
class RequestRefused extends Error {
  constructor(method, target, status, body) {
    const error = body?.error ?? body ?? {};
    const details = Object.entries(error.errors ?? {}).map(([field, texts]) => `\n  ${field}: ${[texts].flat().join("; ")}`);
    super(`${method} ${target} -> ${status} ${error.code ?? ""}: ${error.message ?? JSON.stringify(body)}${details.join("")}`);
    this.name = "RequestRefused";
    Object.assign(this, { status, code: error.code, param: error.param, body });
  }
}

class Api {
  constructor(url, key) {
    Object.assign(this, { url, key });
  }

  get(target, query = {}) {
    const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(known.map(([name, value]) => [name, String(value)])).toString();
    return this.call("GET", search ? `${target}?${search}` : target);
  }

  post(target, body = {}, headers = {}) {
    return this.call("POST", target, body, headers);
  }

  patch(target, body) {
    return this.call("PATCH", target, body);
  }

  delete(target) {
    return this.call("DELETE", target);
  }

  async call(method, target, body, headers = {}) {
    const text = await this.text(method, target, body, headers);
    return text ? JSON.parse(text) : null;
  }

  async text(...request) {
    return (await this.bytes(...request)).toString();
  }

  async bytes(method, target, content, headers = {}) {
    const { status, body } = await send(new URL(target, this.url), {
      method,
      headers: { ...this.headers(), ...headers },
      body: content === undefined ? undefined : JSON.stringify(content),
    });
    if (status < 300) return body;
    const text = body.toString();
    throw new RequestRefused(method, target, status, parsed(text) ?? text);
  }

  headers() {
    const token = process.env.PAYMENTS_EMULATOR_CONTROL_TOKEN;
    const guard = token ? { "Emulator-Token": token } : {};
    const agent = { "User-Agent": "payments-emulator" }; // which waits as long as an advance takes
    return { Authorization: `Bearer ${this.key}`, "Content-Type": "application/json", ...agent, ...guard };
  }

  async *newest(target, query = {}) {
    for (let page = await this.get(target, { page_size: 100, ...query }); ; page = await this.get(page.pagination.next)) {
      yield* page.data;
      if (!page.pagination.next) return;
    }
  }

  async oldest(target, query = {}) {
    const found = [];
    for await (const item of this.newest(target, query)) found.unshift(item);
    return found;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const identity = (object) => (object && typeof object === "object" ? object.id : object);

// -- the server

const INSTALL =
  "Install the emulator with pip, name its command in PAYMENTS_EMULATOR_COMMAND, or name a running one in PAYMENTS_EMULATOR_URL.";

/** The program and its first arguments; where there is none, its name alone, which does not start and says so. */
const emulatorCommand = () => command() ?? ["payments-emulator"];

let ownServer; // a promise: one server for this process

/** Start an emulator on a free port; it ends with this process, or with `stop()`. */
async function startServer(options = []) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "payments-emulator-"));
  const portFile = path.join(folder, "port");
  const log = path.join(folder, "log");
  const output = fs.openSync(log, "w");
  const [program, ...first] = emulatorCommand();
  const serve = [...first, "serve", "--port", "0", "--port-file", portFile, "--clock", "frozen", "--exit-with-stdin"];
  // However this process ends, even killed, the system closes its end of the pipe, and the emulator ends.
  const child = spawn(program, [...serve, ...options], { stdio: ["pipe", output, output], windowsHide: true });
  fs.closeSync(output);
  let failure;
  child.on("error", (error) => (failure = error.message));
  child.on("exit", (status) => (failure ??= `exit status ${status}`));
  child.unref();
  child.stdin.on("error", () => {}); // how the process failed is reported by its own events
  child.stdin.unref?.(); // which Bun lacks and does not need
  const tidy = () => fs.rmSync(folder, { recursive: true, force: true });
  const end = () => {
    child.kill();
    if (process.platform !== "win32") tidy(); // Windows removes no file that is open, as the log still is
  };
  process.on("exit", end);
  const stop = async () => {
    process.off("exit", end);
    if (failure === undefined) {
      await new Promise((ended) => {
        child.once("exit", ended);
        child.kill();
      });
    }
    tidy();
  };
  const deadline = realTime() + START_LIMIT;
  while (!fs.existsSync(portFile)) {
    if (failure !== undefined || realTime() > deadline) {
      const said = fs.readFileSync(log, "utf8").trim();
      await stop();
      throw new Error(
        `${program} did not start: ${failure ?? "it took too long"}. ${said}\n${INSTALL}`,
      );
    }
    await wait(10).over;
  }
  return { url: `http://127.0.0.1:${fs.readFileSync(portFile, "utf8").trim()}`, stop };
}

const LIVE_KEY = /[sp]k_prod_\w/;

// -- signatures

/** Whether a webhook is signed by an endpoint: `endpoint` is its secret, or an object with `id`, `secret` and
 * `security_profile`; `body` is the raw body, as it was received. */
function verifyWebhook(body, headers, endpoint) {
  const { id, secret, security_profile: profile = "HMAC_SHA256" } =
    typeof endpoint === "string" ? { secret: endpoint } : endpoint;
  const named = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (profile === "HMAC_SHA256") {
    return same(named.get("service-signature"), createHmac("sha256", secret).update(body).digest("hex"));
  }
  const [scheme, token = ""] = (named.get("authorization") ?? "").split(" ");
  if (profile === "BASIC") {
    return scheme === "Basic" && same(token, Buffer.from(`${id}:${secret}`).toString("base64"));
  }
  return scheme === "Bearer" && verifyToken(token, secret, body);
}

function verifyToken(token, secret, body) {
  const [head = "", claims = "", signature = ""] = token.split(".");
  const decoded = (part) => parsed(Buffer.from(part, "base64url").toString()) ?? {};
  const { exp, body_sha256: digest } = decoded(claims);
  return (
    decoded(head).alg === "HS256" &&
    same(signature, createHmac("sha256", secret).update(`${head}.${claims}`).digest("base64url")) &&
    exp > realTime() / 1000 &&
    digest === createHash("sha256").update(body).digest("hex")
  );
}

function same(given, wanted) {
  const [left, right] = [Buffer.from(String(given ?? "")), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}

// -- the parts of a world

class Clock {
  #api;
  around; // makes each move of the clock that it is given: testApp looks at the state before and after it

  constructor(api) {
    this.#api = api;
  }

  async now() {
    return (await this.show()).now;
  }

  async datetime() {
    return new Date(await this.now());
  }

  show() {
    return this.#api.get("/_emulator/clock");
  }

  async advance(by) {
    const { untilEvent, ...rest } = typeof by === "string" ? { by } : by;
    const body = Object.entries({ ...rest, until_event: untilEvent }).filter(([, value]) => value !== undefined);
    const move = () =>
      this.#api.post(
        "/_emulator/clock/advance",
        Object.fromEntries(body.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value])),
      );
    // A look settles what is due, which an advance until an event may wait for.
    const done = await (this.around && !untilEvent ? this.around(move) : move());
    if (done.failures.length) {
      throw new Error(`jobs of the emulator failed before ${done.now}: ${JSON.stringify(done.failures)}`);
    }
    return done;
  }

  freeze(at) {
    return this.#api.post("/_emulator/clock/freeze", at ? { at } : {});
  }

  run(rate = 1) {
    return this.#api.post("/_emulator/clock/run", { rate });
  }

  async schedule(until) {
    const jobs = [];
    for await (const job of this.#api.newest("/_emulator/schedule", { until })) jobs.push(job);
    return jobs;
  }

  async nextJob() {
    return (await this.#api.get("/_emulator/schedule", { page_size: 1 })).data[0] ?? null;
  }

  settle() {
    return this.advance("0s");
  }
}

class Events {
  #api;
  #clock;

  constructor(api, clock) {
    this.#api = api;
    this.#clock = clock;
  }

  of(type, object) {
    return this.#api.oldest("/_emulator/events", { type, object: identity(object) });
  }

  all() {
    return this.of();
  }

  async types() {
    return (await this.all()).map((event) => event.type);
  }

  /** The newest event of a type so far, optionally about an object. */
  last(type, object) {
    return this.waitFor(type, { object, timeout: 0 });
  }

  async waitFor(type, { object, timeout = 10 } = {}) {
    const query = { type, object: identity(object), wait: timeout, page_size: 1 };
    const [event] = (await this.#api.get("/_emulator/events", query)).data;
    const within = timeout ? ` within ${timeout} s` : "";
    if (!event) throw new Error(`${type} did not happen${within}.\n${await this.summary()}`);
    return event;
  }

  async expect(types, act) {
    const before = (await this.#api.get("/_emulator/events", { page_size: 1 })).data[0]?.id;
    const result = await act();
    await this.#clock.settle();
    const happened = [];
    for await (const event of this.#api.newest("/_emulator/events")) {
      if (event.id === before) break;
      happened.unshift(event);
    }
    const found = happened.map((event) => event.type);
    const [missing, extra] = [without(types, found), without(found, types)];
    if (missing.length || extra.length) {
      throw new Error(
        [
          missing.length && `did not happen: ${missing.join(", ")}`,
          extra.length && `happened, but was not expected: ${extra.join(", ")}`,
          eventsReport(happened, "inside"),
          await nextJobReport(this.#clock),
        ]
          .filter(Boolean)
          .join("\n"),
      );
    }
    return result;
  }

  async summary() {
    return `${eventsReport(await this.all())}\n${await nextJobReport(this.#clock)}`;
  }
}

/** The items of a list that are left when each of `others` takes one away. */
function without(list, others) {
  const rest = [...list];
  for (const each of others) {
    const index = rest.indexOf(each);
    if (index >= 0) rest.splice(index, 1);
  }
  return rest;
}

class Emails {
  #api;

  constructor(api) {
    this.#api = api;
  }

  all() {
    return this.#api.oldest("/_emulator/emails");
  }

  to(address, kind) {
    return this.#api.oldest("/_emulator/emails", { to: address, kind });
  }

  of(kind) {
    return this.#api.oldest("/_emulator/emails", { kind });
  }

  async waitFor({ kind, to, timeout = 10 } = {}) {
    const [email] = (await this.#api.get("/_emulator/emails", { kind, to, wait: timeout, page_size: 1 })).data;
    if (!email) throw new Error(`no ${kind ?? "email"} to ${to ?? "anyone"} was sent within ${timeout} s.`);
    return email;
  }

  async html(email) {
    return this.#api.text("GET", `/_emulator/emails/${identity(email)}/html`);
  }

  async raw(email) {
    return this.#api.bytes("GET", `/_emulator/emails/${identity(email)}/raw`);
  }
}

class Ledger {
  #api;

  constructor(api) {
    this.#api = api;
  }

  show(query = {}) {
    return this.#api.get("/_emulator/ledger", query);
  }

  async totals() {
    return (await this.show()).totals;
  }

  async assertBalanced() {
    const shown = await this.show();
    if (!shown.balanced) throw new Error(`the ledger does not add up: ${shown.broken_by.map((each) => each.summary).join("; ")}`);
  }
}

class Webhooks {
  #thrown = new Map(); // what a request listener threw, by delivery
  #api;
  #clock;
  #events;
  #server;
  #endpoint;
  #known; // resolves once the secret is known
  #tell;
  #reply = async () => ({ status: 200 });
  #forwards = false;
  #statuses = [];
  #deliveries = [];
  #seen = new Set();
  #waiting = new Set();

  constructor(api, clock, events) {
    this.#api = api;
    this.#clock = clock;
    this.#events = events;
  }

  async listen(events = ["*"], fields = {}) {
    if (this.#endpoint) await this.#api.delete(`/v1/webhooks/${this.#endpoint.id}/`);
    this.#deliveries = [];
    this.#known = new Promise((tell) => (this.#tell = tell));
    const url = await this.#open();
    this.#endpoint = await this.#api.post("/v1/webhooks/", { name: "Test suite", url, events, ...fields });
    this.#tell();
    return this;
  }

  async endpoint() {
    if (!this.#endpoint) await this.listen();
    return this.#endpoint;
  }

  async secret() {
    return (await this.endpoint()).secret;
  }

  get deliveries() {
    return [...this.#deliveries];
  }

  async events() {
    await this.#settle();
    return this.#genuine();
  }

  async waitFor(type, { object, timeout = 10 } = {}) {
    await this.endpoint();
    const deadline = realTime() + timeout * 1000;
    for (;;) {
      const found = this.#matching(type, object).find((event) => !this.#seen.has(event.id));
      if (found) {
        this.#seen.add(found.id);
        return found;
      }
      const left = deadline - realTime();
      if (left <= 0) throw new Error(`no webhook ${type} arrived within ${timeout} s.\n${await this.summary()}`);
      await this.#change(left);
    }
  }

  async assertDelivered(type, { object, times } = {}) {
    await this.#settle();
    const found = this.#matching(type, object);
    if (times === undefined ? !found.length : found.length !== times) {
      const wanted = times === undefined ? "was not delivered" : `was delivered ${found.length} times, not ${times}`;
      throw new Error(`${type} ${wanted}.\n${await this.summary()}`);
    }
    return found;
  }

  async refuteDelivered(type, { object } = {}) {
    await this.#settle();
    const found = this.#matching(type, object);
    if (found.length) throw new Error(`${type} was delivered, ${found.length} times.\n${await this.summary()}`);
  }

  answer(...statuses) {
    this.#statuses.push(...statuses);
    return this;
  }

  async forwardTo(target, at) {
    const listens = typeof target === "function" || typeof target?.handle === "function";
    const url = listens ? new URL(at ?? "/webhooks", await this.#serve(target)) : new URL(at ?? "", target);
    this.#reply = (delivery) => this.#forward(url, delivery);
    this.#forwards = true;
    await this.endpoint();
    return this;
  }

  async #forward(url, { event, headers, body }) {
    const { host, connection, "content-length": length, ...rest } = headers;
    try {
      const response = await send(url, { method: "POST", headers: rest, body });
      const thrown = this.#thrown.get(headers["emulator-delivery"]);
      if (thrown) throw thrown.error;
      const { status } = response;
      return status < 500 ? { status } : { status, error: response.body.toString().slice(0, ERROR_LENGTH) };
    } catch (error) {
      return { status: 500, error: String(error?.message ?? error) };
    }
  }

  stopForwarding() {
    this.#forwards = false;
    this.#reply = async () => ({ status: 200 });
  }

  async summary() {
    const delivered = new Set(this.#genuine().map((event) => event.id));
    const missing = (await this.#events.all()).filter((event) => !delivered.has(event.id));
    const since = this.#endpoint ? `The endpoint has existed since ${this.#endpoint.created_at}.` : "";
    return [
      deliveriesReport(this.#deliveries),
      missing.length ? `${eventsReport(missing, "that were not delivered to this receiver")}\n${since}` : "",
      await nextJobReport(this.#clock),
    ]
      .filter(Boolean)
      .join("\n");
  }

  async close() {
    for (const server of [this.#server, ...this.#served].filter(Boolean)) {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
    this.#server = undefined;
    this.#served = [];
  }

  #served = [];

  async #serve(app) {
    const listener = typeof app === "function" ? app : app.handle.bind(app);
    const server = http.createServer(async (request, response) => {
      try {
        await listener(request, response);
      } catch (error) {
        // Otherwise it would end the process of the tests.
        if (!response.writableEnded) this.#thrown.set(request.headers["emulator-delivery"], { error });
        if (!response.headersSent) response.writeHead(500);
        response.end();
      }
    });
    this.#served.push(server);
    return listening(server);
  }

  async #open() {
    if (!this.#server) this.#server = http.createServer((request, response) => this.#receive(request, response));
    return this.#server.listening ? address(this.#server) : listening(this.#server);
  }

  async #receive(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const event = parsed(body.toString()) ?? {};
    let reply = { status: 200 };
    // The ping that validates a new endpoint comes before anyone can know the secret.
    if (event.type !== "webhook.ping") {
      await this.#known;
      const genuine = verifyWebhook(body, request.headers, this.#endpoint);
      const delivery = { event, headers: request.headers, body, genuine, attempt: Number(request.headers["emulator-attempt"] ?? 1) };
      // To reject a forged one is up to the application that it is forwarded to.
      const rejected = !genuine && !this.#forwards;
      reply = rejected ? { status: 401 } : this.#statuses.length ? { status: this.#statuses.shift() } : await this.#reply(delivery);
      this.#deliveries.push({ ...delivery, ...reply });
    }
    response.writeHead(reply.status).end();
    for (const resume of this.#waiting) resume();
  }

  async #change(milliseconds) {
    const limit = wait(milliseconds);
    this.#waiting.add(limit.stop);
    await limit.over;
    this.#waiting.delete(limit.stop);
  }

  async #settle() {
    await this.endpoint();
    await this.#clock.settle();
  }

  #genuine() {
    return [...new Map(this.#deliveries.filter((each) => each.genuine).map((each) => [each.event.id, each.event])).values()];
  }

  #matching(type, object) {
    const id = identity(object);
    return this.#genuine().filter((event) => event.type === type && (!id || event.data.object.id === id));
  }
}

async function listening(server) {
  await new Promise((ready, failed) => server.once("error", failed).listen(0, "127.0.0.1", ready));
  server.unref();
  return address(server);
}

const address = (server) => `http://127.0.0.1:${server.address().port}/`;

// -- reports

function eventsReport(events, where = "so far") {
  const lines = events.map((event) => `  ${event.created_at}    ${event.type}  ${event.data.object.id ?? ""}`);
  return lines.length ? [`Events ${where}:`, ...lines].join("\n") : `No event happened ${where}.`;
}

function deliveriesReport(deliveries) {
  const lines = deliveries.map(({ event, genuine, attempt, status, error }) => {
    const again = attempt > 1 ? `, attempt ${attempt}` : "";
    const forged = genuine ? "" : ", its signature is WRONG";
    return `  ${event.created_at ?? ""}  ${event.type ?? "no event"}  ${event.id ?? ""}${again}${forged} -> ${status}${error ? ` (${error})` : ""}`;
  });
  return lines.length ? ["Webhooks received:", ...lines].join("\n") : "No webhook was received.";
}

async function nextJobReport(clock) {
  const job = await clock.nextJob();
  return job ? `It is ${await clock.now()}; next job, at ${job.due_at}: ${job.kind} ${job.object ?? ""}.` : "No job is planned.";
}

async function worldReport(api, clock, deliveries) {
  const { now, mode } = await clock.show();
  const latest = async (target) => (await api.get(target, { page_size: LATEST })).data.reverse();
  const requests = await latest("/_emulator/requests");
  const events = await latest("/_emulator/events");
  const failed = requests.filter((each) => each.status >= 400).slice(-EXPLAINED);
  // That a buyer's payment is declined is no error of the request.
  failed.push(...requests.filter((each) => each.path.endsWith("/pay") && each.status < 400).slice(-EXPLAINED));
  const rows = [];
  const requestIds = new Set(requests.map((request) => request.id));
  const others = new Map(events.filter((event) => !requestIds.has(event.request)).map((event) => [event.id, event]));
  for (const request of requests) {
    const { response_body: answer, event_ids: caused = [] } =
      failed.includes(request) || request.events_count ? await api.get(`/_emulator/requests/${request.id}`) : {};
    const body = failed.includes(request) ? answer : undefined;
    const refused = body?.last_error ?? body?.error ?? body;
    const error = refused?.message ? `${body.last_error ? " declined," : ""} ${refused.code ?? ""}: ${refused.message}` : "";
    rows.push([request.created_at, `  ${request.created_at}  ${request.method} ${request.path} -> ${request.status}${error}`]);
    for (const event of events.filter((each) => each.request === request.id)) rows.push([request.created_at, eventLine(event, "└")]);
    // What a trigger or an advance caused comes after it, also where the clock stood still.
    for (const event of caused.map((id) => others.get(id)).filter(Boolean)) {
      others.delete(event.id);
      rows.push([event.created_at, eventLine(event, "·")]);
    }
  }
  for (const event of others.values()) rows.push([event.created_at, eventLine(event, "·")]);
  rows.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0));
  const timeline = rows.length
    ? ["Requests with the events they caused (└), and events of jobs, buyers and triggers (·):", ...rows.map((row) => row[1])]
    : ["No requests and no events."];
  const parts = [`clock: ${now}, ${mode}`, await nextJobReport(clock), ...(await objectsReport(api, events)), ...timeline];
  return [...parts, ...(deliveries.length ? [deliveriesReport(deliveries)] : [])].join("\n");
}

/**
 * How the objects of the last events stand, the last one first: the unsettled ones, else all. One with a payment or a
 * refund under way is unsettled, whatever its status.
 */
async function objectsReport(api, events) {
  const about = events.map((event) => event.data.object).filter((each) => STANDING_KINDS.includes(each.object));
  const statuses = new Map(about.map((each) => [each.id, each.status]));
  const ids = [...new Set(about.map((each) => each.id).reverse())].slice(0, ASKED);
  // The event may have been triggered about an object that is gone.
  const asked = await Promise.all(ids.map((id) => api.get(`/_emulator/explain/${id}`).catch(() => undefined)));
  const explained = asked.filter((each) => each?.summary);
  const unsettled = explained.filter((each) => each.under_way.length || !PAID.includes(statuses.get(each.id)));
  const lines = (unsettled.length ? unsettled : explained)
    .slice(0, STANDING)
    .map(({ id, name, summary }) => `  ${name ? `${name} ` : ""}(${id}): ${summary}`);
  return lines.length ? ["How the objects of the last events stand:", ...lines] : [];
}

const eventLine = (event, mark) => `  ${event.created_at}  ${mark} ${event.type}  ${event.data.object.id ?? ""}`;

// -- tests of the application

/** The report of a scenario that is played by this process and tried by the command; `payments` is the world it starts as. */
async function testScenario(
  payments,
  scenario,
  { only = [], ignore = [], budget, whole = false, every = false, afterwards = "2d" } = {},
) {
  const [program, ...first] = emulatorCommand();
  const options = [
    ...only.flatMap((name) => ["--only", name]),
    ...ignore.flatMap((rule) => ["--ignore", rule]),
    ...(budget === undefined ? [] : ["--budget", String(budget)]),
    ...(every ? ["--all"] : []),
    ...["--then", afterwards],
  ];
  const child = spawn(program, [...first, "test", "scenario", ...options], { stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  child.stdin.on("error", () => {}); // the command has ended, and says why on its standard error
  const ended = new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (status) => resolve(`exit status ${status}`));
  });
  const answer = player(payments, scenario);
  let found;
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const message = JSON.parse(line);
    if (message.report) found = message;
    else child.stdin.write(`${JSON.stringify(await answer(message.ask))}\n`);
  }
  const status = await ended;
  if (!found) throw new Error(`${program} did not try the scenario: ${status}. ${said.trim()}`);
  const { passed, remaining } = found.report;
  if (!passed || (whole && remaining)) throw new Error(found.text);
  if (remaining) process.emitWarning(found.text.trim().split("\n").at(-1), "UnfinishedTestApp");
  return { ...found.report, text: found.text };
}

const LONGEST_ERROR = 500; // characters of it that a report shows

/** Plays the rest of a scenario, and what its check returns before and after each move of the clock, and at its end. */
async function watched(world, check, played) {
  const looks = [];
  let steps = 0;
  const look = async (isRest) => {
    if (!isRest) await world.api.post("/_emulator/clock/advance", { by: "0s" });
    const at = (await world.api.get("/_emulator/clock")).now;
    const value = await Promise.resolve()
      .then(check)
      .catch((error) => `${error?.name ?? "Error"}: ${error?.message ?? error}`);
    looks.push({ steps, is_rest: isRest, at, value: value ?? null });
  };
  world.clock.around = async (move) => {
    await look(false);
    const done = await move();
    steps += 1;
    await look(true);
    return done;
  };
  for await (const _ of played);
  world.clock.around = undefined;
  await look(false);
  return looks;
}

/** Answers what the command asks: a new world, the scenario played in it, what it returned called, the world closed. */
function player(payments, scenario) {
  let world;
  let check;
  const steps = {
    open: async () => {
      world = await payments.another("scenario", payments.start);
      return { url: world.url, key: world.key };
    },
    scenario: async () => {
      check = undefined;
      const played = scenario(world);
      if (!played?.[Symbol.asyncIterator]) {
        check = await played;
        return {};
      }
      check = (await played.next()).value;
      const looks = typeof check === "function" ? await watched(world, check, played) : [];
      return { looks };
    },
    check: async () => ({ value: typeof check === "function" ? ((await check()) ?? null) : null }),
    close: async () => {
      await world.close();
      return {};
    },
  };
  return async (step) => {
    try {
      return await steps[step]();
    } catch (error) {
      return { failure: `${error?.name ?? "Error"}: ${String(error?.message ?? error).replace(/\s+/g, " ").trim().slice(0, LONGEST_ERROR)}` };
    }
  };
}

// -- a world

function payMethod({ phone, card, iban, email }) {
  const given = Object.entries({
    phone: phone && { type: "mobile_money", phone },
    card: card && { type: "bank_card", ...CARD, ...(typeof card === "object" ? card : { number: card }) },
    iban: iban && { type: "bank_transfer", iban },
    email: email && { type: "paypal", email },
  }).filter(([, method]) => method);
  if (given.length > 1) throw new TypeError(`pay by one of ${given.map(([name]) => name).join(", ")}, not by all of them`);
  return given.length ? { method: given[0][1] } : {};
}

/** One world of the service: its clock, events, emails and webhooks, and failures on demand. */
class Emulator {
  #snapshots = 0;
  #isOwn = true; // whether it began the world, which close() discards then

  /** Open a world. It is at `url`, else at `PAYMENTS_EMULATOR_URL`, else on a server that this process starts. */
  static async open({ url = process.env.PAYMENTS_EMULATOR_URL, key, clock = "frozen", seed, settings = {} } = {}) {
    const live = Object.keys(process.env).find((name) => LIVE_KEY.test(process.env[name]));
    if (live) throw new Error(`The environment variable ${live} holds a live key: run tests without it.`);
    const at = url ?? (await (ownServer ??= startServer())).url;
    const emulator = new Emulator(at.replace(/\/$/, ""), key ?? `sk_test_${randomUUID()}`);
    emulator.start = { clock, seed, settings };
    await emulator.#reset({ clock: clockStart(clock), fixtures: { settings }, ...(seed === undefined ? {} : { seed }) });
    return emulator;
  }

  /** The world of the environment as it is: it is neither reset now nor discarded by `close()`. */
  static attach({ url = process.env.PAYMENTS_EMULATOR_URL, key = process.env.PAYMENTS_EMULATOR_KEY ?? "sk_test_demo" } = {}) {
    if (!url) throw new Error("attach() takes the world of a running emulator: name it in PAYMENTS_EMULATOR_URL, or as url");
    const emulator = new Emulator(url.replace(/\/$/, ""), key);
    emulator.start = {};
    emulator.#isOwn = false;
    return emulator;
  }

  constructor(url, key) {
    this.url = url;
    this.key = key;
    this.api = new Api(url, key);
    this.clock = new Clock(this.api);
    this.events = new Events(this.api, this.clock);
    this.emails = new Emails(this.api);
    this.ledger = new Ledger(this.api);
    this.webhooks = new Webhooks(this.api, this.clock, this.events);
  }

  // Fields that are given replace the defaults; an object may be given in place of its id.

  async customer(fields = {}) {
    const number = (await this.events.of("customer.created")).length + 1;
    return this.#make("customers", fields, { email: `customer-${number}@example.com`, name: "Awa Diop", phone: "+24177000000" });
  }

  plan(fields = {}) {
    return this.#make("subscription-plans", fields, { name: "Premium", amount: 5000, currency: "XAF", interval: "month" });
  }

  subscription(fields = {}) {
    const terms = "unit_amount" in fields ? {} : { plan: () => this.plan() };
    return this.#make("subscriptions", fields, { customer: () => this.customer(), ...terms });
  }

  session(fields = {}) {
    const lines = { subscription: async () => [{ plan: (await this.plan()).id }], setup: [] }[fields.mode] ?? [WORK];
    const buyer = "customer_email" in fields ? {} : { customer: () => this.customer() };
    const defaults = { currency: "XAF", success_url: "https://shop.example.com/thanks", line_items: lines, ...buyer };
    return this.#make("checkout-sessions", fields, defaults);
  }

  async invoice(fields = {}, { finalize = true } = {}) {
    const defaults = { customer: () => this.customer(), currency: "XAF", line_items: [WORK] };
    const made = await this.#make("invoices", fields, defaults);
    return finalize ? this.api.post(`/v1/invoices/${made.id}/finalize/`) : made;
  }

  /** Create an object; a default that is a function is called only where its field was not given. */
  async #make(kind, fields, defaults) {
    const body = { ...defaults, ...fields };
    for (const [name, value] of Object.entries(body)) if (typeof value === "function") body[name] = await value();
    for (const name of REFERENCES) if (name in body) body[name] = identity(body[name]);
    return this.api.post(`/v1/${kind}/`, body);
  }

  async pay(target, { phone, card, iban, email, wait = true, ...fields } = {}) {
    const id = String(identity(target)).replace(/[?#].*/, "").replace(/.*\//, ""); // of a URL too
    const kind = PAYABLE[id.split("_")[0]];
    if (!kind) {
      throw new TypeError(
        `${id} is not payable. Give the id, or the URL of the page, of a checkout session (sess_…), a payment link (link_…) or an invoice (inv_…)`,
      );
    }
    const body = { ...payMethod({ phone, card, iban, email }), ...fields };
    return this.api.post(`/_emulator/${kind}/${id}/pay`, body, wait ? {} : RACING);
  }

  settle() {
    return this.clock.settle();
  }

  failNext(operation = "payment", code, { times = 1, ...match } = {}) {
    return this.api.post("/_emulator/outcomes", { operation, result: "failed", times, match, ...(code ? { code } : {}) });
  }

  fault(then, { times, probability, starts_at, ends_at, wait = true, ...match } = {}) {
    // Fields without a value are not sent.
    return this.api.post("/_emulator/faults", { then, times, probability, starts_at, ends_at, match }, wait ? {} : RACING);
  }

  trigger(event, overrides = {}, { wait = true } = {}) {
    return this.api.post("/_emulator/trigger", { event, overrides }, wait ? {} : RACING);
  }

  async configure(settings) {
    return (await this.api.patch("/_emulator/app", { settings })).settings;
  }

  expect(types, act) {
    return this.events.expect([types].flat(), act);
  }

  async snapshot(name = `snapshot-${++this.#snapshots}`) {
    const made = await this.api.post("/_emulator/snapshots", { name });
    return { name: made.name, restore: () => this.api.post(`/_emulator/snapshots/${made.name}/restore`) };
  }

  another(name, options = {}) {
    return Emulator.open({ ...options, url: this.url, key: `${this.key.slice(0, 40)}-${name}` });
  }

  /** Repeat a scenario once for each request and webhook that can go wrong in it, and compare how it ends. */
  testApp(scenario, options) {
    return testScenario(this, scenario, options);
  }

  /** Have a recording of this world written if the test fails: NAME.test.mjs in the folder payments-recordings. */
  record(name) {
    if (!/^\w[\w.-]{0,100}$/.test(name)) throw new TypeError(`${name}: letters, digits, ".", "_" and "-"`);
    this.recordedAs = name;
  }

  async recording(form = "node") {
    return new Api(this.url, this.key).text("GET", `/_emulator/recording?as=${form}`);
  }

  async story() {
    const api = new Api(this.url, this.key);
    return `world ${this.key} at ${this.url}\n${await worldReport(api, new Clock(api), this.webhooks.deliveries)}`;
  }

  /** Discard the world, or `keep` it on its server as it is. */
  async close({ keep = false } = {}) {
    await this.webhooks.close();
    if (!keep && this.#isOwn) await this.#reset({});
  }

  async #reset(body) {
    try {
      // Not this.api: an error of the application is no error of the end of its test.
      await new Api(this.url, this.key).post("/_emulator/reset", body);
    } catch (error) {
      if (error instanceof RequestRefused) throw error;
      throw new Error(`no emulator answers at ${this.url}: ${error.message}`, { cause: error });
    }
  }
}

function clockStart(clock) {
  const start = clock instanceof Date ? clock.toISOString() : clock;
  return ["running", "frozen"].includes(start) || start.startsWith("frozen@") ? start : `frozen@${start}`;
}

/** A test with a world of its own: `test("…", withPayments(async (payments) => { … }))`. If it fails, the error tells
 * the story of the world. */
function withPayments(options, act) {
  const [chosen, body] = typeof options === "function" ? [{}, options] : [options, act];
  // Without a declared parameter: jest takes one for a callback.
  return async (...given) => {
    const payments = await Emulator.open({ key: keyOf(given[0]), ...chosen });
    let keep = false;
    try {
      await body(payments, ...given);
    } catch (error) {
      keep = true;
      throw await told(error, payments);
    } finally {
      await payments.close({ keep });
    }
  };
}

/** A new key that has the name of the test: by the context of node:test or vitest, or by what jest knows. */
function keyOf(context) {
  // The context of vitest is a function, so it has a name, which is not that of the test.
  const name = context?.task?.name ?? context?.name ?? globalThis.expect?.getState?.().currentTestName ?? "";
  const words = String(name).replace(/[^A-Za-z0-9]+/g, "-").slice(0, 50).replace(/^-|-$/g, "");
  return `sk_test_${randomUUID().slice(-12)}${words && `-${words}`}`;
}

/** Write the recording of a world, and say where it is. */
async function recorded(payments) {
  const file = path.resolve("payments-recordings", `${payments.recordedAs}.test.mjs`);
  const text = await payments.recording();
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  return `recording: ${file}\nrun it again: node --test ${file}`;
}

async function told(error, payments) {
  let story = await payments.story().catch((problem) => `(no report of the world: ${problem.message})`);
  if (payments.recordedAs) {
    story += `\n${await recorded(payments).catch((problem) => `(no recording: ${problem.message})`)}`;
  }
  if (!(error instanceof Error) && typeof error?.message !== "string") return error;
  const before = error.message;
  error.message = `${before}\n\n${story}`;
  if (typeof error.stack === "string") error.stack = error.stack.replace(before, () => error.message);
  return error;
}

module.exports = { Emulator, RequestRefused, startServer, verifyWebhook, withPayments };
