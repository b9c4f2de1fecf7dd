// Compares what the official suite found with what is expected of each scenario.
//
// Usage: node judge.mjs EXPECTED_FILE REVISION RESULTS_FOLDER
//
// Exits 0 when everything is as expected, 1 when something is not, 2 when that cannot be told.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

// The suite names a folder after the scenario and the time.
const FOLDER = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;
const BAD = new Set(["FAILURE", "WARNING"]);

/** The checks that failed, by scenario; a scenario without results failed as a whole. */
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
    return new Map([[scenario, "it gave no results"]]);
  }
  const failed = checks.filter((check) => BAD.has(check.status));
  return new Map(failed.map((check) => [check.id, check.errorMessage ?? check.description]));
}

/** What is wrong with the outcome of one scenario. */
function* problems(scenario, failed, expected) {
  if (expected === undefined) {
    yield `${scenario}: it is not listed; say what is expected of it`;
  } else if (expected === "fails") {
    if (failed.size === 0) yield `${scenario}: it passes; move it to the passed ones`;
  } else {
    for (const [check, message] of failed) {
      if (!expected.has(check)) yield `${scenario}: ${check}: ${message}`;
    }
    for (const check of expected) {
      if (!failed.has(check)) yield `${scenario}: ${check} passes; take it off the list`;
    }
  }
}

/** What is expected, by scenario: "fails", or the checks that do, which may be none. */
function expectations(list) {
  const expected = new Map();
  const add = (scenario, what) => {
    if (expected.has(scenario)) throw new Error(`${scenario} is listed twice`);
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
  if (list === undefined) throw new Error(`${file} says nothing about ${revision}`);
  const expected = expectations(list);
  const results = found(folder);
  const wrong = [];
  for (const [scenario, failed] of results) {
    wrong.push(...problems(scenario, failed, expected.get(scenario)));
  }
  for (const scenario of expected.keys()) {
    if (!results.has(scenario)) wrong.push(`${scenario}: it is listed and was not run`);
  }
  for (const problem of wrong) console.log(`  WRONG: ${problem}`);
  const passed = list.passed.filter((scenario) => results.get(scenario)?.size === 0).length;
  const others = results.size - passed;
  console.log(`MCP ${revision}: ${passed} of ${results.size} scenarios pass, ${others} do not apply or not in full`);
  return wrong.length === 0 ? 0 : 1;
}

if (process.argv.length !== 5) {
  console.error("usage: node judge.mjs EXPECTED_FILE REVISION RESULTS_FOLDER");
  process.exit(2);
}
try {
  process.exitCode = judge(...process.argv.slice(2));
} catch (error) {
  console.error(`cannot judge: ${error.message}`);
  process.exitCode = 2;
}
