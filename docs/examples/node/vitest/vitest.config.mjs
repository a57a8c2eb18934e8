// One emulator for the whole run; without it each test file starts one of its own.
export default { test: { globalSetup: "payments-emulator/global-setup" } };
