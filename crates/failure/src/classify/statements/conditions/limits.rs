//! The forms of limits: what is used up, and what was called too often.

use super::super::form::{Form, report};
use super::Condition;

/// A quota, credits or storage are used up.
pub(super) static EXHAUSTED: [Form; 4] = [
    Form::new(
        "quota used up",
        report(Condition::Exhausted),
        &["quota", "limit", "allowance", "credit", "budget", "balance"],
        r"(?:{EDGE}(?:(?:hourly|daily|weekly|monthly|yearly|annual|account|storage|disk|usage|current|plan|free|trial|spending|billing|compute|organi[sz]ation|project|namespace))(?:[ -][a-z]+){0,2} (?:quota|limit|allowance|credits|budget) (?:has been |have been |was |is |are )?(?:exceeded|reached|exhausted|used up|spent|depleted)(?:{STOP}| for (?:this|the|your)| \(| of)|{EDGE}(?:exceeded|reached|used up|exhausted|spent|hit) (?:your|its|our|all your|all of your) (?:[a-z]+ )?(?:hourly|daily|weekly|monthly|yearly|annual|account|storage|disk|usage|current|plan|free|trial|spending|billing|compute|organi[sz]ation|project|namespace)(?:[ -][a-z]+){0,2} (?:quota|limit|allowance|credits|budget){EDGE}|{EDGE}exceeded quota: |{EDGE}insufficient_quota{EDGE}|{EDGE}storage ?quota (?:has been |is )?exceeded|(?:^|[:(.] ?|{EDGE}(?:has|have|had|the|with|due to) )insufficient (?:[a-z]+ )?(?:credits?|quota){EDGE}|{EDGE}(?:credit|account|prepaid) balance is (?:too low|insufficient|exhausted|zero){EDGE}|{EDGE}(?:(?:out of|(?:run|ran) out of) (?:[a-z]+ )?(?:credits|quota)|no(?: more)? (?:[a-z]+ )?(?:credits|quota) (?:left|remaining|available)){STOP}|{EDGE}quota (?:has been |is |was )?(?:exhausted|used up|depleted)(?:{STOP}| for))",
        &[
            "Monthly quota exceeded (1000/1000 requests). Quota resets on the 1st.",
            "Daily request limit reached. Try again tomorrow.",
            "Daily sending limit reached.",
            "You exceeded your current quota, please check your plan and billing details.",
            "pods \"web\" is forbidden: exceeded quota: compute, requested: cpu=2",
            "Insufficient credits: this call costs 5, you have 2",
            "Your credit balance is too low to access the API.",
            "{'code': 'insufficient_quota'}",
            "You have used up your monthly credits.",
            "The user's Drive storage quota has been exceeded.",
        ],
        &[
            "daily_limit must be at most 5",
            "The amount exceeds the daily limit of the card",
            "daily limit reached_at must be a date",
            "If your monthly quota is exceeded, wait",
            "the quota of the plan is 5",
            "insufficient credits_column",
            "the page has no credits",
            "No page titled monthly quota exceeded",
            "reached the plan limit of the map",
            "File not found: monthly quota exceeded.csv",
            "no credits section in the film",
        ],
    ),
    Form::new(
        "space used up",
        report(Condition::Exhausted),
        &["space", "disk", "storage", "oom command", "capacity"],
        r"(?:{EDGE}no space left on (?:the )?device{EDGE}|{EDGE}ENOSPC{EDGE}|(?:^|[:.(] ?|{EDGE}(?:the|your|a) )(?:disk|volume|file ?system|storage) (?:is |was )?(?:full|out of space){STOP}|{EDGE}(?:not enough|insufficient|out of|no more) (?:free )?(?:disk|storage) space{EDGE}|{EDGE}insufficient (?:[a-z]+ )?(?:storage|capacity){STOP}|{EDGE}disk quota exceeded|{EDGE}OOM command not allowed{EDGE})",
        &[
            "[Errno 28] No space left on device",
            "tar: backup.tar: Cannot write: No space left on device",
            "could not extend file \"base/1\": No space left on device",
            "The disk is full.",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "Insufficient instance capacity.",
            "Disk quota exceeded",
        ],
        &[
            "disk is full of old pages",
            "no space left in the name",
            "storage is full_text",
            "the space id is unknown",
            "No results for 'no space left on device'",
            "capacity must be at least 1",
            "insufficient storage_class",
        ],
    ),
    Form::new(
        "needs another plan",
        report(Condition::Exhausted),
        &["upgrade"],
        r"(?:(?:^|[,:;(–—-] ?|{EDGE}(?:please|must|to continue,) )upgrade (?:at [·h]|your (?:plan|account|subscription|tier)(?:{STOP}| to{EDGE}| for{EDGE}| at{EDGE})|to (?:a|an|the|our|one of our) (?:[a-z]+ )?(?:paid |higher )?(?:plan|tier|subscription){EDGE}))",
        &[
            "This feature is only available on the Enterprise plan. Upgrade at https://acme.com/pricing",
            "Please upgrade your plan to create more projects.",
            "Project limit reached, upgrade to a paid plan",
        ],
        &[
            "Failed to upgrade your plan",
            "upgrade at step 3 failed",
            "upgrade the plan of the other account first",
            "No page named 'upgrade your plan'",
            "Upgrade your plan.md first",
        ],
    ),
    Form::new(
        "exception of quotas",
        report(Condition::Exhausted),
        &["limit", "quota", "capacity"],
        r"(?:{EDGE}an error occurred \([A-Za-z]*(?:LimitExceeded|QuotaExceeded|InsufficientInstanceCapacity)[A-Za-z]*\) when calling|(?:^|: ?|\()(?:[A-Za-z_][{WORD}]*\.)*[A-Za-z]*QuotaExceeded(?:Error|Exception)?(?:$|[:(]))",
        &[
            "An error occurred (VpcLimitExceeded) when calling the CreateVpc operation: The maximum number of VPCs has been reached.",
            "com.acme.QuotaExceededException: namespace web has no cpu left",
        ],
        &[
            "the class QuotaExceededException is not registered",
            "LengthLimitExceeded: at most 80 characters",
        ],
    ),
];

/// A rate limit was exceeded.
pub(super) static RATES: [Form; 2] = [
    Form::new(
        "rate limit exceeded",
        report(Condition::RateLimit),
        &[
            "rate limit",
            "rate-limit",
            "too many requests",
            "throttl",
            "rate exceeded",
            "request rate",
            "quota",
            "limit of",
            "limit exceeded",
            "limit reached",
        ],
        r"(?:{EDGE}rate[ -]limit(?:s|ing)? (?:was |has been |is )?(?:exceeded|hit|reached)(?:{STOP}| (?:for|on|by|in|at|of|from|while|when|due|with|after|during|because|per|and|please|try){EDGE})|{EDGE}(?:exceeded|hit|reached|over) (?:(?:a|an|the|your|its|our) )?(?:[{WORD}-]+ )?rate[ -]limit|{EDGE}rate[ -]limited{EDGE}|{EDGE}too many requests{STOP}|{EDGE}(?:was|is|been|being) throttled{EDGE}|(?:^|: ?)throttl(?:ed|ing)(?: ?:|[.!]?$| by{EDGE})|{EDGE}rate exceeded{STOP}|{EDGE}reduce your request rate{EDGE}|{EDGE}quota exceeded for .{1,80}per (?:second|minute|hour)|{EDGE}(?:quota|limit) of [0-9]+ [a-z]+ per (?:second|minute|hour) (?:was |has been |is )?(?:exceeded|reached)|{EDGE}(?:api|request|call)s?[ -](?:call )?limit (?:exceeded|reached){STOP})",
        &[
            "You have exceeded a secondary rate limit.",
            "API rate limit exceeded for user 12",
            "Rate limited by upstream API",
            "Error: Too Many Requests",
            "Throttled: query cost 752 exceeds available 120 points",
            "ThrottlingException: Rate exceeded",
            "Please reduce your request rate.",
            "Quota of 60 requests per minute exceeded",
            "Quota exceeded for quota metric 'Read' and limit 'Read requests per minute' of service 'a.b'",
        ],
        &[
            "rate limit must be at most 100",
            "the rate limit of the plan is 5",
            "If the rate limit is exceeded, wait",
            "Too many requests in batch: 120, at most 50 are allowed",
            "Rate limit exceeded test failed",
            "No results for 'rate limited'",
            "File not found: docs/rate limit exceeded.md",
            "throttled_at must be a date",
            "the limit of 60 requests per minute cannot be changed",
            "Expected the error Rate limit exceeded",
            "Make sure you have not exceeded the rate limit",
        ],
    ),
    Form::new(
        "exception of rates",
        report(Condition::RateLimit),
        &[
            "throttl",
            "toomanyrequests",
            "slowdown",
            "ratelimit",
            "requestlimit",
            "throughput",
        ],
        r"(?:^|: ?|\()(?:[A-Za-z_][{WORD}]*\.)*(?:Throttl(?:ing|ed)|RequestThrottled|EC2Throttled|TooManyRequests|SlowDown|RateLimit(?:ed|Exceeded)?|RequestLimitExceeded|ProvisionedThroughputExceeded)(?:Error|Exception)?(?:$|\) when{EDGE}|: |\()",
        &[
            "An error occurred (ThrottlingException) when calling the DescribeInstances operation (reached max retries: 4): no",
            "An error occurred (SlowDown) when calling the PutObject operation: no",
            "openai.RateLimitError: no",
        ],
        &[
            "the class RateLimitError is not registered",
            "SlowDownLane is not a name",
        ],
    ),
];
