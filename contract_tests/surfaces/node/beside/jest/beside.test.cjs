const { withPayments } = require("payments-emulator");
const { limit, story } = require("../story.cjs");

afterEach(() => jest.useRealTimers());

const MINUTE = 60_000; // for a busy machine

test("beside jest.useFakeTimers", withPayments(async (payments) => {
  jest.useFakeTimers({ now: new Date("2099-01-31T00:00:00Z") });
  await story(payments);
  await limit(payments);
}), MINUTE);

test("has a world of its name", withPayments(async (payments) => {
  expect(payments.key).toMatch(/-has-a-world-of-its-name$/);
}), MINUTE);
