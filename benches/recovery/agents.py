"""Three agents. Of a call they see only whether it is an error and its first text block; of a tool, its
name, description and input schema. They share the abilities of any model and differ in what they
believe. Written from how clients and models behave, not from what any gateway prints.
"""

import asyncio
import re
import uuid
from dataclasses import dataclass

import fixing
from reading import CHECKING, NEEDS_A_PERSON, is_lie, read
from tools import (
    READING_VERBS,
    Tool,
    arranged,
    flat_properties,
    is_write,
    key_property,
    words_of,
)

CALLS_PER_TASK = 6
LOOKS_PER_TASK = 3
SECONDS_PER_TASK = 12
# statuses that HTTP defines as not worth repeating unchanged
FINAL = {400, 404, 405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 426, 428, 431, 451,
         501, 505, 506, 508, 510, *range(300, 400)} | NEEDS_A_PERSON  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What an agent sees of a call."""

    is_error: bool
    text: str


@dataclass(frozen=True)
class Ending:
    """How a task ended: success, permanent, person, later or uncertain."""

    kind: str
    evidence: str = ""
    wait: float | None = None


@dataclass(frozen=True)
class Repeat:
    wait: float


@dataclass(frozen=True)
class Look:
    tool: Tool


@dataclass
class Situation:
    """What an agent knows about its task besides the last text."""

    tool: Tool
    tools: list
    is_write: bool
    has_key: bool
    repeats: int = 0
    # whether it has checked since the last call, and found nothing
    found_nothing: bool = False
    has_new_key: bool = False


class Agent:
    """The abilities of every model; the three agents differ in `decide`."""

    name = ""
    backoffs = (0.5, 1.0, 2.0)

    def __init__(self, call, tools, explain=lambda line: None, speed=asyncio.sleep):
        self.call = call
        self.tools = tools
        self.explain = explain
        self.sleep = speed

    def is_failure(self, seen):
        return seen.is_error

    def decide(self, facts, situation):
        raise NotImplementedError

    async def work(self, tool, arguments, knows):
        """Works on one task until it has an ending."""
        key = str(uuid.uuid4())
        has_key = key_property(tool.schema) is not None
        situation = Situation(tool, self.tools, is_write(tool), has_key)
        waited, looks, facts = 0.0, 0, None
        for _ in range(CALLS_PER_TASK):
            seen = await self.call(tool, arranged(arguments, tool.schema, key))
            if not self.is_failure(seen):
                return Ending("success", seen.text)
            facts = read(seen.text, tool.description)
            corrected = self.correction(facts, arguments, tool, knows)
            if corrected:
                self.explain(f"corrects its arguments to {corrected}")
                arguments = corrected
                continue
            situation.found_nothing = False
            if self.may_renew(facts, situation):
                self.explain("takes a new key")
                key, situation.has_new_key = str(uuid.uuid4()), True
                continue
            move = self.decide(facts, situation)
            if isinstance(move, Look) and looks < LOOKS_PER_TASK:
                looks += 1
                found = await self.look(move.tool, arguments)
                if found is None:
                    return Ending("uncertain")
                if found:
                    return Ending("success", found)
                situation.found_nothing = True
                if facts.wants_new_key:
                    key = str(uuid.uuid4())
                move = self.decide(facts, situation)
            if isinstance(move, Look):
                return Ending("uncertain")
            if isinstance(move, Ending):
                self.explain(f"ends: {move.kind} {move.wait or ''}")
                return move
            if waited + move.wait > SECONDS_PER_TASK:
                return self.given_up(facts, situation, move.wait)
            self.explain(f"repeats in {move.wait:.2f} s")
            waited += move.wait
            situation.repeats += 1
            await self.sleep(move.wait)
        return self.given_up(facts, situation)

    def correction(self, facts, arguments, tool, knows):
        if facts.status in NEEDS_A_PERSON | {404, 429}:
            return None
        return fixing.correct(facts, arguments, flat_properties(tool.schema), knows)

    def may_renew(self, facts, situation):
        """Whether to take a new key: the text asks for one, this is the first time, and nothing can have happened."""
        is_asked = situation.has_key and facts.wants_new_key and not situation.has_new_key
        return is_asked and not is_open(facts, situation)

    async def look(self, tool, arguments):
        """The result of a check: its text if it shows the write, "" if not, None if unknown."""
        self.explain(f"looks with {tool.name}")
        seen = await self.call(tool, {})
        if seen.is_error:
            return None
        marks = [str(value) for value in arguments.values() if len(str(value)) > 4]
        return seen.text if any(mark in seen.text for mark in marks) else ""

    def given_up(self, facts, situation, wait=None):
        if is_open(facts, situation) and not situation.found_nothing:
            return Ending("uncertain")
        return Ending("later", wait=facts.delay if wait is None else wait)

    def repeat_or_give_up(self, facts, situation):
        """Repeats after the stated delay, or after a short delay that grows."""
        if situation.repeats >= len(self.backoffs):
            return self.given_up(facts, situation)
        if facts.delay is None:
            return Repeat(self.backoffs[situation.repeats])
        return Repeat(facts.delay + 0.05)


class Careful(Agent):
    """Reads everything, and checks before it repeats a write that may have happened."""

    name = "careful"

    def is_failure(self, seen):
        return seen.is_error or is_lie(seen.text)

    def decide(self, facts, situation):
        if situation.found_nothing:
            return self.repeat_or_give_up(facts, situation)
        denied = facts.refuses or any(value is False for _, value in facts.booleans)
        may_repeat = situation.has_key and not denied and situation.repeats < len(self.backoffs)
        if is_open(facts, situation) and not may_repeat:
            tool = tool_to_check(facts, situation) or likely_check(situation)
            return Look(tool) if tool else Ending("uncertain")
        if facts.delay is not None and not (denied and facts.delay < SECONDS_PER_TASK):
            return self.repeat_or_give_up(facts, situation)
        if denied or facts.status in FINAL:
            return ending_of(facts, situation)
        affirmed = any(value is True for _, value in facts.booleans)
        if facts.is_transient or affirmed or (facts.status is None and facts.invites):
            return self.repeat_or_give_up(facts, situation)
        return ending_of(facts, situation)


class Eager(Agent):
    """Repeats a call unless the text says otherwise."""

    name = "eager"
    backoffs = (0.3, 0.6, 1.2, 2.4)

    def decide(self, facts, situation):
        values = [value for _, value in facts.booleans]
        if True in values and not facts.refuses:
            return self.repeat_or_give_up(facts, situation)
        if not situation.found_nothing and situation.is_write:
            tool = tool_to_check(facts, situation)
            if tool:
                return Look(tool)
        says_otherwise = facts.refuses or False in values
        if situation.is_write and facts.may_have_happened and not situation.has_key:
            says_otherwise = True
        if facts.status in FINAL and facts.delay is None:
            says_otherwise = True
        if says_otherwise and not situation.found_nothing:
            return ending_of(facts, situation)
        return self.repeat_or_give_up(facts, situation)


class Naive(Agent):
    """Believes the first boolean whose name contains "retr"; without one, acts like an ordinary client."""

    name = "naive"

    def decide(self, facts, situation):
        if facts.booleans and facts.booleans[0][1]:
            return self.repeat_or_give_up(facts, situation)
        if situation.found_nothing:
            return self.repeat_or_give_up(facts, situation)
        if situation.is_write and is_open(facts, situation):
            tool = tool_to_check(facts, situation)
            if tool:
                return Look(tool)
        if facts.booleans or facts.refuses:
            return ending_of(facts, situation)
        if is_open(facts, situation) and not situation.has_key:
            return ending_of(facts, situation)
        if facts.is_transient or (facts.delay is not None and facts.status not in FINAL - {403}):
            return self.repeat_or_give_up(facts, situation)
        return ending_of(facts, situation)


AGENTS = {agent.name: agent for agent in (Careful, Eager, Naive)}


def is_open(facts, situation):
    """Whether a write may have happened, according to the text and HTTP."""
    if not situation.is_write or facts.nothing_happened:
        return False
    if facts.may_have_happened:
        return True
    if facts.status is None:
        return facts.is_lost
    return facts.status in (408, 500, 502, 503, 504) or facts.status == 200


def ending_of(facts, situation):
    """The ending that an agent reports if it stops here."""
    if facts.delay is not None and facts.delay > SECONDS_PER_TASK:
        return Ending("later", wait=facts.delay)
    if facts.status in NEEDS_A_PERSON:
        return Ending("person")
    if is_open(facts, situation) and not situation.found_nothing:
        return Ending("uncertain")
    if facts.is_transient:
        return Ending("later", wait=facts.delay)
    return Ending("person" if facts.needs_a_person else "permanent")


def tool_to_check(facts, situation):
    """A reading tool that the text names for checking what happened."""
    if not CHECKING.search(facts.text):
        return None
    for tool in situation.tools:
        if tool.name == situation.tool.name or is_write(tool):
            continue
        last = re.split(r"__|/|\.", tool.name)[-1]
        if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", facts.text) for name in {tool.name, last}):
            return tool
    return None


def likely_check(situation):
    """The tool that, by its name, lists what this tool creates."""
    nouns = words_of(situation.tool.name)[1:]
    wanted = [noun.rstrip("s") for noun in nouns]
    for tool in situation.tools:
        words = words_of(tool.name)
        if words[0] in READING_VERBS and [word.rstrip("s") for word in words[1:]] == wanted:
            return tool
    return None
