// One emulator for the whole run; without it each test file starts one of its own. A busy machine is no failure: a minute
// instead of 5 seconds.
export default { test: { globalSetup: "payments-emulator/global-setup", testTimeout: 60_000 } };
