//! The forms of delays: how texts ask to wait before a call is repeated.

use super::form::{Form, Reading};

/// Every form of a delay. In the samples, `5000 ms` is the delay that is read.
pub(super) static DELAYS: [Form; 6] = [
    Form::new(
        "repeat in",
        Reading::Delay,
        &["retry", "re-try", "again"],
        r"{ASKED}(?:re-?try|try again|re-?try (?:it|(?:this|the|your) (?:same )?(?:request|call|operation))|(?:try|send|submit|repeat) (?:it|(?:this|the|your) (?:same )?(?:request|call|operation)) again|(?:call|ask) again) (?:in|after) ?:? ?(?:(?:about|approximately|at least|another) |~ ?)?(?P<delay>{TIME}){AFTER}",
        &[
            "retry in 5 seconds => 5000 ms",
            "An export is already running, retry in 5 seconds. => 5000 ms",
            "Please try again after 2 minutes => 120000 ms",
            "Rate limit reached for gpt-4. Please try again in 6m0s. Visit the page to learn more. => 360000 ms",
            "Too many requests from this IP, please try again after 15 minutes => 900000 ms",
            "retry after 500 ms => 500 ms",
            "You may retry the request in about one minute => 60000 ms",
            "busy (retry in 1.5s) => 1500 ms",
            "Slow down and try your request again in 1 minute and 30 seconds! => 90000 ms",
            "Please ask again in 2 hours => 7200000 ms",
            "retry in 2 s, then retry in 5 s => 5000 ms",
        ],
        &[
            "retry policy was updated 5 seconds ago",
            "We will retry in 5 seconds",
            "do not retry in 5 seconds",
            "the last retry after 5 seconds failed",
            "failed to retry in 5 seconds",
            "retry in 5 lightyears",
            "retry after 3 failed attempts",
            "retry in 5 to 10 seconds",
            "If the account is new, try again in 5 minutes",
            "the client retried after 5 seconds",
            "- retry in 5 seconds\n- change the name",
            "Your order is in the works, check back in 1 second",
            "Come back in 2 hours to see the result",
        ],
    ),
    Form::new(
        "repeat some time later",
        Reading::RoughDelay,
        &["retry", "re-try", "again"],
        r"{INVITED}(?:re-?try|try again|(?:try|send|submit|repeat) (?:it|(?:this|the|your) (?:same )?(?:request|call|operation)) again|(?:call|ask) again) (?P<later>later|shortly|soon|in {VAGUE}|after {VAGUE}){AFTER}",
        &[
            "The record is locked by another process. Try again later. => 30000 ms",
            "Another deployment is in progress. Try again in a minute. => 60000 ms",
            "Busy, please try again in a few minutes => 180000 ms",
            "The index is being rebuilt, please retry shortly => 10000 ms",
            "You can try again in an hour. => 3600000 ms",
        ],
        &[
            "Please correct the name and try again later",
            "Check the id, then try again later",
            "do not try again later",
            "We will try again later",
            "If the account is new, try again later",
            "try again later today with another name",
        ],
    ),
    Form::new(
        "wait some time",
        Reading::RoughDelay,
        &["wait"],
        r"{INVITED}wait (?P<later>{VAGUE}) before (?:you )?(?:(?:try|trying|retry|retrying|sending|making|send|make)|(?:the|your) next){EDGE}",
        &[
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. => 180000 ms",
            "wait a moment before retrying => 10000 ms",
        ],
        &[
            "we wait a few minutes before trying again",
            "do not wait a minute before trying",
            "wait a minute before the door opens",
        ],
    ),
    Form::new(
        "may be repeated after",
        Reading::Delay,
        &["be retried", "be repeated", "be tried again"],
        r"{EDGE}(?:can|may|should) (?:safely )?be (?:retried|repeated|tried again) (?:in|after) (?:(?:about|at least) )?(?P<delay>{TIME}){AFTER}",
        &[
            "The request can be retried after 30 seconds. => 30000 ms",
            "It should be repeated in 2 s => 2000 ms",
        ],
        &[
            "the job will be retried in 5 seconds",
            "the request can be retried after 3 attempts",
            "the request cannot be retried after 30 seconds",
        ],
    ),
    Form::new(
        "wait",
        Reading::Delay,
        &["wait"],
        r"(?:^|[,:(\[–—-] ?|{EDGE}(?:please|must|should|then|and|(?:need|have) to) )wait (?:for )?(?:(?:about|at least|another) )?(?P<delay>{TIME}){AFTER}",
        &[
            "please wait 30s => 30000 ms",
            "Wait 10 seconds before you send the next message. => 10000 ms",
            "You have to wait for at least 5 minutes => 300000 ms",
        ],
        &[
            "lock wait 30 s exceeded",
            "the maximum wait 30 seconds was exceeded",
            "we wait 30 seconds",
            "wait time is 30 seconds",
            "do not wait 30 seconds",
        ],
    ),
    Form::new(
        "available again in",
        Reading::Delay,
        &["available", "reset"],
        r"{EDGE}(?:expected available|available again|(?:limit|quota) (?:resets|will reset|will be reset)) in (?P<delay>{TIME}){AFTER}",
        &[
            "Request was throttled. Expected available in 45 seconds. => 45000 ms",
            "The rate limit resets in 30 seconds => 30000 ms",
            "This report is available again in 2 minutes. => 120000 ms",
        ],
        &[
            "the connection was reset in 5 seconds",
            "no appointment is available in 30 minutes",
            "the limit was reset 5 seconds ago",
        ],
    ),
];
