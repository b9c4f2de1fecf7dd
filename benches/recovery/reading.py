"""Reads the text of a failure as any reader would: HTTP, JSON and plain English.
Written from common phrasings of services, clients and gateways, not for the format of one product.
"""

import ast
import json
import re
from dataclasses import dataclass, field

from delays import stated_delay

READING_LIMIT = 20_000
TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
NEEDS_A_PERSON = {401, 402, 403, 407, 511}
STATUS_FORMS = [
    r"HTTP/\d(?:\.\d)? (\d{3})",
    r"(?i)http[a-z]*(?:[ _-]?(?:error|status|code|response))*['\"]?[ :_=#(-]*(\d{3})(?!\d)",
    r"(?i)status(?:[ _-]?code)?['\"]?(?: of| is)?\s*[:=(]?\s*(\d{3})(?!\d)",
    r"(?i)\bcode['\"]?\s*[:=]\s*(\d{3})(?!\d)",
    r"(?i)\b(\d{3})\b[ :-]+(?:not found|unauthorized|forbidden|bad request|conflict|gone|locked)",
    r"(?i)\b(\d{3})\b[ :-]+(?:too many|internal server|bad gateway|service unavail|gateway time)",
]
RATE_WORDS = r"rate.?limit|too many requests|throttl"
STATUS_WORDS = [
    (RATE_WORDS, 429),
    (r"unauthori[sz]ed|unauthenticated|token[_ ](?:has )?expired", 401),
    (r"payment required", 402),
    (r"forbidden|permission denied", 403),
    (r"not found|no such", 404),
    (r"service (?:is )?(?:temporarily )?unavailable|temporarily unavailable", 503),
    (r"too many redirects|maximum (?:allowed |number of )?redirects|redirect loop|following redirects?", 310),
    (r"bad gateway", 502),
    (r"gateway time-?out", 504),
    (r"internal server error", 500),
]
LOST = (
    r"timed? ?out|timeout|connection (?:was )?(?:reset|closed|aborted|lost|cut|broken)|socket hang up"
    r"|econnreset|disconnected|peer closed|incomplete|without (?:sending )?(?:a|an|any) (?:response|answer)"
    r"|connection error|network error|error sending request|fetch failed|no answer|stream [^.\n]{0,10}aborted"
    r"|(?:read|decod)(?:ing)? (?:the )?(?:response|answer|body)|broke before"
)
# statuses that services also use for failures inside them, and the phrases that reveal this
VAGUE = {400, 409, 422}
BUSY = (
    r"another [\w ]{0,40}\b(?:is|are) (?:already |currently |still )?(?:in progress|running)"
    r"|unable to (?:obtain|acquire|get)[^.\n]{0,20} (?:lock|access)|unable_to_lock|AnotherOperationInProgress"
)
BROKEN_OFF = r"(?:could not|unable to|failed to) connect to|connection refused|\btimed out (?:after|while|waiting)"
REFUSED = (
    r"(?:do not|don't|must not|should not|never|cannot be|can't be|may not be) "
    r"(?:\w+ly )?(?:retry|repeat|resend|retried|repeated|resent|try again|call (?:it|this) again)"
    r"(?! (?:before|until|without|unless|sooner|immediately))"
    r"|(?:not|non-|un)[ -]?(?:retryable|retriable)|not worth retrying"
    r"|(?:retrying|repeating|trying again)(?: \w+){0,4} (?:will not|won't|does not|cannot|is not|is pointless)"
    r"|(?:again|it) is not possible|permanent(?:ly)?\b|already[ _]exists|is (?:already )?taken|duplicate"
)
INVITED = r"safe to (?:retry|repeat)|can be (?:retried|repeated)|(?:please |may |can )?(?:retry|try again)\b"
MAYBE = (
    r"(?:may|might|could)(?: already| still| well)? have|(?:outcome|effect|result)[^.\n]{0,24}(?:unknown|uncertain)"
    r"|unknown[^.\n]{0,12}(?:outcome|effect|result)|whether [^.\n]{0,50}(?:effect|happened|was (?:applied|written|created|made|done|processed))"
    r"|check (?:first|whether|before|if)|find out whether|before (?:repeating|retrying|you (?:repeat|retry))"
)
NOTHING = (
    r"nothing (?:was|has been|is|had been) \w+|no (?:changes?|effects?|data|record|charge)[^.\n]{0,20}(?:was|were|made|written|took|happened)"
    r"|(?:was|were|has|had) (?:not|never) (?:been )?(?:sent|executed|processed|applied|written|created|changed|started|made)"
    r"|did not (?:happen|take effect|run|start)|had no effect|without effect"
)
NEW_KEY = r"(?:new|another|different|fresh|other) (?:idempotency )?key|key other than"
PERSON = (
    r"credential|api[ _-]?key|access token|token (?:has |is )?(?:been )?(?:expired|revoked)|token_expired|invalid_token|invalid_grant"
    r"|expired token|token[^.\n]{0,40} (?:is |has )?expired|invalid[_ ]auth\b|sign in|log ?in\b|authenticat|unauthori[sz]ed|permission|payment required|billing"
    r"|(?:ask|tell|contact|needs?|report (?:this |it )?to) (?:a|an|the|your) (?:person|human|user|operator|owner|admin)"
)
# a member or a line such as "retryable": true, in JSON or not
BOOLEAN = re.compile(r"(?i)\b([\w-]*retr[\w-]*)['\"]?\s*[:=]\s*(true|false|yes|no)\b")
CHECKING = re.compile(r"(?i)\b(?:check|look|verify|whether|find out|outcome|confirm|first)\b")
NO_WORDS = {"no", "never", "none", "false", "no_retry", "do_not_retry", "not_retryable"}
EFFECT_WORDS = {
    "unknown": True, "possible": True, "maybe": True, "uncertain": True, "partial": True,
    "may_have_happened": True, "none": False, "no": False, "not_applied": False, "nothing": False,
}  # fmt: skip


@dataclass
class Facts:
    """The facts in one text."""

    text: str
    document: object = None
    status: int | None = None
    # whether the response was lost, so that the outcome is unknown
    is_lost: bool = False
    delay: float | None = None
    # (name, value) of booleans whose name contains "retr", in the order of the text
    booleans: list = field(default_factory=list)
    refuses: bool = False
    invites: bool = False
    may_have_happened: bool = False
    nothing_happened: bool = False
    needs_a_person: bool = False
    # whether it asks for another idempotency key
    wants_new_key: bool = False

    @property
    def is_transient(self):
        return self.status in TRANSIENT or (self.status is None and self.is_lost)


def read(text, described=""):
    """The facts in `text`, and in what the tool's description says about this status."""
    text = text[:READING_LIMIT]
    document = json_in(text)
    members = list(members_of(document))
    status = status_in(text)
    if status in VAGUE | {403} and (says(RATE_WORDS, text) or says(BUSY, text)):
        status = 429
    if status in VAGUE and says(BROKEN_OFF, text):
        status = 504
    whole = text + "\n" + described_for(status, described)
    effects = [EFFECT_WORDS.get(str(value).lower()) for name, value in members if "effect" in name.lower()]
    maybe = True in effects or says(MAYBE, whole)
    facts = Facts(
        text=whole,
        document=document,
        status=status,
        is_lost=says(LOST, whole),
        delay=stated_delay(whole, members),
        booleans=[(name, said.lower() in ("true", "yes")) for name, said in BOOLEAN.findall(text)],
        refuses=says(REFUSED, whole) or any(refuses_by_name(*member) for member in members),
        invites=says(INVITED, whole),
        may_have_happened=maybe,
        nothing_happened=(False in effects or says(NOTHING, whole)) and True not in effects,
        needs_a_person=says(PERSON, whole),
        wants_new_key=says(NEW_KEY, whole),
    )
    return facts


def says(form, text):
    return re.search("(?i)" + form, text) is not None


def refuses_by_name(name, value):
    """A member such as "retry": "never"."""
    return "retr" in name.lower() and isinstance(value, str) and value.lower() in NO_WORDS


def status_in(text):
    """The HTTP status that a text is about: by number if there is one, else by phrase."""
    places = [found for form in STATUS_FORMS if (found := re.search(form, text))]
    for found in sorted(places, key=lambda found: found.start()):
        if 300 <= int(found[1]) < 600:
            return int(found[1])
    for form, status in STATUS_WORDS:
        if says(form, text):
            return status
    return None


def described_for(status, described):
    """The lines of a tool's description that are about this status."""
    if status is None:
        return ""
    return "\n".join(line for line in described.splitlines() if str(status) in line)


def json_in(text):
    """The first JSON document in a text; Python literals are read too."""
    decoder = json.JSONDecoder()
    for found in list(re.finditer(r"[{\[]", text))[:20]:
        try:
            document = decoder.raw_decode(text, found.start())[0]
        except ValueError:
            document = python_object(text[found.start() :])
        if isinstance(document, dict) and document or isinstance(document, list) and document:
            return document
    return None


def python_object(text):
    end = text.rfind("}")
    try:
        return ast.literal_eval(text[: end + 1])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def members_of(document):
    """(name, value) of every member at any depth, in the order of the document."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield name, value
            yield from members_of(value)
            if isinstance(value, str) and value.lstrip().startswith("{"):
                yield from members_of(json_in(value))
    elif isinstance(document, list):
        for value in document:
            yield from members_of(value)


def is_lie(text):
    """Whether a success reports a failure in its body, as far as a careful reader can tell."""
    document = json_in(text)
    if not isinstance(document, dict):
        return False
    return denies(document) or any(
        denies(document[name]) for name in ("body", "data", "result") if name in document
    )


def denies(document):
    if not isinstance(document, dict):
        return False
    is_denied = any(document.get(name) is False for name in ("success", "ok"))
    is_denied = is_denied or ("data" in document and document["data"] is None)
    return is_denied and any(document.get(name) for name in ("error", "errors", "message"))
