"""Prints a line for each check, with the expected and the found value if they differ."""

import asyncio
import sys


class Checks:
    """Runs checks and counts those that fail."""

    def __init__(self, show=False):
        self.show = show
        self.where = ""
        self.wrong = 0

    def same(self, what, expected, found):
        if expected == found:
            print(f"ok     {self.where}: {what}")
            return
        self.wrong += 1
        print(f"WRONG  {self.where}: {what}\n  expected {expected}\n  found    {found}")


def run(drive, usage, timeout_seconds):
    """Runs checks against the program and the URL on the command line.

    Returns the exit code: 0 if all pass, 1 if a check fails, 2 if panpan could not be run.
    """
    if len(sys.argv) != 3:
        print(usage, file=sys.stderr)
        return 2
    checks = Checks()
    try:
        asyncio.run(asyncio.wait_for(drive(checks, *sys.argv[1:]), timeout_seconds))
    except Exception as error:
        print(f"could not run panpan: {error!r}", file=sys.stderr)
        return 2
    return 1 if checks.wrong else 0
