#!/usr/bin/env python3
"""Measures how agents recover from failures behind each gateway: `python benches/recovery/run.py --help`.
Prints a table, and the problems behind panpan; exits 1 if panpan misses its goals.
Set-up: benches/recovery/install
"""

import argparse
import asyncio
import dataclasses
import json
import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # creates no folders among the sources
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = ROOT / "target" / "recovery" / "python" / "bin" / "python"

try:
    import mcp  # noqa: F401
except ImportError:
    if not PYTHON.exists() or Path(sys.prefix) == PYTHON.parents[1]:
        sys.exit("the MCP SDK is not installed\n\nhint: run benches/recovery/install python")
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

import report
from agents import AGENTS, Ending
from contract import document
from gateways import STARTERS, gateway, is_installed
from judging import Score, Verdict, judge
from scenarios import BadScenario, load
from service import Service


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    several = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--gateways", type=several, help="default: all that are installed")
    parser.add_argument("--agents", type=several, default=list(AGENTS))
    parser.add_argument("--scenario", action="append", default=[], help="run only this scenario; repeatable")
    parser.add_argument("--mode", choices=["continuous", "fresh", "both"], default="continuous",
                        help="one gateway for all scenarios, a new one for each, or both in turn")  # fmt: skip
    parser.add_argument("--panpan", type=Path, default=ROOT / "target" / "release" / "panpan")
    parser.add_argument("--plant-wrong-boolean", action="store_true",
                        help="flip what panpan says about retrying, which has to be detected")  # fmt: skip
    parser.add_argument("--json", type=Path, help="write every verdict to this file")
    parser.add_argument("--explain", action="store_true", help="print what each agent reads and decides")
    options = parser.parse_args(arguments)
    options.panpan = options.panpan.resolve()
    if options.gateways is None:
        options.gateways = [name for name in STARTERS if is_installed(name, options)]
    for name in options.gateways:
        if name not in STARTERS:
            parser.error(f"unknown gateway {name}; known gateways: {', '.join(STARTERS)}")
        if not is_installed(name, options):
            parser.error(f"{name} is not installed; run benches/recovery/install, or build panpan")
    if unknown := set(options.agents) - set(AGENTS):
        parser.error(f"unknown agent {', '.join(unknown)}; known agents: {', '.join(AGENTS)}")
    return options


async def work_through(name, agent, scenarios, mode, options):
    """Runs one lane: an agent with its own gateway and its own service."""
    async with Service(scenarios) as service:
        described = document(scenarios, service.base)
        if mode == "fresh":
            verdicts = []
            for scenario in scenarios:
                async with gateway(name, described, service.base, options) as started:
                    verdicts.append(await one(scenario, started, agent, service, name, options))
            return Score(verdicts)
        async with gateway(name, described, service.base, options) as started:
            return Score(
                [await one(scenario, started, agent, service, name, options) for scenario in scenarios]
            )


async def one(scenario, started, agent, service, name, options):
    """Runs one task, from the calls before it to the verdict."""
    service.reset(scenario)
    lines, seen = [], []

    async def call(tool, arguments):
        begun = time.monotonic()
        result = await started.call(tool, arguments)
        seen.append(result)
        took = time.monotonic() - begun
        lines.append(f"calls {tool.name} {json.dumps(arguments)}, is_error={result.is_error} after {took:.2f} s")
        lines.extend(f"  | {line}" for line in result.text[:4000].splitlines())
        return result

    tool = tool_of(scenario.operation, started.tools)
    if scenario.broken:
        await call_broken(scenario, started)
    if tool is None:
        ending = Ending("permanent", f"there is no tool for {scenario.operation.id}")
    else:
        worker = AGENTS[agent](call, started.tools, lines.append)
        ending = await worker.work(tool, scenario.arguments, scenario.knows)
    verdict = judge(scenario, ending, service.record(scenario.endpoint), seen)
    if options.explain:
        explain(scenario, name, agent, lines, verdict)
    return verdict


async def call_broken(scenario, started):
    """Calls the neighbouring operation that always fails."""
    tool = tool_of(scenario.broken.operation, started.tools)
    if tool is None:
        return
    arguments = {name: "x" for name in scenario.broken.operation.parameters}
    for _ in range(scenario.broken_calls // 4):
        await asyncio.gather(*(started.call(tool, arguments) for _ in range(4)))


def tool_of(operation, tools):
    """The tool of a gateway for an operation: the shortest name that ends with that of the operation."""
    plain = lambda text: "".join(filter(str.isalnum, text)).lower()  # noqa: E731
    fitting = [tool for tool in tools if plain(tool.name).endswith(plain(operation.id))]
    return min(fitting, key=lambda tool: len(tool.name), default=None)


def explain(scenario, name, agent, lines, verdict: Verdict):
    print(f"=== {scenario.name}: {agent} behind {name}")
    print("\n".join(lines))
    outcome = "right" if verdict.is_right else f"WRONG: {verdict.reason}"
    print(f"--- {verdict.ending}, {outcome}; {verdict.calls} calls, {verdict.wasted} wasted\n", flush=True)


async def measure(scenarios, mode, options):
    """Runs every gateway with every agent, all lanes concurrently, the scenarios of a lane in turn."""
    lanes = [(name, agent) for name in options.gateways for agent in options.agents]
    works = [work_through(name, agent, scenarios, mode, options) for name, agent in lanes]
    return dict(zip(lanes, await asyncio.gather(*works)))


def main():
    options = options_of(sys.argv[1:])
    try:
        scenarios = load(options.scenario)
    except BadScenario as problem:
        sys.exit(str(problem))
    modes = ["continuous", "fresh"] if options.mode == "both" else [options.mode]
    missed, results = [], {}
    for mode in modes:
        begun = time.monotonic()
        scores = asyncio.run(measure(scenarios, mode, options))
        took = time.monotonic() - begun
        print(report.table(scores, mode, len(scenarios), took))
        print(report.panpan_details(scores))
        missed += report.goals_missed(scores, mode)
        results[mode] = {
            f"{name} {agent}": [dataclasses.asdict(verdict) for verdict in score.verdicts]
            for (name, agent), score in scores.items()
        }
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    for line in missed:
        print(f"MISSED {line}")
    if "panpan" in options.gateways and not missed:
        print("all goals are met")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
