"""A line for each check, and what was expected and found where it is wrong."""

import asyncio
import sys


class Checks:
    """What was checked, and how much of it is wrong."""

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

    Gives what to exit with: 0, 1 when something is wrong, 2 when panpan could not be driven at all.
    """
    if len(sys.argv) != 3:
        print(usage, file=sys.stderr)
        return 2
    checks = Checks()
    try:
        asyncio.run(asyncio.wait_for(drive(checks, *sys.argv[1:]), timeout_seconds))
    except Exception as error:
        print(f"could not drive panpan: {error!r}", file=sys.stderr)
        return 2
    return 1 if checks.wrong else 0
