//! The forms of demands: how texts state what a member of the input has to be.

use regex::Captures;

use super::Expectation;
use super::expected::{Bound, JsonType};
use super::form::{Form, Reading, bound, counted, unquoted};

/// Every form of a demand. In the samples, `/limit: at most 100` is the member and its expected value.
pub(super) static DEMANDS: [Form; 16] = [
    Form::new(
        "must not exceed",
        Reading::Demand(|it| within(None, bound(it, "number", true), it)),
        &["not", "can't"],
        r"{MEMBER}(?:(?:must|may|can|should) ?not|can't|mustn't) (?:exceed|be (?:greater|more|larger|higher|longer) than|be (?:above|over)|have more than) (?P<number>{NUMBER}){UNIT}{END}",
        &[
            "`limit` may not exceed 100 => /limit: at most 100",
            "limit cannot exceed 1,000. => /limit: at most 1000",
            "Bad request: the parameter limit must not be greater than 50 (got 80) => /limit: at most 50",
            "The name field must not be longer than 255 characters => /name: at most 255 characters",
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
        Reading::Demand(|it| within(None, bound(it, "number", true), it)),
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
            "name must be at most 255 characters => /name: at most 255 characters",
            "'limit' must be less than or equal to 100, not 500 => /limit: at most 100",
            "limit must be <= 100 => /limit: at most 100",
            "length of name must be at most 20 => /name: at most 20 characters",
        ],
        &[
            "name must be at most as long as status",
            "limit must be at most 100 times the page",
            "height must be at most 255",
        ],
    ),
    Form::new(
        "must be less than",
        Reading::Demand(|it| within(None, bound(it, "number", false), it)),
        &["than"],
        r"{MEMBER}(?:must|should|has to) be (?:less|smaller|lower|fewer|shorter) than (?P<number>{NUMBER}){UNIT}{END}",
        &["limit must be less than 100 => /limit: less than 100"],
        &[
            "limit must be less than 100 of them",
            "limit must be less than the page",
        ],
    ),
    Form::new(
        "must be at least",
        Reading::Demand(|it| within(bound(it, "number", true), None, it)),
        &["at least", "than", "minimum", ">=", "≥"],
        r"{MEMBER}(?:(?:must|should|has to) (?:(?:be|have|contain) )?(?:at least|no less than|not less than|greater than or equal to|a minimum of|>=|≥)|(?:must|may|can) ?not be (?:less|smaller|lower|shorter) than) ?(?P<number>{NUMBER}){UNIT}{END}",
        &[
            "page must be at least 1 => /page: at least 1",
            "`name` must have at least 3 characters => /name: at least 3 characters",
            "age cannot be less than 18 => /age: at least 18",
        ],
        &[
            "page must be at least as new as yours",
            "page must be at least 1 of the open ones",
            "floor must be at least 1",
        ],
    ),
    Form::new(
        "must be greater than",
        Reading::Demand(|it| within(bound(it, "number", false), None, it)),
        &["than"],
        r"{MEMBER}(?:must|should|has to) be (?:greater|more|larger|higher|longer) than (?P<number>{NUMBER}){UNIT}{END}",
        &["page must be greater than 0 => /page: greater than 0"],
        &[
            "page must be greater than the last one",
            "page must be greater than 0 when status is open",
        ],
    ),
    Form::new(
        "must be between",
        Reading::Demand(|it| within(bound(it, "least", true), bound(it, "most", true), it)),
        &["between", "range", "from"],
        r"{MEMBER}(?:must|should|has to) be (?:an? (?:integer|number|value) )?(?:between|in (?:the )?range(?: of)?|from) (?P<least>{NUMBER}) ?(?:and|to|-|–) ?(?P<most>{NUMBER}){UNIT}{END}",
        &[
            "limit must be between 1 and 100 => /limit: 1 to 100",
            "age must be an integer between 0 and 150, got 999 => /age: 0 to 150",
            "`name` must be between 3 and 20 characters long => /name: 3 to 20 characters",
        ],
        &[
            "limit must be between the first and the last",
            "limit must be between 1 and 100 percent",
            "gap must be between 1 and 100",
        ],
    ),
    Form::new(
        "must be a number",
        Reading::Demand(|it| within(bound(it, "number", true), bound(it, "number", true), it)),
        &[" be ", "equal"],
        r"{MEMBER}must (?:be|equal) (?:exactly |equal to )?(?P<number>{NUMBER}){UNIT}{END}",
        &[
            "page must be 7 => /page: 7",
            "`name` must be exactly 5 characters long => /name: 5 characters",
        ],
        &[
            "page must be 1 of 5",
            "floor must be 7",
            "page must be 7 days old",
        ],
    ),
    Form::new(
        "must be one of",
        Reading::Demand(one_of),
        &["one of", "any of", "either"],
        r#"{MEMBER}(?:must|should|has to|can only) be (?:one of|any of|either)(?: the following(?: values)?)? ?:? ?[\[(]?(?P<values>(?:{VALUE}|{BARE})(?:(?: ?, ?(?:or |and )?| or | ?\| ?)(?:{VALUE}|{BARE}))+)[\])]?{END}"#,
        &[
            "status must be one of open, closed, all => /status: one of open, closed, all",
            "status must be one of: `open`, `closed` or `all`. => /status: one of open, closed, all",
            "Invalid value: 'status' must be one of ['open', 'closed'] => /status: one of open, closed",
            "status must be either 'open' or 'closed' => /status: one of open, closed",
        ],
        &[
            "status must be one of your own",
            "status must be one of yours",
            "status must be one of those that your plan has, or empty",
            "mood must be one of happy, sad",
        ],
    ),
    Form::new(
        "must be one of two values",
        Reading::Demand(one_of),
        &[" or "],
        r"{MEMBER}(?:must|should|has to|can only) be (?P<values>{VALUE}(?:(?: ?, ?(?:or )?| or ){VALUE})+){END}",
        &["status must be `open` or `closed` => /status: one of open, closed"],
        &[
            "name must be unique or empty",
            "status must be `open` or empty",
            "status must be `open`",
        ],
    ),
    Form::new(
        "must be of a type",
        Reading::Demand(|it| JsonType::of_word(&it["type"]).map(Expectation::Type)),
        &[" be "],
        r"{MEMBER}(?:must|should|has to) be (?:an? |of type )?(?:valid )?(?P<type>{TYPE}){END}",
        &[
            "`age` must be an integer => /age: integer",
            "name should be a string, not null => /name: string",
            "age must be of type number. => /age: number",
        ],
        &[
            "age must be an integer multiple of 3",
            "name must be a string you own",
            "mood must be a string",
        ],
    ),
    Form::new(
        "must have a format",
        Reading::Demand(|it| Some(Expectation::Form(it["form"].to_owned()))),
        &[" be a"],
        r"{MEMBER}(?:must|should|has to) be an? (?P<form>(?:valid )?(?:UUID|e-?mail(?: address)?|URL|URI|ISO[ -]8601 (?:date(?:-?time)?|timestamp)|RFC[ -]3339 (?:date(?:-?time)?|timestamp))){END}",
        &[
            "email must be a valid email address => /email: valid email address",
            "`page` must be a UUID => /page: UUID",
        ],
        &[
            "email must be a valid email address of your company",
            "link must be a URL",
        ],
    ),
    Form::new(
        "is required",
        Reading::Demand(|_| Some(Expectation::Present)),
        &["required", "missing", "mandatory", " be "],
        r"{MEMBER}(?:is (?:required|missing|mandatory)|must be (?:given|provided|present|specified|set)){END}",
        &[
            "name is required => /name: a value",
            "The name field is required. => /name: a value",
            "Validation failed: page must be provided => /page: a value",
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
        Reading::Demand(|_| Some(Expectation::NotEmpty)),
        &["empty", "blank"],
        r"{MEMBER}(?:(?:can|must|may) ?not|can't) be (?:empty|blank){END}",
        &[
            "name can't be blank => /name: a value that is not empty",
            "`email` must not be empty => /email: a value that is not empty",
        ],
        &[
            "name cannot be empty-handed",
            "the file name cannot be blank",
            "bottle must not be empty",
        ],
    ),
    Form::new(
        "missing member",
        Reading::Demand(|_| Some(Expectation::Present)),
        &["missing"],
        r"(?P<lead>^|[,:(\[–—-] ?)missing (?:the )?(?:required )?(?:(?:query|body|path|request|input) )?{NOUN} ?:? ?{NAME}{END}",
        &[
            "missing required field `name` => /name: a value",
            "Bad request: missing parameter: page => /page: a value",
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
        Reading::Demand(|_| Some(Expectation::Absent)),
        &["unknown", "unrecogni", "unexpected", "unsupported"],
        r"{CLAUSE}(?:unknown|unrecogni[sz]ed|unexpected|unsupported) (?:(?:query|body|path|request|input) )?(?:field|parameter|param|property|argument|member|attribute):? {NAME}{END}",
        &[
            "unknown field page => /page: no such member",
            "Bad request: unrecognized query parameter: 'page' => /page: no such member",
        ],
        &[
            "unknown field mood",
            "unknown field page of the form",
            "unexpected value page",
        ],
    ),
    Form::new(
        "required member is missing",
        Reading::Demand(|_| Some(Expectation::Present)),
        &["required", "mandatory"],
        r"{CLAUSE}(?:the )?(?:required|mandatory) (?:(?:query|body|path|request|input) )?{NOUN} {NAME} (?:is|was) (?:missing|not (?:given|provided|present|set)){END}",
        &[
            "required parameter 'page' is missing => /page: a value",
            "The required query parameter page was not provided. => /page: a value",
        ],
        &[
            "required parameter 'mood' is missing",
            "required parameter page is missing from the documentation",
        ],
    ),
];

fn within(
    least: Option<Bound>,
    most: Option<Bound>,
    captures: &Captures<'_>,
) -> Option<Expectation> {
    Some(Expectation::Within {
        least,
        most,
        counted: counted(captures),
    })
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
