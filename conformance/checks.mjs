// Prints a line for each check, with the expected and the found value if they differ.

import { isDeepStrictEqual } from "node:util";

let wrong = 0;

/** Checks that two values are deeply equal. */
export function same(where, what, expected, found) {
  if (isDeepStrictEqual(expected, found)) {
    console.log(`ok     ${where}: ${what}`);
    return;
  }
  wrong += 1;
  const [shownExpected, shownFound] = [expected, found].map((value) => JSON.stringify(value));
  console.log(`WRONG  ${where}: ${what}\n  expected ${shownExpected}\n  found    ${shownFound}`);
}

/** The members of a value at these paths; undefined where there is none. */
export function members(value, paths) {
  const at = (path) => path.split(".").reduce((inner, name) => inner?.[name], value);
  return Object.fromEntries(paths.map((path) => [path, at(path)]));
}

/** Checks that a value has these members with these values. */
export function has(where, what, expected, found) {
  same(where, what, expected, members(found, Object.keys(expected)));
}

/** Runs checks against the URL on the command line; exits 0 if all pass, 1 if a check fails, 2 on an error. */
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
    console.error(`could not test ${url}: ${error.stack ?? error}`);
    process.exitCode = 2;
  }
}
