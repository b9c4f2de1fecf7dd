//! The forms of unfinished work that a read waits for: when to look again, and that something is still being made.
//!
//! They count only for calls that read. After a write, "check back in 10 seconds" asks to look at the work that the
//! write began, not to repeat it.

use super::form::{Form, Reading};

/// Every form, in the order of reading.
pub(super) static POLLING: [Form; 5] = [
    Form::new(
        "look again in",
        Reading::Poll,
        &["back in", "again in", "back after", "again after"],
        r"{ASKED}(?:check (?:back|again)|come back|poll(?: (?:it|this|the (?:status|result|job|report)))? again|poll|look again) (?:in|after) (?:(?:about|approximately|at least|another) |~ ?)?(?:(?P<delay>{TIME})|(?P<later>{VAGUE})){AFTER}",
        &[
            "It is still running (40 %). Poll again in 10 seconds. => 10000 ms",
            "Report not ready, check back in 30 seconds. => 30000 ms",
            "Please come back in a few minutes => 180000 ms",
        ],
        &[
            "the checks were back in 10 seconds",
            "If it is new, check back in 10 seconds",
            "we poll again in 10 seconds",
        ],
    ),
    Form::new(
        "ready in",
        Reading::Poll,
        &[
            "ready in",
            "available in",
            "finished in",
            "done in",
            "complete in",
        ],
        r"{EDGE}(?:(?:will be|should be|is) (?:ready|available|finished|done|complete)|(?:^|[,:;(–—-] ?)ready) in (?:(?:about|approximately|another) |~ ?)?(?P<delay>{TIME}){AFTER}",
        &[
            "The report will be ready in 60 seconds. => 60000 ms",
            "Transcript is being made, ready in 2 minutes => 120000 ms",
        ],
        &[
            "the food was ready in 60 seconds",
            "If it is ready in 60 seconds, call",
            "it is not available in 3 countries",
        ],
    ),
    Form::new(
        "look again later",
        Reading::Poll,
        &["back later", "again later", "back shortly", "back soon"],
        r"{INVITED}(?:check (?:back|again)|come back|poll again) (?P<later>later|shortly|soon){AFTER}",
        &[
            "Not indexed yet, check back later. => 30000 ms",
            "The user is not visible yet; please check again later => 30000 ms",
        ],
        &[
            "we come back later",
            "Correct the name and check again later",
        ],
    ),
    Form::new(
        "wait until it has ended",
        Reading::Progress,
        &["wait"],
        r"(?:^|[,:;(\[–—-] ?|{EDGE}(?:please|must|should|then|and|to) )wait (?:until|for) [^.;!?]{1,80}? (?:has|have|is|are|to) (?:been )?(?:finish(?:ed)?|complete[d]?|end(?:ed)?|done|ready|available|built|created|generated|processed|imported|indexed|provisioned){STOP}",
        &[
            "Please wait until the export has finished.",
            "wait for the import to complete",
            "You have to wait until the report is ready",
        ],
        &[
            "we wait until the export has finished",
            "wait until Monday",
            "If you wait until it has finished, call",
        ],
    ),
    Form::new(
        "work in progress",
        Reading::Progress,
        &["being", "still", "queued", "in progress"],
        r"(?:{EDGE}(?:is|are) (?:currently |now |still )?being (?:built|calculated|computed|created|exported|generated|imported|indexed|prepared|processed|provisioned|rebuilt|rendered|restored|transcoded|updated){EDGE}|{EDGE}still (?:running|processing|pending|queued|in progress|provisioning|generating|building)(?:{STOP}| \()|{EDGE}(?:job|task|run|export|import|report|build)(?: [{WORD}#-]+)? is (?:currently |still )?(?:queued|in progress){STOP})",
        &[
            "Report rep_1 is being generated",
            "Job 17 is queued.",
            "still running (40 %)",
            "Account is being provisioned.",
            "Resource is being updated by another request.",
            "The export is in progress.",
        ],
        &[
            "If the report is being generated, wait",
            "The sandbox is being used by 3 people",
            "the job is queued_at 3",
            "still running late",
        ],
    ),
];
