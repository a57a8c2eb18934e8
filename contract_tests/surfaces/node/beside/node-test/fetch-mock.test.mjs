import { test } from "node:test";
import fetchMock from "fetch-mock";
import { RATE, RATES, rates, story } from "../story.cjs";

fetchMock.mockGlobal().get(RATES, RATE);
const { withPayments } = await import("payments-emulator");

test("beside fetch-mock", withPayments(async (payments) => {
  await rates();
  await story(payments);
}));
