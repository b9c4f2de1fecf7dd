"""Corrects arguments according to the text of a failure, as any model can.
Violations are read from members of JSON documents or from sentences; new values from what these allow.
"""

import re

NAME = r"['\"`]?(?P<name>[A-Za-z_]\w*)['\"`]?"
NUMBER = r"(?P<number>-?\d+(?:\.\d+)?)"
PLACES = ("pointer", "loc", "instancePath", "path", "field", "param", "parameter", "property",
          "member", "argument", "name", "location", "in", "at", "key")  # fmt: skip
SENTENCES = ("msg", "message", "detail", "reason", "expected", "description", "problem", "error",
             "title", "rule", "hint", "fix")  # fmt: skip
MAXIMA = ("maximum", "max", "le", "lte", "at_most", "maximum_allowed", "limit_value")
MINIMA = ("minimum", "min", "ge", "gte", "at_least")
CHOICES = ("allowed", "allowed_values", "enum", "one_of", "choices", "options", "expected", "values", "permitted")
TYPES = {"integer": int, "int": int, "number": float, "string": str, "boolean": bool}
# a form, and what it says about a value
SAYINGS = [
    (r"(?:may not|must not|cannot|can not|should not) (?:exceed|be (?:greater|more|larger|higher) than|be above) " + NUMBER, "maximum"),
    (r"(?:must|should|has to|may) be (?:at most|no more than|less than or equal to|<=|up to|not more than) ?" + NUMBER, "maximum"),
    (r"(?:at most|no more than|less than or equal to|maximum(?: is| of| value)?:?|<=) ?" + NUMBER, "maximum"),
    (r"(?:at least|no less than|greater than or equal to|minimum(?: is| of| value)?:?|>=) ?" + NUMBER, "minimum"),
    (r"(?:exceeds|is above|is greater than|is more than) (?:the )?(?:maximum|limit)(?: of| is)? ?" + NUMBER, "maximum"),
    (r"(?:must|should|has to) be (?:at least|no less than|greater than or equal to|>=|not less than) ?" + NUMBER, "minimum"),
    (r"(?:is|must be|should be) (?:in|between|within|from) (?P<low>-?\d+) (?:and|to) (?P<high>-?\d+)", "range"),
    (r"(?:must|should|has to) be (?:one|any) of:? (?P<choices>[^.\n}]+)", "choices"),
    (r"(?:expected|allowed)(?: values?)?(?: (?:is|are))?(?: one of)?:? (?P<choices>['\"`\[][^.\n}]+)", "choices"),
    (r"(?:should|must) be (?P<choices>['\"`][^.\n}]*['\"`])", "choices"),
    (r"(?:must|should|has to) be (?:an? |of type |type )?(?:valid )?(?P<type>integer|int|number|string|boolean)\b", "type"),
    (r"is not (?:an? |of type )['\"]?(?:valid )?(?P<type>integer|int|number|string|boolean)\b", "type"),
    (r"(?:must be|current version is|should be|expected) (?:exactly )?" + NUMBER + r"\b", "exact"),
    (r"(?:is |field |property )?(?:required|missing)\b", "missing"),
    (r"(?:is )?(?:not (?:allowed|permitted|known|recogni[sz]ed)|unknown|unexpected)\b", "unknown"),
]  # fmt: skip
NAMED_FIRST = [
    (r"(?:missing|required)(?: required)?(?: \w+)? (?:field|parameter|member|property|argument|key)s?:? " + NAME, "missing"),
    (r"(?:missing|requires)(?: the)?:? " + NAME + r"(?: (?:field|parameter|member|property|argument))?", "missing"),
    (r"(?:unknown|unexpected|unrecogni[sz]ed|additional)(?: (?:field|parameter|member|property|argument|key))s?:? " + NAME, "unknown"),
    (r"(?:maximum|largest) (?:value )?(?:for|of) " + NAME + r" is " + NUMBER, "maximum"),
]  # fmt: skip


def correct(facts, arguments, properties, knows):
    """The arguments with all violations corrected, or None if the text names none."""
    names = set(arguments) | set(properties) | set(knows)
    corrected = dict(arguments)
    for name, kind, found in violations(facts, names):
        apply(corrected, name, kind, found, properties, knows)
    return corrected if corrected != arguments else None


def violations(facts, names):
    yield from in_documents(facts.document, names)
    for text in texts_of(facts):
        for sentence in re.split(r"(?<=[a-z0-9'\"`\]])[.;](?=\s|$)|\n", text):
            yield from in_sentence(sentence, names)


def texts_of(facts):
    """The strings of the document and the text around it, or the whole text if there is no document."""
    if facts.document is None:
        return [facts.text]
    strings = strings_in(facts.document)
    before, after = facts.text.find("{"), facts.text.rfind("}")
    return [facts.text[: max(before, 0)], *strings, facts.text[after + 1 :]]


def strings_in(document):
    """Every string of a document, including those in lists."""
    if isinstance(document, str):
        return [document]
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else []
    return [text for value in inner for text in strings_in(value)]


def in_documents(document, names):
    """Violations in objects that point at an argument."""
    if isinstance(document, list):
        for value in document:
            yield from in_documents(value, names)
    if not isinstance(document, dict):
        return
    name = next((found for place in PLACES if (found := pointed_at(document.get(place), names))), None)
    if name:
        yield from in_object(document, name)
    for member, value in document.items():
        if member in names and isinstance(value, (str, list)) and not name:
            for sentence in [value] if isinstance(value, str) else value:
                yield from unnamed(str(sentence), member)
        yield from in_documents(value, names)


def in_object(document, name):
    inner = document.get("ctx") or document.get("constraint") or document.get("params") or {}
    stated = {**document, **(inner if isinstance(inner, dict) else {})}
    for members, kind in ((MAXIMA, "maximum"), (MINIMA, "minimum")):
        for member in members:
            if isinstance(stated.get(member), (int, float)):
                yield name, kind, {"number": stated[member]}
    for member in CHOICES:
        if isinstance(stated.get(member), list) and stated[member]:
            yield name, "choices", {"list": stated[member]}
            return
    for member in SENTENCES:
        if isinstance(stated.get(member), str):
            yield from unnamed(stated[member], name)
    if stated.get("expected_type") in TYPES:
        yield name, "type", {"type": stated["expected_type"]}


def pointed_at(value, names):
    """The argument that a pointer, a path or a list of steps leads to."""
    steps = value if isinstance(value, list) else re.split(r"[^\w]+", str(value or ""))
    return next((str(step) for step in reversed(steps) if str(step) in names), None)


def unnamed(sentence, name):
    for form, kind in SAYINGS:
        found = re.search("(?i)" + form, sentence)
        if found:
            yield name, kind, found.groupdict()
            return


def in_sentence(sentence, names):
    for form, kind in NAMED_FIRST:
        for found in re.finditer("(?i)" + form, sentence):
            if found["name"] in names:
                yield found["name"], kind, found.groupdict()
    # the sent value may be between a name and its violation: 'limit': 500 is greater than …
    between = r"['\"`]?(?: parameter| field| value)?[:,]?(?: \S+)? "
    for name in names:
        for form, kind in SAYINGS:
            found = re.search(rf"(?i)(?<!\w){re.escape(name)}{between}(?:{form})", sentence)
            if found:
                yield name, kind, found.groupdict()


def apply(arguments, name, kind, found, properties, knows):
    value = arguments.get(name)
    match kind:
        case "maximum" if as_number(value) is None or as_number(value) > as_number(found["number"]):
            arguments[name] = whole(found["number"])
        case "minimum" if as_number(value) is None or as_number(value) < as_number(found["number"]):
            arguments[name] = whole(found["number"])
        case "range":
            low, high = int(found["low"]), int(found["high"])
            arguments[name] = max(low, min(high, as_number(value) or low))
        case "choices":
            allowed = found.get("list") or choices_in(found["choices"])
            if allowed and value not in allowed:
                arguments[name] = knows[name] if knows.get(name) in allowed else allowed[0]
        case "type":
            arguments[name] = converted(value, TYPES[found["type"].lower()], knows.get(name))
        case "exact":
            arguments[name] = whole(found["number"])
        case "missing" if name not in arguments:
            arguments[name] = knows.get(name, sample(properties.get(name, {})))
        case "unknown" if name in arguments and name not in knows:
            del arguments[name]


def choices_in(text):
    quoted = re.findall(r"['\"`]([^'\"`]+)['\"`]", text)
    return quoted or [word for word in re.split(r"\s*,\s*|\s+or\s+|\s+and\s+|\s+", text.strip("[] ")) if word]


def converted(value, wanted, known):
    try:
        return wanted(float(value)) if wanted in (int, float) else wanted(value)
    except (TypeError, ValueError):
        return known if known is not None else wanted()


def sample(schema):
    if schema.get("enum"):
        return schema["enum"][0]
    return {"integer": 1, "number": 1, "boolean": True}.get(schema.get("type"), "example")


def as_number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def whole(value):
    number = float(value)
    return int(number) if number.is_integer() else number
