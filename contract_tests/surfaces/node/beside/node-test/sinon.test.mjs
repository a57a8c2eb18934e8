import assert from "node:assert/strict";
import { test } from "node:test";
import sinon from "sinon";
import { limit, story } from "../story.cjs";

// All but what Node's own server, which receives the webhooks, runs on.
const toNotFake = ["nextTick", "queueMicrotask"];
const clock = sinon.useFakeTimers({ now: new Date("2099-01-31T00:00:00Z"), toNotFake });
// They are faked already when the module is loaded.
const { withPayments } = await import("payments-emulator");

test("beside sinon", withPayments(async (payments) => {
  await story(payments);
  await limit(payments);
  clock.restore();
  assert.ok(Date.now() < Date.parse("2099-01-01"));
}));
