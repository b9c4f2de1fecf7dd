//! The forms of conditions that pass by themselves: work in progress, limits with a short period, and when they end.

use super::conditions::Condition;
use super::form::{Form, Reading};

/// Every form, in the order of reading; conditions that `conditions` reads win.
pub(super) static UNFINISHED: [Form; 8] = [
    Form::new(
        "the key is in use",
        Reading::Condition(Condition::Unfinished),
        &["idempotency"],
        r"(?:{EDGE}request (?:is |that is )?(?:currently |still )?(?:outstanding|running|in[ -]progress|being processed){EDGE}[^.;!?]{0,60}idempotency[ -]key|{EDGE}in[ -]progress request (?:using|with) (?:this|the same|that) idempotency[ -]key|{EDGE}idempotency[ -]key{EDGE}[^.;!?]{0,60}{EDGE}(?:is|are) (?:currently |still |already )?(?:outstanding|running|in progress|in use|being (?:processed|used)))",
        &[
            "A request with the same Idempotency-Key for the same operation is being processed or is outstanding.",
            "A request is outstanding for this Idempotency-Key",
            "There is currently another in-progress request using this Idempotency Key: k-17",
            "The idempotency key is already in use",
        ],
        &[
            "Idempotency-Key is required",
            "The idempotency key was used with another body",
            "This idempotency key is too long",
            "If the idempotency key is in use, wait",
        ],
    ),
    Form::new(
        "already in progress",
        Reading::Condition(Condition::Contention),
        &["in progress", "running", "pending"],
        r"(?:(?:^|[.,:] ?|{EDGE}(?:because|as|since) )(?:a|an|one|another|the|this) (?:[a-z]+ ){0,2}[a-z]+ (?:is|are) already (?:in progress|running)(?:{STOP}| (?:for|on|in|of) )|{EDGE}(?:already )?has (?:a|an|another) pending (?:event|operation|action|job|task|change|update){STOP})",
        &[
            "A deployment is already in progress for this project.",
            "A backup is already running",
            "An export is already running, nothing was changed",
            "Droplet already has a pending event.",
        ],
        &[
            "The export is in progress",
            "If a backup is already running, wait",
            "running_total is already in progress_list",
            "The order has a pending payment of 3 EUR",
        ],
    ),
    Form::new(
        "still being made",
        Reading::Condition(Condition::Unfinished),
        &["being"],
        r"{EDGE}(?:is|are) (?:still|currently|already) being (?:built|calculated|computed|created|exported|generated|imported|indexed|prepared|processed|provisioned|rendered|transcoded){STOP}",
        &[
            "The report is still being generated.",
            "Your order is already being processed",
        ],
        &[
            "The report is being generated",
            "The sandbox is still being used by 3 people",
            "The name is already being used by another user",
            "Wait until the report is no longer still being generated",
        ],
    ),
    Form::new(
        "not ready yet",
        Reading::Condition(Condition::Contention),
        &["ready"],
        r"(?:{EDGE}(?:is |are )?not (?:yet ready|ready yet){STOP}|{EDGE}(?:report|result|results|export|file|document|data|job|transcript|product) (?:is|are) not ready{STOP})",
        &[
            "Report not ready yet, check back in 30 seconds.",
            "the requested product is not yet ready. please provide a webhook",
            "The export is not ready",
        ],
        &[
            "The order is not ready to be shipped",
            "ready must be a boolean",
            "If the report is not ready yet, wait",
        ],
    ),
    Form::new(
        "is loading",
        Reading::Condition(Condition::Contention),
        &["loading"],
        r"{EDGE}(?:(?:is|are) (?:currently|still) loading{STOP}|is loading the dataset in memory{STOP})",
        &[
            "Model bigscience/bloom is currently loading",
            "LOADING Redis is loading the dataset in memory",
        ],
        &[
            "The truck is loading 3 pallets",
            "loading must be one of eager, lazy",
            "The dock is still loading truck 7",
        ],
    ),
    Form::new(
        "conflict while saving",
        Reading::Condition(Condition::Contention),
        &["conflict"],
        r"{EDGE}conflict (?:has )?occurred (?:while|during|when) (?:saving|writing|committing)(?:[.!]|$)",
        &["Conflict occurred while saving."],
        &[
            "A conflict occurred while saving: version 3 is stale",
            "conflict must be one of merge, replace",
        ],
    ),
    Form::new(
        "short limit reached",
        Reading::Condition(Condition::RateLimit),
        &["limit", "hourly"],
        r"(?:{EDGE}(?:api|request|requests|call|calls) limit (?:was |has been |is )?(?:reached|exceeded|hit){STOP}|{EDGE}hourly (?:[a-z]+ ){1,3}(?:was |has been |is )?(?:exceeded|reached){STOP}|{EDGE}(?:reached|exceeded|hit) (?:your|the) (?:hourly|per[ -]minute|per[ -]second) (?:[a-z]+ )?limit)",
        &[
            "(#4) Application request limit reached",
            "The maximum number of hourly API invocations has been exceeded. The hourly limit is 1000.",
            "You have reached your hourly sending limit",
        ],
        &[
            "The request limit must be at most 100",
            "hourly rate must be at most 200",
            "Subscriber limit exceeded: There is a limit of 500 tables",
            "If the hourly limit is reached, wait",
        ],
    ),
    Form::new(
        "renewed in",
        Reading::Delay,
        &["replenish", "renew", "refill", "reset"],
        r"{EDGE}(?:quota|limit|credits|allowance) (?:resets|renews|(?:will|is|are|to) be (?:replenished|renewed|refilled|reset)|will (?:replenish|renew|refill|reset)) in (?:about |~ ?)?(?P<delay>{TIME}){AFTER}",
        &[
            "Out of call volume quota. Quota will be replenished in 06:12:44. => 22364000 ms",
            "Your rate limit resets in ~9s. => 9000 ms",
            "The limit will be reset in 2 minutes => 120000 ms",
        ],
        &[
            "the limit was reset in 5 seconds",
            "If the quota will be renewed in 2 hours, wait",
            "the contract will be renewed in 30 days",
        ],
    ),
];
