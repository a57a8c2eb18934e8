// One emulator for the whole run; without it each test file starts one of its own.
module.exports = { globalSetup: "payments-emulator/global-setup" };
