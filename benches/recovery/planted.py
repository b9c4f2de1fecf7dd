"""Values that the service fills in when it sends a response: times relative to now, and secrets, which
are generated here so that the scenario files contain none.
"""

import math
import random
import re
import string
import time
from datetime import datetime, timezone
from email.utils import formatdate

LETTERS = string.ascii_letters + string.digits
PLACE = re.compile(r"\{(\w+)(?::(\w+))?\}")
NUMBERS = {"seconds", "milliseconds", "epoch"}


def characters(count, alphabet=LETTERS, seed=0):
    chosen = random.Random(f"{count} {alphabet} {seed}")
    return "".join(chosen.choice(alphabet) for _ in range(count))


UPPER = string.ascii_uppercase + string.digits
# name to value: shaped like real secrets, valid nowhere
SECRETS = {
    "payment_key": "sk_live_" + characters(24),
    "cloud_key_id": "AKIA" + characters(16, UPPER),
    "cloud_secret": characters(40),
    "forge_token": "ghp_" + characters(36),
    "chat_token": "xoxb-" + characters(12, string.digits) + "-" + characters(24),
    "bearer_token": characters(43),
    "database_password": characters(18),
    "session_cookie": characters(32, "0123456789abcdef"),
    "signed_token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{characters(20)}.{characters(43)}",
    "private_key": "MIIEvQIBADANBgkqhkiG9w0" + characters(120),
    "form_password": characters(14, LETTERS, "form"),
    "plain_api_key": characters(32, LETTERS, "api"),
}


def fill(value, seconds_left, base):
    """`value` with every {place} filled in, at any depth; a place alone becomes a number."""
    if isinstance(value, dict):
        return {key: fill(member, seconds_left, base) for key, member in value.items()}
    if isinstance(value, list):
        return [fill(member, seconds_left, base) for member in value]
    if not isinstance(value, str):
        return value
    alone = PLACE.fullmatch(value)
    if alone and alone[1] in NUMBERS:
        return place(alone, seconds_left, base)
    return PLACE.sub(lambda found: str(place(found, seconds_left, base)), value)


def place(found, seconds_left, base):
    what, which = found.groups()
    until = time.time() + seconds_left
    match what:
        case "seconds":
            return math.ceil(seconds_left)
        case "milliseconds":
            return math.ceil(seconds_left * 1000)
        case "minutes":
            return math.ceil(seconds_left / 60)
        case "epoch":
            return math.ceil(until)
        case "http_date":
            return formatdate(math.ceil(until), usegmt=True)
        case "iso_time":
            return datetime.fromtimestamp(math.ceil(until), timezone.utc).isoformat()
        case "base":
            return base
        case "secret":
            return SECRETS[which]
    return found[0]


def seen_in(text, names):
    """The planted secrets that can be read in `text`."""
    return {name for name in names if SECRETS[name] in text}
