//! The forms of conditions: what a text reports where no code and no status states it.

use super::form::{Form, Reading};

/// A condition that a text reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// The caller has to sign in, or its credential has expired.
    SignIn,
    /// A rate limit was exceeded.
    RateLimit,
    /// A timeout was exceeded.
    Timeout,
    /// A connection could not be established.
    NoConnection,
    /// A connection was lost.
    ConnectionLost,
    /// A service is temporarily down, overloaded or locked.
    Unavailable,
    /// Another operation on the same resource is in progress.
    Contention,
    /// Earlier work, perhaps for this very call, is not finished.
    Unfinished,
}

impl Condition {
    /// Whether it can pass without a change of the input.
    pub const fn passes(self) -> bool {
        !matches!(self, Self::SignIn)
    }

    /// Whether the service refused the call before it began its work.
    pub const fn is_refusal(self) -> bool {
        matches!(self, Self::SignIn | Self::RateLimit | Self::Contention)
    }
}

/// Every form of a condition. The first match wins: by sentence, then by the order of this table.
pub(super) static CONDITIONS: [Form; 14] = [
    Form::new(
        "session expired",
        Reading::Condition(Condition::SignIn),
        &["session", "token", "jwt", "credentials"],
        r"(?:(?:^|[,:(] ?|{EDGE}(?:your|user|login) )(?:login )?session (?:has |is |was )?(?:expired|timed out|no longer valid)|{EDGE}(?:access|bearer|auth|authentication|authorization|api|id|oauth|security|session|login) ?token (?:has |is |was )?(?:expired|revoked|no longer valid|invalid)|{EDGE}jwt (?:has |is )?expired|{EDGE}credentials (?:have |are )?(?:expired|no longer valid))",
        &[
            "Session expired, please log in again",
            "Your session has timed out.",
            "Error calling tool 'list': the access token has expired",
            "jwt expired",
            "The credentials have expired",
        ],
        &[
            "The upload session has expired, create a new one",
            "Checkout session expired",
            "next_page_token has expired",
            "The page token is invalid",
            "session timeout must be at most 30",
            "If your session has expired, sign in",
        ],
    ),
    Form::new(
        "sign in",
        Reading::Condition(Condition::SignIn),
        &[
            "log in",
            "sign in",
            "login",
            "logged in",
            "signed in",
            "authenticat",
        ],
        r"(?:{ASKED}(?:log|sign) in(?: again| first)?{STOP}|{EDGE}(?:must|need to|have to) (?:be (?:logged|signed) in|(?:log|sign) in){EDGE}|{EDGE}(?:must|need to|have to|please) (?:re-?)?authenticate{STOP}|(?:^|{EDGE}(?:user|you|client|caller|request|session) (?:is |are )?)not (?:logged in|signed in|authenticated){STOP}|(?:^|{EDGE}error: ?)authentication (?:is )?(?:required|failed|expired){STOP}|(?:^|{EDGE}error: ?)unauthenticated{STOP})",
        &[
            "You must be logged in to do this",
            "Please sign in again.",
            "User is not logged in",
            "Authentication required",
            "Error: Authentication failed: bad token",
        ],
        &[
            "the field login is required",
            "Login is required",
            "name is required, login is required",
            "You must authenticate the sender address first",
            "The domain is not authenticated.",
            "two-factor authentication is required for members of the group",
            "authentication_method must be one of password, key",
            "If you are not logged in, sign in first",
            "the user signed in twice",
        ],
    ),
    Form::new(
        "unauthorized",
        Reading::Condition(Condition::SignIn),
        &["unauthorized", "api key", "bad credentials"],
        r"(?:(?:^|: ?|{EDGE}error:? )(?:401 )?unauthorized{STOP}|{EDGE}(?:invalid|incorrect|expired) api key(?: provided)?{STOP}|{EDGE}api key (?:is |was )?(?:invalid|expired|revoked|not valid){STOP}|(?:^|: ?)bad credentials{STOP})",
        &[
            "Unauthorized",
            "Error executing tool get: Unauthorized.",
            "Incorrect API key provided: [REDACTED]",
            "Authentication Failed: Bad credentials",
        ],
        &[
            "unauthorized_users must be a list",
            "the report of unauthorized access is empty",
            "api key names may not exceed 30 characters",
            "Invalid API key name",
            "missing api key in body",
        ],
    ),
    Form::new(
        "rate limit exceeded",
        Reading::Condition(Condition::RateLimit),
        &["rate limit", "rate-limit", "too many requests", "throttled"],
        r"(?:{EDGE}rate[ -]limit(?:s|ing)? (?:was |has been |is )?(?:exceeded|hit|reached)|{EDGE}(?:exceeded|hit|reached|over) (?:(?:a|an|the|your|its|our) )?(?:[{WORD}-]+ )?rate[ -]limit|{EDGE}rate[ -]limited{EDGE}|{EDGE}too many requests{STOP}|{EDGE}(?:was|is|been|being) throttled{EDGE})",
        &[
            "You have exceeded a secondary rate limit.",
            "API rate limit exceeded for user 12",
            "Rate limited by upstream API",
            "Error: Too Many Requests",
        ],
        &[
            "rate limit must be at most 100",
            "the rate limit of the plan is 5",
            "If the rate limit is exceeded, wait",
            "Too many requests in batch: 120, at most 50 are allowed",
            "Make sure you have not exceeded the rate limit",
        ],
    ),
    Form::new(
        "timed out",
        Reading::Condition(Condition::Timeout),
        &["timed out", "timed-out"],
        r"{EDGE}timed[ -]out(?: (?:after|while|waiting|when|during|before|on|in|at|reading|connecting|trying|for|error){EDGE}|{STOP})",
        &[
            "Request timed out after 30s",
            "The read operation timed out",
            "Timed out when reading from the database",
            "Error executing tool search: upstream timed out.",
        ],
        &[
            "timed out jobs cannot be filtered",
            "If the request timed out, send it once more",
            "the state must be one of open, timed_out",
        ],
    ),
    Form::new(
        "timeout exceeded",
        Reading::Condition(Condition::Timeout),
        &["timeout", "time-out", "deadline exceeded"],
        r"(?:{EDGE}(?:timeout|time-out) of [0-9]+ ?(?:ms|s|seconds|milliseconds)? ?(?:was )?(?:exceeded|reached)|{EDGE}(?:timeout|time-out) (?:expired|exceeded|reached|occurred|elapsed|while|waiting){EDGE}|{EDGE}(?:aborted|cancell?ed|failed|terminated|stopped|interrupted) (?:due to|because of|by|after|with) (?:an? |the )?(?:[{WORD}]+ )?(?:timeout|time-out){EDGE}|(?:^|{EDGE}error: ?)(?:(?:read|connect|connection|request|gateway|query|statement|operation|socket|network|response|server|execution) )?(?:timeout|time-out)(?: error)?(?:[.!]?$| after {EDGE})|{EDGE}deadline exceeded{STOP})",
        &[
            "timeout of 10000ms exceeded",
            "Query execution was interrupted, statement timeout exceeded",
            "canceling statement: aborted due to statement timeout",
            "Error: Gateway Timeout",
            "rpc error: context deadline exceeded",
            "Read timeout.",
        ],
        &[
            "timeout must be at most 30",
            "connection timeout: expected an integer",
            "Invalid value for parameter timeout",
            "the timeout of 30 s cannot be changed",
            "unknown option timeout",
            "Unknown parameter: timeout",
            "Missing required parameter: timeout.",
            "Timeout, must be an integer",
            "The deadline exceeded the maximum of 30 days",
        ],
    ),
    Form::new(
        "timeout exception",
        Reading::Condition(Condition::Timeout),
        &["timeout"],
        r"(?:^|: ?|\()(?:[A-Za-z_][{WORD}]*\.)*(?:[A-Za-z]*Timeout(?:Error|Exception)|(?:Read|Write|Connect|Connection|Pool)Timeout)(?:$|[:(])",
        &[
            "TimeoutError: ",
            "httpx.ReadTimeout: The read did not end",
            "Error executing tool get: APITimeoutError(30)",
            "java.net.SocketTimeoutException: Read",
        ],
        &[
            "the class TimeoutError is not registered",
            "unknown member ReadTimeout",
        ],
    ),
    Form::new(
        "no connection",
        Reading::Condition(Condition::NoConnection),
        &[
            "connect",
            "econnrefused",
            "unreachable",
            "no route",
            "name resolution",
            "eai_again",
            "fetch failed",
        ],
        r"(?:{EDGE}connection (?:attempt )?(?:was |has been )?refused{EDGE}|{EDGE}(?:could not|couldn't|can't|unable to|failed to) connect (?:to (?:[{WORD}\[/]|the )|[:(])|{EDGE}(?:could not|couldn't|unable to|failed to) connect{STOP}|{EDGE}ECONNREFUSED{EDGE}|{EDGE}EHOSTUNREACH{EDGE}|{EDGE}ENETUNREACH{EDGE}|{EDGE}EAI_AGAIN{EDGE}|{EDGE}no route to host{EDGE}|{EDGE}(?:network|host|server|database) (?:is )?unreachable{EDGE}|{EDGE}temporary failure in name resolution{EDGE}|(?:^|: ?)(?:TypeError: )?fetch failed{STOP})",
        &[
            "[Errno 111] Connection refused",
            "could not connect to server: is it running?",
            "connect ECONNREFUSED 127.0.0.1:5432",
            "Can't connect to MySQL server on 'db'",
            "TypeError: fetch failed",
            "Temporary failure in name resolution",
        ],
        &[
            "could not connect node a with node b",
            "connection 'warehouse' does not exist",
            "connection_string is required",
            "failed to connect account 7 to account 8",
            "If the connection was refused, start the server",
        ],
    ),
    Form::new(
        "lost connection",
        Reading::Condition(Condition::ConnectionLost),
        &["connection", "hang up", "econnreset", "broken pipe"],
        r"(?:{EDGE}(?:connection|link) (?:was |has been |is |got )?(?:reset|lost|aborted|dropped|interrupted|broken|terminated|closed (?:unexpectedly|by (?:the )?(?:peer|server|remote|upstream|foreign host)))|{EDGE}closed the connection{EDGE}|{EDGE}lost (?:the )?connection{EDGE}|{EDGE}socket hang up{EDGE}|{EDGE}ECONNRESET{EDGE}|{EDGE}broken pipe{EDGE})",
        &[
            "read tcp: connection reset by peer",
            "server closed the connection unexpectedly",
            "socket hang up",
            "Lost connection to MySQL server during query",
        ],
        &[
            "the connection is closed, open one first",
            "connection 7 was lost in the merge of the diagram's connections list",
            "If the connection was lost, open one",
            "connection pool size must be at least 1",
        ],
    ),
    Form::new(
        "connection exception",
        Reading::Condition(Condition::ConnectionLost),
        &["connect"],
        r"(?:^|: ?|\()(?:[A-Za-z_][{WORD}]*\.)*(?:[A-Za-z]*Connect(?:ion|or|ion(?:Refused|Reset|Aborted))?(?:Error|Exception))(?:$|[:(])",
        &[
            "ConnectionError: db down",
            "httpx.ConnectError: All attempts failed",
            "Error calling tool 'get': redis.exceptions.ConnectionError: Error 111",
            "java.net.ConnectException: no",
        ],
        &[
            "the class ConnectionError is not registered",
            "connection error handling must be one of retry, stop",
        ],
    ),
    Form::new(
        "service unavailable",
        Reading::Condition(Condition::Unavailable),
        &[
            "unavailable",
            "overloaded",
            "down",
            "offline",
            "busy",
            "not responding",
            "not available",
        ],
        r"(?:{EDGE}(?:service|server|database|db|backend|api|upstream|system|cluster|model) (?:is |are )?(?:currently |temporarily |now |too )?(?:unavailable|overloaded|down|offline|busy|not responding)(?:{STOP}| for (?:scheduled |planned )?maintenance| right now| at the moment| due )|{EDGE}resource temporarily unavailable{STOP}|{EDGE}(?:service|server|database|backend|api|system) is (?:currently |temporarily )?not available{STOP})",
        &[
            "Service Unavailable",
            "Error: the database is down",
            "The server is currently overloaded.",
            "Resource temporarily unavailable",
            "The system is down for maintenance",
        ],
        &[
            "the product is currently unavailable",
            "table 7 is not available on that date",
            "service unavailable_dates must be a list",
            "If the service is unavailable, call the desk",
            "the slot is busy",
            "The site is unavailable for these dates",
            "the service is unavailable for children",
        ],
    ),
    Form::new(
        "temporarily locked",
        Reading::Condition(Condition::Unavailable),
        &[
            "deadlock",
            "is locked",
            "serialize access",
            "too many connections",
            "too many clients",
        ],
        r"(?:{EDGE}deadlock (?:found|detected){EDGE}|{EDGE}database (?:[{WORD}]+ )?is locked{STOP}|{EDGE}could not serialize access{EDGE}|{EDGE}too many (?:connections|clients)(?: already)?{STOP})",
        &[
            "sqlite3.OperationalError: database is locked",
            "ERROR: deadlock detected",
            "FATAL: sorry, too many clients already",
        ],
        &[
            "the account is locked",
            "deadlock_timeout must be an integer",
            "too many clients in the list, at most 10",
            "too many connections selected (max 5)",
            "the door is locked",
        ],
    ),
    Form::new(
        "another operation in progress",
        Reading::Condition(Condition::Contention),
        &["in progress", "running", "contention"],
        r"(?:{EDGE}(?:another|a different) (?:[a-z]+ ){0,2}(?:operation|request|deployment|job|export|import|transaction|process|build|update|backup|migration|sync)(?: (?:on|for|of) [^.;:!?]{1,80}?)? is (?:already |currently |still )?(?:in progress|running){STOP}|{EDGE}(?:due to|because of) (?:[a-z]+ ){0,2}contention{STOP})",
        &[
            "Another operation on this or dependent resource is in progress.",
            "Another deployment for web is already running; start it later",
            "The transaction was aborted due to contention; please retry.",
        ],
        &[
            "The export is in progress",
            "Another user is already registered",
            "If another operation is in progress, wait",
            "another job is running_total, expected a number",
            "contention_limit must be at least 1",
            "Version conflict: the row was changed by another process",
        ],
    ),
    Form::new(
        "under maintenance",
        Reading::Condition(Condition::Unavailable),
        &["maintenance", "bad gateway", "internal server error"],
        r"(?:{EDGE}(?:service|server|database|api|system|site|platform|we) (?:is|are) (?:currently )?(?:under|undergoing|in|down for) (?:scheduled |planned )?maintenance(?: mode)?{STOP}|(?:^|{EDGE}error: ?)(?:bad gateway|internal server error){STOP})",
        &[
            "The site is under maintenance",
            "Error: Bad Gateway",
            "Internal Server Error",
        ],
        &[
            "the machine needs maintenance",
            "Room 12 is under maintenance on that date",
            "priority is not allowed for maintenance orders",
            "maintenance_window is required",
        ],
    ),
];
