// Compares the results of the official suite with the expected result of each scenario.
//
// Usage: node judge.mjs EXPECTED_FILE REVISION RESULTS_FOLDER
//
// Exits 0 if all results are as expected, 1 if one is not, 2 if they cannot be compared.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

// The suite names each result folder after the scenario and the time.
const FOLDER = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;
const BAD = new Set(["FAILURE", "WARNING"]);

/** The failed checks of each scenario; a scenario without results counts as failed. */
function found(folder) {
  const scenarios = new Map();
  for (const name of readdirSync(folder)) {
    const scenario = FOLDER.exec(name)?.[1];
    if (scenario === undefined) continue;
    scenarios.set(scenario, failedChecks(join(folder, name, "checks.json"), scenario));
  }
  return scenarios;
}

function failedChecks(file, scenario) {
  let checks;
  try {
    checks = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return new Map([[scenario, "no results"]]);
  }
  const failed = checks.filter((check) => BAD.has(check.status));
  return new Map(failed.map((check) => [check.id, check.errorMessage ?? check.description]));
}

/** The differences between the result of one scenario and its expectation. */
function* problems(scenario, failed, expected) {
  if (expected === undefined) {
    yield `${scenario}: not listed; add its expected result`;
  } else if (expected === "fails") {
    if (failed.size === 0) yield `${scenario}: passes now; move it to passed`;
  } else {
    for (const [check, message] of failed) {
      if (!expected.has(check)) yield `${scenario}: ${check}: ${message}`;
    }
    for (const check of expected) {
      if (!failed.has(check)) yield `${scenario}: ${check} passes now; remove it from the list`;
    }
  }
}

/** The expectation for each scenario: "fails", or the set of checks that fail, which may be empty. */
function expectations(list) {
  const expected = new Map();
  const add = (scenario, what) => {
    if (expected.has(scenario)) throw new Error(`${scenario} is listed more than once`);
    expected.set(scenario, what);
  };
  for (const scenario of list.passed) add(scenario, new Set());
  for (const { scenarios } of list.says_nothing) {
    for (const scenario of scenarios) add(scenario, new Set());
  }
  for (const { scenarios = [], checks = {} } of list.not_passed) {
    for (const scenario of scenarios) add(scenario, "fails");
    for (const [scenario, names] of Object.entries(checks)) add(scenario, new Set(names));
  }
  return expected;
}

function judge(file, revision, folder) {
  const list = parse(readFileSync(file, "utf8"))[revision];
  if (list === undefined) throw new Error(`${file} has no entry for ${revision}`);
  const expected = expectations(list);
  const results = found(folder);
  const wrong = [];
  for (const [scenario, failed] of results) {
    wrong.push(...problems(scenario, failed, expected.get(scenario)));
  }
  for (const scenario of expected.keys()) {
    if (!results.has(scenario)) wrong.push(`${scenario}: listed but not run`);
  }
  for (const problem of wrong) console.log(`  WRONG: ${problem}`);
  const passed = list.passed.filter((scenario) => results.get(scenario)?.size === 0).length;
  const others = results.size - passed;
  console.log(`MCP ${revision}: ${passed} of ${results.size} scenarios pass, ${others} do not apply or pass in part`);
  return wrong.length === 0 ? 0 : 1;
}

if (process.argv.length !== 5) {
  console.error("usage: node judge.mjs EXPECTED_FILE REVISION RESULTS_FOLDER");
  process.exit(2);
}
try {
  process.exitCode = judge(...process.argv.slice(2));
} catch (error) {
  console.error(`cannot compare: ${error.message}`);
  process.exitCode = 2;
}
