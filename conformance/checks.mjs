// A line for each check, and what was expected and found where it is wrong.

import { isDeepStrictEqual } from "node:util";

let wrong = 0;

/** Whether what was found is what was expected, in every member. */
export function same(where, what, expected, found) {
  if (isDeepStrictEqual(expected, found)) {
    console.log(`ok     ${where}: ${what}`);
    return;
  }
  wrong += 1;
  const [shownExpected, shownFound] = [expected, found].map((value) => JSON.stringify(value));
  console.log(`WRONG  ${where}: ${what}\n  expected ${shownExpected}\n  found    ${shownFound}`);
}

/** The given members of a value, by their paths; undefined where there is none. */
export function members(value, paths) {
  const at = (path) => path.split(".").reduce((inner, name) => inner?.[name], value);
  return Object.fromEntries(paths.map((path) => [path, at(path)]));
}

/** Whether a value has the given members, and they are what is expected. */
export function has(where, what, expected, found) {
  same(where, what, expected, members(found, Object.keys(expected)));
}

/** Runs checks against the URL on the command line; exits 0, 1 when something is wrong, 2 when it fails. */
export async function run(drive) {
  const url = process.argv[2];
  if (process.argv.length !== 3) {
    console.error(`usage: node ${process.argv[1]} URL`);
    process.exit(2);
  }
  try {
    await drive(url);
    process.exitCode = wrong > 0 ? 1 : 0;
  } catch (error) {
    console.error(`could not drive ${url}: ${error.stack ?? error}`);
    process.exitCode = 2;
  }
}
