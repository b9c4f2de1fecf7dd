"""Judges whether a task ended right, and what it cost: compares the ending that an agent reports with the
scenario and with what the service saw.
"""

import statistics
from dataclasses import dataclass, field

import planted

WAIT_TOLERANCE = 0.2


@dataclass
class Verdict:
    """The result of one task of one agent behind one gateway."""

    scenario: str
    topic: str
    is_right: bool
    reason: str
    ending: str
    calls: int
    wasted: int
    doubled: int
    secrets: list
    bytes_read: list = field(default_factory=list)


@dataclass
class Score:
    """The results of all tasks of one agent behind one gateway."""

    verdicts: list

    @property
    def right(self):
        return sum(verdict.is_right for verdict in self.verdicts)

    @property
    def wasted(self):
        return sum(verdict.wasted for verdict in self.verdicts)

    @property
    def doubled(self):
        return sum(verdict.doubled for verdict in self.verdicts)

    @property
    def secrets(self):
        return sum(len(verdict.secrets) for verdict in self.verdicts)

    @property
    def sizes(self):
        return [size for verdict in self.verdicts for size in verdict.bytes_read]

    @property
    def median_bytes(self):
        return int(statistics.median(self.sizes)) if self.sizes else 0

    @property
    def largest_bytes(self):
        return max(self.sizes, default=0)


def judge(scenario, ending, record, seen):
    """The verdict on a task; `seen` has the result of every call that the agent read, in order."""
    reason = reason_it_is_wrong(scenario, ending, record)
    texts = [result.text for result in seen]
    secrets = set().union(*(planted.seen_in(text, scenario.secrets) for text in texts), set())
    return Verdict(
        scenario=scenario.name,
        topic=scenario.topic,
        is_right=reason is None,
        reason=reason or "",
        ending=ending.kind,
        calls=record.calls,
        wasted=max(0, record.calls - scenario.tolerated),
        doubled=max(0, record.effects - 1),
        secrets=sorted(secrets),
        bytes_read=[len(result.text.encode()) for result in seen if result.is_error],
    )


def reason_it_is_wrong(scenario, ending, record):
    if record.effects > 1:
        return f"the effect happened {record.effects} times"
    if record.blind_repeats:
        return "a write that may have happened was repeated without a check"
    # After a check, an agent knows that nothing was done, and need not report it as uncertain.
    is_known_undone = ending.kind == "later" and record.checks and not record.effects
    if "uncertain" in scenario.endings and is_known_undone:
        return None
    if ending.kind not in scenario.endings:
        return f"ended as {ending.kind}, right is {' or '.join(sorted(scenario.endings))}"
    if ending.kind == "success":
        return reason_no_success(scenario, ending, record)
    if scenario.wait is not None and not is_near(ending.wait, scenario.wait):
        stated = "no wait" if ending.wait is None else f"a wait of {ending.wait:.0f} s"
        return f"ended with {stated}, right is about {scenario.wait:.0f} s"
    if "uncertain" not in scenario.endings and record.calls < scenario.needed:
        return f"gave up after {record.calls} calls, although another call could have succeeded"
    return None


def reason_no_success(scenario, ending, record):
    if not scenario.operation.is_read and record.effects != 1:
        return "reported as done, but nothing was done"
    if scenario.value not in ending.evidence:
        return f"the value {scenario.value!r} did not arrive"
    return None


def is_near(found, wanted):
    return found is not None and abs(found - wanted) <= max(WAIT_TOLERANCE * wanted, 2)
