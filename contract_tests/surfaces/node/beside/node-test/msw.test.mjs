import { test } from "node:test";
import { http, HttpResponse } from "msw";
import { setupServer } from "msw/node";
import { RATE, RATES, rates, story } from "../story.cjs";

const server = setupServer(http.get(RATES, () => HttpResponse.json(RATE)));
server.listen({ onUnhandledRequest: "error" });
// It is at work already when the module is loaded.
const { withPayments } = await import("payments-emulator");

test("beside msw", withPayments(async (payments) => {
  await rates();
  await story(payments);
  server.close();
  server.listen({ onUnhandledRequest: "error" });
  await rates();
  await story(payments);
  server.close();
}));
