"""Reads stated delays from JSON members, header lines and prose. All results are in seconds from now.
"""

import re
import time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

# suffix of a member or header name in lower case without punctuation, and the seconds of its unit
UNITS = [("milliseconds", 0.001), ("millis", 0.001), ("ms", 0.001), ("seconds", 1), ("secs", 1),
         ("sec", 1), ("minutes", 60), ("hours", 3600), ("s", 1)]  # fmt: skip
SECONDS_NAMES = {"retryafter", "retryin", "tryagainin"}
# These name no unit: a large number is read as milliseconds.
PLAIN_NAMES = {"retrydelay", "waitfor", "wait", "delay", "backoff", "retrybackoff", "suggesteddelay",
               "suggestedwait"}  # fmt: skip
DELAY_NAMES = SECONDS_NAMES | PLAIN_NAMES
LARGE = 100
TIME_NAMES = {"retryat", "resetat", "resetsat", "availableat", "notbefore", "retrynotbefore"}
RESET_NAMES = {"xratelimitreset", "ratelimitreset", "xratelimitresetrequests"}
HEADER = re.compile(
    r"(?im)\b(retry-after-ms|retry-after|x-ratelimit-reset|ratelimit-reset|ratelimit)['\"]?\s*[:=]\s*"
    r"(?P<value>\"default\"[^\n]*|['\"]?[^'\"\n{}]+)"
)
AMOUNT = (
    r"(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h)(?![a-z])"
)
PROSE = re.compile(
    r"(?i)\b(?:again|retry|retrying|wait|available|repeat|back|resets?|later)\b[^.\n\d]{0,30}?" + AMOUNT
)
SCALES = {"ms": 0.001, "mil": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hou": 3600}


def stated_delay(text, members):
    """The first stated delay: in members, then in header lines, then in prose."""
    for name, value in members:
        delay = delay_of_member(name, value)
        if delay is not None:
            return delay
    for found in HEADER.finditer(text):
        delay = delay_of_member(found[1], found["value"].strip().strip("'\""))
        if delay is not None:
            return delay
    found = PROSE.search(text)
    return in_seconds(found[1], found[2]) if found else None


def delay_of_member(name, value):
    plain = re.sub(r"[^a-z]", "", name.lower())
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if plain in RESET_NAMES:
        return delay_of_reset(value)
    if plain == "ratelimit":
        found = re.search(r"(?:\bt|reset)=(\d+)", str(value))
        return float(found[1]) if found else None
    if plain in TIME_NAMES:
        return until(value)
    if plain in SECONDS_NAMES:
        return amount(value, 1)
    if plain in PLAIN_NAMES:
        return amount(value, 0.001 if (as_number(value) or 0) >= LARGE else 1)
    for unit, scale in UNITS:
        if plain.endswith(unit) and plain.removesuffix(unit) in DELAY_NAMES:
            return amount(value, scale)
    return None


def delay_of_reset(value):
    """Some services state the time of the reset, others the seconds until then."""
    number = as_number(value)
    if number is None:
        return until(value)
    if number > 1e12:
        number /= 1000
    return max(number - time.time(), 0) if number > 1e9 else number


def amount(value, scale):
    number = as_number(value)
    if number is not None:
        return number * scale
    found = re.fullmatch(AMOUNT, str(value).strip())
    return in_seconds(found[1], found[2]) if found else until(value)


def as_number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def until(value):
    """Seconds until a time: an HTTP date, an ISO time or seconds since 1970."""
    number = as_number(value)
    if number is not None:
        return max(number - time.time(), 0) if number > 1e9 else None
    for parse in (parsedate_to_datetime, iso_time):
        try:
            moment = parse(str(value))
        except (TypeError, ValueError, IndexError):
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return max((moment - datetime.now(timezone.utc)).total_seconds(), 0)
    return None


def iso_time(value):
    return datetime.fromisoformat(value.replace("Z", "+00:00"))


def in_seconds(number, unit):
    unit = unit.lower()
    scale = SCALES.get(unit) or SCALES.get(unit[:3]) or SCALES[unit[0]]
    return float(number) * scale
