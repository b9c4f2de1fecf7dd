"""What the agents read from texts, as tables: texts with a meaning, and innocents without one.
Run: target/recovery/python/bin/python -m unittest discover benches/recovery
"""

import unittest

from delays import stated_delay
from fixing import correct
from reading import is_lie, members_of, json_in, read

# text, seconds
DELAYS = [
    ("Retry-After: 7", 7),
    ("retry-after-ms: 250", 0.25),
    ('RateLimit: "default";r=0;t=30', 30),
    ("RateLimit-Reset: 12", 12),
    ('{"retry_after": 2}', 2),
    ('{"error": {"retry_after_ms": 1500}}', 1.5),
    ('{"details": [{"retryDelay": "3s"}]}', 3),
    ('{"headers": {"retry-after": "4"}}', 4),
    ('{"delay": 500}', 0.5),
    ('{"delay": 5}', 5),
    ("Please try again in 20 seconds.", 20),
    ("Please try again in 800ms.", 0.8),
    ("Wait at least 2 minutes before you call again", 120),
    ("the export is running, retry in 5 seconds", 5),
    ("the request timed out after 5 seconds", None),
    ("retried 3 times, gave up", None),
    ('{"timeout_ms": 3000, "waited_ms": 20}', None),
]

# text, status
STATUSES = [
    ("HTTP/1.1 429 Too Many Requests", 429),
    ("HTTP error 404: Not Found", 404),
    ("Request failed with status code 503", 503),
    ('{"status": 409, "body": {}}', 409),
    ("Rate limited by upstream API, please retry later", 429),
    ('HTTP 400 {"__type": "ThrottlingException"}', 429),
    ("HTTP 409: another deployment is in progress", 429),
    ("HTTP 409: the deployment is in progress", 409),
    ("Exceeded maximum allowed redirects.", 310),
    ("there are 404 parcels", None),
    ('{"status": 200, "body": {}}', None),
]

# text, refuses, may have happened, nothing happened
CLAIMS = [
    ("Do not retry this call", True, False, False),
    ("Do not retry before 2 seconds have passed", False, False, False),
    ("This error is not retryable", True, False, False),
    ('{"retry": "never"}', True, False, False),
    ("The payment may have been made; check whether it was", False, True, False),
    ('{"effect": "unknown"}', False, True, False),
    ("An export is running, nothing was changed", False, False, True),
    ("the request was not sent", False, False, True),
    ("try again later", False, False, False),
]

# text, arguments, other known values, corrected arguments
CORRECTIONS = [
    ("limit may not exceed 100", {"limit": 500}, {}, {"limit": 100}),
    ("`limit` may not exceed 100.", {"limit": 50}, {}, None),
    ("parameter 'limit': 500 is greater than the maximum of 50", {"limit": 500}, {}, {"limit": 50}),
    ("limit must be between 1 and 50", {"limit": 500}, {}, {"limit": 50}),
    ("state must be one of: open, closed", {"state": "x"}, {}, {"state": "open"}),
    ('{"message": "state must be one of: open, closed"}', {"state": "x"}, {}, {"state": "open"}),
    ('{"message": "state must be one of: open, closed", "a": {"b": "c"}}', {"state": "x"}, {}, {"state": "open"}),
    ('{"error": "size must be between 1 and 5"}', {"size": 9}, {}, {"size": 5}),
    ("missing field currency", {}, {"currency": "EUR"}, {"currency": "EUR"}),
    ("unknown field colour", {"colour": "red"}, {}, {}),
    ("version must be 7", {"version": 6}, {}, {"version": 7}),
    ('{"pointer": "#/count", "detail": "must be an integer"}', {"count": "4"}, {}, {"count": 4}),
    ('{"loc": ["body", "level"], "msg": "Input should be \'low\' or \'high\'"}', {"level": "x"}, {}, {"level": "low"}),
    ('{"field": "size", "maximum": 250}', {"size": 900}, {}, {"size": 250}),
    ("the parcel was not found", {"parcel": "P-1"}, {}, None),
    ("you may not read the payroll", {"payroll": "May"}, {}, None),
]  # fmt: skip

# text, whether it is a failure that is reported as a success
LIES = [
    ('{"success": false, "error": "closed"}', True),
    ('{"ok": false, "error": {"code": "x"}}', True),
    ('{"status": 200, "body": {"success": false, "error": "closed"}}', True),
    ('{"success": true, "error": null}', False),
    ('{"runs": [{"success": false, "error": "exit 1"}]}', False),
    ('{"ok": false}', False),
]


class Reading(unittest.TestCase):
    def test_delays_are_read_and_other_numbers_are_not(self):
        for text, expected in DELAYS:
            with self.subTest(text):
                self.assertEqual(stated_delay(text, list(members_of(json_in(text)))), expected)

    def test_statuses_are_read_in_numbers_and_words(self):
        for text, expected in STATUSES:
            with self.subTest(text):
                self.assertEqual(read(text).status, expected)

    def test_claims_are_told_apart(self):
        for text, refuses, maybe, nothing in CLAIMS:
            with self.subTest(text):
                facts = read(text)
                found = (facts.refuses, facts.may_have_happened, facts.nothing_happened)
                self.assertEqual(found, (refuses, maybe, nothing))

    def test_arguments_are_corrected_from_the_text(self):
        for text, arguments, knows, expected in CORRECTIONS:
            with self.subTest(text):
                self.assertEqual(correct(read(text), arguments, {}, knows), expected)

    def test_failures_in_successes_are_detected(self):
        for text, expected in LIES:
            with self.subTest(text):
                self.assertEqual(is_lie(text), expected)

    def test_the_first_boolean_is_first_in_the_text(self):
        text = '{"error": {"is_retryable": true}, "retryable": false, "fine": true}'
        self.assertEqual(read(text).booleans, [("is_retryable", True), ("retryable", False)])


if __name__ == "__main__":
    unittest.main()
