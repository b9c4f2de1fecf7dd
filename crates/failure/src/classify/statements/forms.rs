//! The table of forms: everything that is read from prose, and for each form what it must not read.

use regex::Captures;

use super::Expectation;
use super::expected::{Bound, JsonType};
use super::form::{Form, Says, bound, counted, unquoted};

/// Every form. In the samples, `5000 ms` is a delay, `nothing` an effect of none, and `/limit: at most
/// 100` what a member of the input has to be.
pub(super) static FORMS: [Form; 30] = [
    Form::new(
        "repeat in",
        Says::Delay,
        &["retry", "re-try", "again"],
        r"{ASKED}(?:re-?try|try again|re-?try (?:it|(?:this|the|your) (?:same )?(?:request|call|operation))|(?:try|send|submit|repeat) (?:it|(?:this|the|your) (?:same )?(?:request|call|operation)) again|(?:call|ask) again) (?:in|after) ?:? ?(?:(?:about|approximately|at least|another) |~ ?)?(?P<delay>{TIME}){AFTER}",
        &[
            ("retry in 5 seconds", "5000 ms"),
            (
                "An export is already running, retry in 5 seconds.",
                "5000 ms",
            ),
            ("Please try again after 2 minutes", "120000 ms"),
            (
                "Rate limit reached for gpt-4. Please try again in 6m0s. Visit the page to learn more.",
                "360000 ms",
            ),
            (
                "Too many requests from this IP, please try again after 15 minutes",
                "900000 ms",
            ),
            ("retry after 500 ms", "500 ms"),
            ("You may retry the request in about one minute", "60000 ms"),
            ("busy (retry in 1.5s)", "1500 ms"),
            (
                "Slow down and try your request again in 1 minute and 30 seconds!",
                "90000 ms",
            ),
            ("Please ask again in 2 hours", "7200000 ms"),
            ("retry in 2 s, then retry in 5 s", "5000 ms"),
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
        Says::Later,
        &["retry", "re-try", "again"],
        r"{INVITED}(?:re-?try|try again|(?:try|send|submit|repeat) (?:it|(?:this|the|your) (?:same )?(?:request|call|operation)) again|(?:call|ask) again) (?P<later>later|shortly|soon|in {VAGUE}|after {VAGUE}){AFTER}",
        &[
            (
                "The record is locked by another process. Try again later.",
                "30000 ms",
            ),
            (
                "Another deployment is in progress. Try again in a minute.",
                "60000 ms",
            ),
            ("Busy, please try again in a few minutes", "180000 ms"),
            (
                "The index is being rebuilt, please retry shortly",
                "10000 ms",
            ),
            ("You can try again in an hour.", "3600000 ms"),
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
        Says::Later,
        &["wait"],
        r"{INVITED}wait (?P<later>{VAGUE}) before (?:you )?(?:(?:try|trying|retry|retrying|sending|making|send|make)|(?:the|your) next){EDGE}",
        &[
            (
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
                "180000 ms",
            ),
            ("wait a moment before retrying", "10000 ms"),
        ],
        &[
            "we wait a few minutes before trying again",
            "do not wait a minute before trying",
            "wait a minute before the door opens",
        ],
    ),
    Form::new(
        "may be repeated after",
        Says::Delay,
        &["be retried", "be repeated", "be tried again"],
        r"{EDGE}(?:can|may|should) (?:safely )?be (?:retried|repeated|tried again) (?:in|after) (?:(?:about|at least) )?(?P<delay>{TIME}){AFTER}",
        &[
            ("The request can be retried after 30 seconds.", "30000 ms"),
            ("It should be repeated in 2 s", "2000 ms"),
        ],
        &[
            "the job will be retried in 5 seconds",
            "the request can be retried after 3 attempts",
            "the request cannot be retried after 30 seconds",
        ],
    ),
    Form::new(
        "wait",
        Says::Delay,
        &["wait"],
        r"(?:^|[,:(\[–—-] ?|{EDGE}(?:please|must|should|then|and|(?:need|have) to) )wait (?:for )?(?:(?:about|at least|another) )?(?P<delay>{TIME}){AFTER}",
        &[
            ("please wait 30s", "30000 ms"),
            (
                "Wait 10 seconds before you send the next message.",
                "10000 ms",
            ),
            ("You have to wait for at least 5 minutes", "300000 ms"),
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
        Says::Delay,
        &["available", "reset"],
        r"{EDGE}(?:expected available|available again|(?:limit|quota) (?:resets|will reset|will be reset)) in (?P<delay>{TIME}){AFTER}",
        &[
            (
                "Request was throttled. Expected available in 45 seconds.",
                "45000 ms",
            ),
            ("The rate limit resets in 30 seconds", "30000 ms"),
            ("This report is available again in 2 minutes.", "120000 ms"),
        ],
        &[
            "the connection was reset in 5 seconds",
            "no appointment is available in 30 minutes",
            "the limit was reset 5 seconds ago",
        ],
    ),
    Form::new(
        "nothing was changed",
        Says::NothingHappened,
        &["nothing"],
        r"{CLAUSE}nothing (?:(?:was|has been|is) (?:changed|modified|written|saved|created|stored)|changed){END}",
        &[
            ("nothing was changed", "nothing"),
            (
                "An export is already running, nothing was written, ask later",
                "nothing",
            ),
            ("Conflict: nothing has been created", "nothing"),
            (
                "The order could not be created, nothing was saved.",
                "nothing",
            ),
        ],
        &[
            "nothing was written about this",
            "If nothing was changed, call support",
            "it is not true that nothing was changed",
            "nothing was changed in version 2",
            "the invoice was written, but nothing was changed",
            "Perhaps nothing was changed",
            "we cannot tell whether nothing was changed",
            // Of a part, while the rest was done.
            "Order 17 was created, the payment failed. Nothing was saved.",
            "We charged your card. The receipt failed: nothing was written.",
            "Order stored, index timed out, nothing was changed",
            // Of one thing among those a call may do.
            "Order 17 was created, the payment failed. Nothing was charged.",
            "Invoice saved. Nothing was sent.",
            "mail server down: nothing was sent",
            "We charged your card. Sending failed: nothing was sent.",
            "Replication failed: nothing has been done",
            "The order was placed – nothing was charged",
            "The card was declined and nothing was charged.",
        ],
    ),
    Form::new(
        "nothing of its kind was done",
        Says::NothingDeclared,
        &["nothing"],
        r"{CLAUSE}nothing (?:(?:was|has been|is) (?:{DONE}|charged|sent|done|processed|booked|executed)|happened){END}",
        &[
            ("The card was declined and nothing was charged.", "nothing"),
            ("The mail server is down: nothing was sent", "nothing"),
        ],
        &[
            "nothing was sent about this",
            "If nothing was charged, call support",
            "the invoice was written, but nothing was charged",
            "The order was created, the payment failed, nothing was charged",
        ],
    ),
    Form::new(
        "no changes were made",
        Says::NothingHappened,
        &["no "],
        r"{CLAUSE}no (?:changes?|modifications?|side effects?) (?:was|were|has been|have been) (?:made|applied|saved|stored|committed){END}",
        &[
            ("No changes were made.", "nothing"),
            ("Conflict: no changes have been saved", "nothing"),
        ],
        &[
            "no changes were made to the plan in March",
            "no data was sent",
            "no record was found",
            "no changes were made since yesterday",
            "When no changes were made, the old version is given",
            "no changes were made yet",
            "The order was created. No charge was made.",
            "Order stored, payment gateway timed out, no payment was taken",
            "Audit log unavailable, no record was written",
            "The order was accepted. No changes were made.",
        ],
    ),
    Form::new(
        "nothing of a kind was made",
        Says::NothingDeclared,
        &["no "],
        r"{CLAUSE}no (?:(?:data|records?|resources?|state) (?:was|were|has been|have been) {DONE}|(?:charge|payment) (?:was|has been) (?:made|taken|processed)){END}",
        &[
            ("The import failed: no data was written", "nothing"),
            ("Declined, no charge was made", "nothing"),
        ],
        &[
            "no data was sent",
            "no record was found",
            "When no data was written, the old version is given",
            "The order was created, no charge was made",
        ],
    ),
    Form::new(
        "the request was not processed",
        Says::NothingHappened,
        &["not ", "wasn't"],
        r"{CLAUSE}(?:the|your|this) (?:request|call|operation) (?:was not|wasn't|has not been) (?:processed|executed|applied|performed|carried out|started|accepted){END}",
        &[
            ("Your request was not processed.", "nothing"),
            ("the operation wasn't started", "nothing"),
        ],
        &[
            "the previous request was not processed",
            "the request was not processed in time",
            "the request was not processed completely",
            "the item was not processed",
            "the request was not authorized",
            "the transaction was not processed",
            "The first part was saved. The operation was not executed.",
        ],
    ),
    Form::new(
        "the request was rejected before",
        Says::NothingHappened,
        &["before"],
        r"{CLAUSE}(?:the|your|this) (?:request|call|operation) (?:was|has been|is) (?:rejected|refused|dropped|stopped) before (?:(?:it|anything) (?:was|could be) |being |any changes? (?:was|were) )?(?:processed|processing|executed|execution|started|begun|changed|written|saved|stored|created|done|made|applied){END}",
        &[
            ("The request was rejected before processing.", "nothing"),
            (
                "Overloaded: your request was rejected before anything was written",
                "nothing",
            ),
            (
                "the call was refused before any changes were made",
                "nothing",
            ),
        ],
        &[
            "the request was rejected before noon",
            "the request was rejected before processing the second item",
            "your last request was rejected before processing",
            "The order was created. The request was rejected before processing.",
        ],
    ),
    Form::new(
        "the transaction was rolled back",
        Says::NothingDeclared,
        &["not ", "wasn't", "rolled back"],
        r"{CLAUSE}(?:(?:the|your|this) transaction (?:was not|wasn't|has not been) (?:processed|executed|applied|performed|carried out|started|accepted)|(?:the|your|this) (?:request|call|operation|transaction) (?:was|has been) rolled back){END}",
        &[
            ("Deadlock found, the transaction was rolled back", "nothing"),
            ("Your transaction was not processed.", "nothing"),
        ],
        &[
            "Unless the transaction was rolled back, call support",
            "the last transaction was rolled back",
            "The first batch was imported. The second failed and the transaction was rolled back.",
        ],
    ),
    Form::new(
        "changes were rolled back",
        Says::NothingDeclared,
        &["rolled back", "undone", "reverted"],
        r"{CLAUSE}(?:all changes|everything) (?:was|were|has been|have been) (?:rolled back|undone|reverted){END}",
        &[
            (
                "The batch failed and all changes were rolled back.",
                "nothing",
            ),
            ("everything was undone", "nothing"),
        ],
        &[
            "changes were rolled back for two items",
            "all changes were rolled back last week",
            "some say everything was undone",
            "The first batch was imported, the second failed and all changes were rolled back",
        ],
    ),
    Form::new(
        "must not exceed",
        Says::Demand(at_most),
        &["not", "can't"],
        r"{MEMBER}(?:(?:must|may|can|should) ?not|can't|mustn't) (?:exceed|be (?:greater|more|larger|higher|longer) than|be (?:above|over)|have more than) (?P<number>{NUMBER}){UNIT}{END}",
        &[
            ("`limit` may not exceed 100", "/limit: at most 100"),
            ("limit cannot exceed 1,000.", "/limit: at most 1000"),
            (
                "Bad request: the parameter limit must not be greater than 50 (got 80)",
                "/limit: at most 50",
            ),
            (
                "The name field must not be longer than 255 characters",
                "/name: at most 255 characters",
            ),
        ],
        &[
            "limit may not exceed what your plan allows",
            "limit may not exceed 100 percent of the plan",
            "speed may not exceed 100",
            "the page limit may not exceed 100",
            "limit may exceed 100",
            "limit may not exceed 100 when status is open",
        ],
    ),
    Form::new(
        "must be at most",
        Says::Demand(at_most),
        &[
            "at most",
            "more than",
            "less than or",
            "maximum",
            "up to",
            "<=",
            "≤",
        ],
        r"{MEMBER}(?:must|should|has to|can|may) (?:(?:be|have|contain) )?(?:at most|no more than|not more than|less than or equal to|a maximum of|up to|<=|≤) ?(?P<number>{NUMBER}){UNIT}{END}",
        &[
            (
                "name must be at most 255 characters",
                "/name: at most 255 characters",
            ),
            (
                "'limit' must be less than or equal to 100, not 500",
                "/limit: at most 100",
            ),
            ("limit must be <= 100", "/limit: at most 100"),
            (
                "length of name must be at most 20",
                "/name: at most 20 characters",
            ),
        ],
        &[
            "name must be at most as long as status",
            "limit must be at most 100 times the page",
            "height must be at most 255",
        ],
    ),
    Form::new(
        "must be less than",
        Says::Demand(below),
        &["than"],
        r"{MEMBER}(?:must|should|has to) be (?:less|smaller|lower|fewer|shorter) than (?P<number>{NUMBER}){UNIT}{END}",
        &[("limit must be less than 100", "/limit: less than 100")],
        &[
            "limit must be less than 100 of them",
            "limit must be less than the page",
        ],
    ),
    Form::new(
        "must be at least",
        Says::Demand(at_least),
        &["at least", "than", "minimum", ">=", "≥"],
        r"{MEMBER}(?:(?:must|should|has to) (?:(?:be|have|contain) )?(?:at least|no less than|not less than|greater than or equal to|a minimum of|>=|≥)|(?:must|may|can) ?not be (?:less|smaller|lower|shorter) than) ?(?P<number>{NUMBER}){UNIT}{END}",
        &[
            ("page must be at least 1", "/page: at least 1"),
            (
                "`name` must have at least 3 characters",
                "/name: at least 3 characters",
            ),
            ("age cannot be less than 18", "/age: at least 18"),
        ],
        &[
            "page must be at least as new as yours",
            "page must be at least 1 of the open ones",
            "floor must be at least 1",
        ],
    ),
    Form::new(
        "must be greater than",
        Says::Demand(above),
        &["than"],
        r"{MEMBER}(?:must|should|has to) be (?:greater|more|larger|higher|longer) than (?P<number>{NUMBER}){UNIT}{END}",
        &[("page must be greater than 0", "/page: greater than 0")],
        &[
            "page must be greater than the last one",
            "page must be greater than 0 when status is open",
        ],
    ),
    Form::new(
        "must be between",
        Says::Demand(between),
        &["between", "range", "from"],
        r"{MEMBER}(?:must|should|has to) be (?:an? (?:integer|number|value) )?(?:between|in (?:the )?range(?: of)?|from) (?P<least>{NUMBER}) ?(?:and|to|-|–) ?(?P<most>{NUMBER}){UNIT}{END}",
        &[
            ("limit must be between 1 and 100", "/limit: 1 to 100"),
            (
                "age must be an integer between 0 and 150, got 999",
                "/age: 0 to 150",
            ),
            (
                "`name` must be between 3 and 20 characters long",
                "/name: 3 to 20 characters",
            ),
        ],
        &[
            "limit must be between the first and the last",
            "limit must be between 1 and 100 percent",
            "gap must be between 1 and 100",
        ],
    ),
    Form::new(
        "must be a number",
        Says::Demand(exactly),
        &[" be ", "equal"],
        r"{MEMBER}must (?:be|equal) (?:exactly |equal to )?(?P<number>{NUMBER}){UNIT}{END}",
        &[
            ("page must be 7", "/page: 7"),
            (
                "`name` must be exactly 5 characters long",
                "/name: 5 characters",
            ),
        ],
        &[
            "page must be 1 of 5",
            "floor must be 7",
            "page must be 7 days old",
        ],
    ),
    Form::new(
        "must be one of",
        Says::Demand(one_of),
        &["one of", "any of", "either"],
        r#"{MEMBER}(?:must|should|has to|can only) be (?:one of|any of|either)(?: the following(?: values)?)? ?:? ?[\[(]?(?P<values>(?:{VALUE}|{BARE})(?:(?: ?, ?(?:or |and )?| or | ?\| ?)(?:{VALUE}|{BARE}))+)[\])]?{END}"#,
        &[
            (
                "status must be one of open, closed, all",
                "/status: one of open, closed, all",
            ),
            (
                "status must be one of: `open`, `closed` or `all`.",
                "/status: one of open, closed, all",
            ),
            (
                "Invalid value: 'status' must be one of ['open', 'closed']",
                "/status: one of open, closed",
            ),
            (
                "status must be either 'open' or 'closed'",
                "/status: one of open, closed",
            ),
        ],
        &[
            "status must be one of your own",
            "status must be one of yours",
            "status must be one of those that your plan has, or empty",
            "mood must be one of happy, sad",
        ],
    ),
    Form::new(
        "must be this or that",
        Says::Demand(one_of),
        &[" or "],
        r"{MEMBER}(?:must|should|has to|can only) be (?P<values>{VALUE}(?:(?: ?, ?(?:or )?| or ){VALUE})+){END}",
        &[(
            "status must be `open` or `closed`",
            "/status: one of open, closed",
        )],
        &[
            "name must be unique or empty",
            "status must be `open` or empty",
            "status must be `open`",
        ],
    ),
    Form::new(
        "must be of a type",
        Says::Demand(of_type),
        &[" be "],
        r"{MEMBER}(?:must|should|has to) be (?:an? |of type )?(?:valid )?(?P<type>{TYPE}){END}",
        &[
            ("`age` must be an integer", "/age: integer"),
            ("name should be a string, not null", "/name: string"),
            ("age must be of type number.", "/age: number"),
        ],
        &[
            "age must be an integer multiple of 3",
            "name must be a string you own",
            "mood must be a string",
        ],
    ),
    Form::new(
        "must have a form",
        Says::Demand(of_form),
        &[" be a"],
        r"{MEMBER}(?:must|should|has to) be an? (?P<form>(?:valid )?(?:UUID|e-?mail(?: address)?|URL|URI|ISO[ -]8601 (?:date(?:-?time)?|timestamp)|RFC[ -]3339 (?:date(?:-?time)?|timestamp))){END}",
        &[
            (
                "email must be a valid email address",
                "/email: valid email address",
            ),
            ("`page` must be a UUID", "/page: UUID"),
        ],
        &[
            "email must be a valid email address of your company",
            "link must be a URL",
        ],
    ),
    Form::new(
        "is required",
        Says::Demand(present),
        &["required", "missing", "mandatory", " be "],
        r"{MEMBER}(?:is (?:required|missing|mandatory)|must be (?:given|provided|present|specified|set)){END}",
        &[
            ("name is required", "/name: a value"),
            ("The name field is required.", "/name: a value"),
            ("Validation failed: page must be provided", "/page: a value"),
        ],
        &[
            "name is required reading",
            "name is required when status is open",
            "authentication is required",
            "the display name is required",
        ],
    ),
    Form::new(
        "must not be empty",
        Says::Demand(not_empty),
        &["empty", "blank"],
        r"{MEMBER}(?:(?:can|must|may) ?not|can't) be (?:empty|blank){END}",
        &[
            ("name can't be blank", "/name: a value that is not empty"),
            (
                "`email` must not be empty",
                "/email: a value that is not empty",
            ),
        ],
        &[
            "name cannot be empty-handed",
            "the file name cannot be blank",
            "bottle must not be empty",
        ],
    ),
    Form::new(
        "missing member",
        Says::Demand(present),
        &["missing"],
        r"(?P<lead>^|[,:(\[–—-] ?)missing (?:the )?(?:required )?(?:(?:query|body|path|request|input) )?{NOUN} ?:? ?{NAME}{END}",
        &[
            ("missing required field `name`", "/name: a value"),
            ("Bad request: missing parameter: page", "/page: a value"),
        ],
        &[
            "missing required field",
            "missing parameter name of the second filter",
            "missing field `mood`",
            "reports of a missing field name",
        ],
    ),
    Form::new(
        "unknown member",
        Says::Demand(absent),
        &["unknown", "unrecogni", "unexpected", "unsupported"],
        r"{CLAUSE}(?:unknown|unrecogni[sz]ed|unexpected|unsupported) (?:(?:query|body|path|request|input) )?(?:field|parameter|param|property|argument|member|attribute):? {NAME}{END}",
        &[
            ("unknown field page", "/page: no such member"),
            (
                "Bad request: unrecognized query parameter: 'page'",
                "/page: no such member",
            ),
        ],
        &[
            "unknown field mood",
            "unknown field page of the form",
            "unexpected value page",
        ],
    ),
    Form::new(
        "required member is missing",
        Says::Demand(present),
        &["required", "mandatory"],
        r"{CLAUSE}(?:the )?(?:required|mandatory) (?:(?:query|body|path|request|input) )?{NOUN} {NAME} (?:is|was) (?:missing|not (?:given|provided|present|set)){END}",
        &[
            ("required parameter 'page' is missing", "/page: a value"),
            (
                "The required query parameter page was not provided.",
                "/page: a value",
            ),
        ],
        &[
            "required parameter 'mood' is missing",
            "required parameter page is missing from the documentation",
        ],
    ),
];

fn at_most(captures: &Captures<'_>) -> Option<Expectation> {
    Some(within(None, bound(captures, "number", true), captures))
}

fn below(captures: &Captures<'_>) -> Option<Expectation> {
    Some(within(None, bound(captures, "number", false), captures))
}

fn at_least(captures: &Captures<'_>) -> Option<Expectation> {
    Some(within(bound(captures, "number", true), None, captures))
}

fn above(captures: &Captures<'_>) -> Option<Expectation> {
    Some(within(bound(captures, "number", false), None, captures))
}

fn between(captures: &Captures<'_>) -> Option<Expectation> {
    let (least, most) = (
        bound(captures, "least", true),
        bound(captures, "most", true),
    );
    Some(within(least, most, captures))
}

fn exactly(captures: &Captures<'_>) -> Option<Expectation> {
    let number = bound(captures, "number", true);
    Some(within(number.clone(), number, captures))
}

fn within(least: Option<Bound>, most: Option<Bound>, captures: &Captures<'_>) -> Expectation {
    Expectation::Within {
        least,
        most,
        counted: counted(captures),
    }
}

fn one_of(captures: &Captures<'_>) -> Option<Expectation> {
    let values = captures["values"].split([',', '|']);
    let values = values.flat_map(|it| it.split(" or "));
    let values = values.map(|it| {
        let it = it.trim();
        let it = it
            .strip_prefix("or ")
            .or(it.strip_prefix("and "))
            .unwrap_or(it);
        unquoted(it.trim()).to_owned()
    });
    let values: Vec<String> = values.collect();
    (!values.iter().any(String::is_empty)).then_some(Expectation::OneOf(values))
}

fn of_type(captures: &Captures<'_>) -> Option<Expectation> {
    JsonType::of_word(&captures["type"]).map(Expectation::Type)
}

fn of_form(captures: &Captures<'_>) -> Option<Expectation> {
    Some(Expectation::Form(captures["form"].to_owned()))
}

#[expect(clippy::unnecessary_wraps, reason = "one signature for all forms")]
fn present(_: &Captures<'_>) -> Option<Expectation> {
    Some(Expectation::Present)
}

#[expect(clippy::unnecessary_wraps, reason = "one signature for all forms")]
fn absent(_: &Captures<'_>) -> Option<Expectation> {
    Some(Expectation::Absent)
}

#[expect(clippy::unnecessary_wraps, reason = "one signature for all forms")]
fn not_empty(_: &Captures<'_>) -> Option<Expectation> {
    Some(Expectation::NotEmpty)
}
