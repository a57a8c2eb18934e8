import { afterEach, expect, test, vi } from "vitest";
import { limit, RATE, rates, story } from "../story.cjs";

vi.useFakeTimers({ now: new Date("2001-01-31T00:00:00Z") });
// They are faked already when the module is loaded.
const { withPayments } = await import("payments-emulator");

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const MINUTE = 60_000; // for a busy machine

test("beside vi.useFakeTimers", withPayments(async (payments) => {
  await story(payments);
  vi.useFakeTimers({ now: new Date("2099-01-31T00:00:00Z") });
  await story(payments);
  await limit(payments);
}), MINUTE);

test("beside vi.stubGlobal", withPayments(async (payments) => {
  vi.stubGlobal("fetch", async () => Response.json(RATE));
  await rates();
  await story(payments);
}), MINUTE);

test("has a world of its name", withPayments(async (payments) => {
  expect(payments.key).toMatch(/-has-a-world-of-its-name$/);
}), MINUTE);
