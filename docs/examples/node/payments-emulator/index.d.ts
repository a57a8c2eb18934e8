// The types of index.cjs; those of the objects of the service are in objects.d.ts.

import type {
  CheckoutSession, CheckoutSessionCreate, Clock as ClockState, ClockAdvance, Customer, CustomerCreate, Email, EmailKind, Event,
  EventSelector, EventType, Fault, Invoice, InvoiceCreate, Outcome, PaymentIntent, Ref, ScheduledJob, Settings, Subscription,
  SubscriptionCreate, SubscriptionPlan, SubscriptionPlanCreate, WebhookEndpointWithSecret,
} from "./objects";

export type * from "./objects";
export type Json = Record<string, any>;
/** `frozen` (now), `running`, or an instant to be frozen at. */
export type ClockStart = "frozen" | "running" | (string & {}) | Date;

export interface WorldOptions {
  /** Where the emulator is; else `PAYMENTS_EMULATOR_URL`, else one that this process starts. */
  url?: string;
  /** A secret key; each key has a world of its own. Default: a new one. */
  key?: string;
  clock?: ClockStart;
  /** The same seed gives the same ids. */
  seed?: number;
  /** Settings of the App, such as `{ tax_rate: 18 }`. */
  settings?: Json;
}

export interface Delivery {
  event: Event;
  /** By name in lower case. */
  headers: Record<string, string>;
  /** The raw body, of which the signature is. */
  body: Uint8Array;
  /** Whether the signature is right. */
  genuine: boolean;
  /** The number of the attempt, from 1. */
  attempt: number;
  /** What it was answered with. */
  status: number;
  /** Why it could not be forwarded, or what the application threw or said with 500. */
  error?: string;
}

export interface Api {
  get(path: string, query?: Json): Promise<any>;
  post(path: string, body?: Json, headers?: Record<string, string>): Promise<any>;
  patch(path: string, body: Json): Promise<any>;
  delete(path: string): Promise<any>;
  /** All objects of a list, oldest first. */
  oldest(path: string, query?: Json): Promise<any[]>;
}

export interface Clock {
  now(): Promise<string>;
  datetime(): Promise<Date>;
  show(): Promise<ClockState>;
  /** Move by a duration (`"31d"`, `"P1M"`), to an instant, until the `"next"` job or until an event. Returns when all that
   * fell due is done, webhooks included. */
  advance(by: string | { by?: string; to?: string | Date; until?: "next"; untilEvent?: EventType }): Promise<ClockAdvance>;
  freeze(at?: string | Date): Promise<ClockState>;
  run(rate?: number): Promise<ClockState>;
  /** The planned jobs in order; `until` (instant or duration) plays a copy of the world up to there. */
  schedule(until?: string): Promise<ScheduledJob[]>;
  nextJob(): Promise<ScheduledJob | null>;
  settle(): Promise<ClockAdvance>;
}

export interface Events {
  /** All events so far, oldest first. */
  all(): Promise<Event[]>;
  of(type?: EventType, object?: Ref): Promise<Event[]>;
  types(): Promise<EventType[]>;
  /** The newest event of a type so far, optionally about an object; it fails without one. */
  last(type: EventType, object?: Ref): Promise<Event>;
  /** `timeout` in seconds, at most 30. */
  waitFor(type: EventType, options?: { object?: Ref; timeout?: number }): Promise<Event>;
  summary(): Promise<string>;
}

export interface Emails {
  all(): Promise<Email[]>;
  to(address: string, kind?: EmailKind): Promise<Email[]>;
  of(kind: EmailKind): Promise<Email[]>;
  waitFor(options?: { kind?: EmailKind; to?: string; timeout?: number }): Promise<Email>;
  html(email: Ref): Promise<string>;
  raw(email: Ref): Promise<Uint8Array>;
}

export interface Ledger {
  show(query?: { object?: string; currency?: string }): Promise<Json>;
  totals(): Promise<Record<string, Record<string, number>>>;
  assertBalanced(): Promise<void>;
}

export interface Webhooks {
  /** Register the receiver, for some types of event or with other fields; earlier deliveries are forgotten. */
  listen(events?: EventSelector[], fields?: { security_profile?: "HMAC_SHA256" | "BASIC" | "JWT"; retry_policy?: Json }): Promise<Webhooks>;
  endpoint(): Promise<WebhookEndpointWithSecret>;
  secret(): Promise<string>;
  /** In order of arrival. */
  readonly deliveries: Delivery[];
  /** Delivered events, each once. */
  events(): Promise<Event[]>;
  waitFor(type: EventType, options?: { object?: Ref; timeout?: number }): Promise<Event>;
  assertDelivered(type: EventType, options?: { object?: Ref; times?: number }): Promise<Event[]>;
  refuteDelivered(type: EventType, options?: { object?: Ref }): Promise<void>;
  /** Answer the next deliveries with these statuses. */
  answer(...statuses: number[]): Webhooks;
  /** Forward deliveries to a URL, or to a request listener (an Express application, for example), which gets them at
   * `/webhooks` unless a path is given. */
  forwardTo(target: string | ((request: any, response: any) => unknown), path?: string): Promise<Webhooks>;
  /** Answer deliveries with 200 again. */
  stopForwarding(): void;
  summary(): Promise<string>;
  /** Stop receiving; `Emulator.close()` does it. */
  close(): Promise<void>;
}

export interface Payment {
  phone?: string;
  /** Its number, or its fields. */
  card?: string | Json;
  iban?: string;
  /** Of a PayPal account. */
  email?: string;
  /** False: return before webhooks have their outcome. */
  wait?: boolean;
  quantity?: number;
  /** In minor units. */
  amount?: number;
  customer?: Json;
  [field: string]: any;
}

export interface AppOptions {
  /** Only these cases: `"4:drop-after"`, or a pattern such as `"*:twice"`, `"4:*"` and `"lost"`. */
  only?: string[];
  /** Rules of the audit that count for nothing. */
  ignore?: string[];
  /** Seconds of real time after which no run starts; what remains then is a warning, or with `whole` an error. */
  budget?: number;
  whole?: boolean;
  /** Also try the cases at places that are like others. */
  every?: boolean;
  /** How far the clock is moved after the scenario; default `"2d"`. */
  afterwards?: string;
}

export interface AppFinding {
  title: string;
  details: string[];
  fix: string;
  /** What tries it again. */
  again: string;
}

export interface AppReport {
  passed: boolean;
  headline: string;
  /** What could not be compared: empty where the scenario returns a function. */
  unseen: string;
  /** What was found, one for each cause, the worst first. */
  findings: AppFinding[];
  /** How often the scenario was played. */
  runs: number;
  requests: number;
  deliveries: number;
  /** Cases that were not run, since the budget ended. */
  remaining: number;
  /** Cases whose fault never struck. */
  unreached: string[];
  /** The report for people. */
  text: string;
  [field: string]: any;
}

export class Emulator {
  private constructor();
  static open(options?: WorldOptions): Promise<Emulator>;
  /** The world of the environment as it is, such as under `payments-emulator test app -- node story.js`: it is neither reset now
   * nor discarded by `close()`. Default: `PAYMENTS_EMULATOR_URL` and `PAYMENTS_EMULATOR_KEY`. */
  static attach(world?: { url?: string; key?: string }): Emulator;
  readonly url: string;
  readonly key: string;
  readonly api: Api;
  readonly clock: Clock;
  readonly events: Events;
  readonly emails: Emails;
  readonly ledger: Ledger;
  readonly webhooks: Webhooks;
  /** Objects with defaults that work: fields that are given replace them, and an object may be given in place of its id. */
  customer(fields?: CustomerCreate): Promise<Customer>;
  plan(fields?: SubscriptionPlanCreate): Promise<SubscriptionPlan>;
  /** By default of a new customer to a new plan; its first period is paid. */
  subscription(fields?: SubscriptionCreate): Promise<Subscription>;
  /** By default a new customer pays; `{ mode: "subscription" }` is for a new plan. */
  session(fields?: CheckoutSessionCreate): Promise<CheckoutSession>;
  /** By default for a new customer; finalized, so that it can be paid. */
  invoice(fields?: InvoiceCreate, options?: { finalize?: boolean }): Promise<Invoice>;
  /** Pay a checkout session, a payment link or an invoice (object, id or the URL of its page) as a buyer does; without a method by one
   * that works. */
  pay(target: Ref, payment?: Payment): Promise<PaymentIntent>;
  /** Wait until everything caused so far has its outcome. */
  settle(): Promise<ClockAdvance>;
  failNext(
    operation?: "payment" | "refund" | "delivery",
    code?: string,
    match?: { times?: number; customer?: string; amount?: number; payment_method_type?: string },
  ): Promise<Outcome>;
  fault(
    then: Json,
    match?: { times?: number; probability?: number; starts_at?: string; ends_at?: string; wait?: boolean } & Json,
  ): Promise<Fault>;
  trigger(event: EventType, overrides?: Json, options?: { wait?: boolean }): Promise<Event>;
  configure(settings: Json): Promise<Settings>;
  /** Fails unless `act` causes exactly these types of event, in any order. */
  expect<T>(types: EventType | EventType[], act: () => T | Promise<T>): Promise<T>;
  snapshot(name?: string): Promise<{ name: string; restore(): Promise<unknown> }>;
  /** Repeat a scenario once for each request and webhook that can go wrong in it. `scenario` gets a new world each time, which starts
   * as this one did, and may return a function, which is called after faults have ended and `afterwards` has passed; what that
   * returns must be the same each time. An async generator that yields the function has it also called before and after each later
   * `clock.advance`. Fails with everything that was found. Needs the command `payments-emulator`. */
  testApp(scenario: (payments: Emulator) => unknown, options?: AppOptions): Promise<AppReport>;
  /** The world of another App on the same server; close it as well. */
  another(name: string, options?: WorldOptions): Promise<Emulator>;
  /** Have a recording of this world written if the test fails: `NAME.test.mjs` in the folder `payments-recordings`. */
  record(name: string): void;
  /** A recording of this world so far, in a form of `GET /_emulator/recording`. */
  recording(form?: string): Promise<string>;
  /** What happened in the world so far. */
  story(): Promise<string>;
  /** Discard the world, or `keep` it on its server as it is. */
  close(options?: { keep?: boolean }): Promise<void>;
}

export class RequestRefused extends Error {
  readonly status: number;
  readonly code?: string;
  readonly param?: string;
  readonly body: unknown;
}

type Test = (...given: any[]) => Promise<void>;

/** A test with a world of its own; if it fails, its error tells the story of the world. */
export function withPayments(act: (payments: Emulator, ...given: any[]) => unknown): Test;
export function withPayments(options: WorldOptions, act: (payments: Emulator, ...given: any[]) => unknown): Test;

/** Whether a webhook is signed by an endpoint (its secret will do for `HMAC_SHA256`); `body` is the raw body. */
export function verifyWebhook(
  body: Uint8Array | string,
  headers: Record<string, string | string[] | undefined>,
  endpoint: string | { id?: string; secret: string; security_profile?: string },
): boolean;

/** Start an emulator on a free port; it ends with this process, or with `stop()`. */
export function startServer(options?: string[]): Promise<{ url: string; stop(): Promise<void> }>;
