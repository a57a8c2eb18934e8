/** For `globalSetup` of vitest and jest: starts one emulator for the whole run, and returns the function that stops it. */
declare function setup(): Promise<() => Promise<void> | void>;
export = setup;
