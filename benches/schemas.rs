//! The cost of validating hostile input against hostile schemas. Each pair is one call, refused or not, with a limit
//! on its time, as a multiple of parsing the input, and on its memory.
//!
//! `--plant-slowdown` lists violations as the library does, with every alternative, to show that a slowdown is
//! detected.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::{CallRequest, Context, Dispatcher, Registry};
use panpan_store::memory_ports;
use serde_json::{Map, Value, json};

/// The time limit of a call, as a multiple of parsing its input, for each way in which the schema is checked against
/// one value.
const TIME_LIMIT: f64 = 10.0;

/// The fixed time of a call, independent of its input.
const CALL: Duration = Duration::from_micros(100);

/// The limit of the peak memory of a call, in megabytes.
const MEMORY_LIMIT: f64 = 32.0;

const ROUNDS: usize = 15;

struct Case {
    name: &'static str,
    schema: Value,
    input: Value,
    /// In how many ways the schema is checked against one value.
    ways: f64,
}

fn main() -> ExitCode {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    println!(
        "{:<44} {:>9} {:>10} {:>10} {:>12} {:>7} {:>9}",
        "a call with", "bytes", "reading", "the call", "per way", "limit", "memory"
    );
    let planted = asked("--plant-slowdown");
    let mut all_met = true;
    for case in cases() {
        all_met &= case.meets(planted);
        // The remaining cases would use all memory.
        if planted && !all_met {
            break;
        }
    }
    match all_met {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

impl Case {
    fn meets(&self, planted: bool) -> bool {
        let text = self.input.to_string();
        let reading = median(|| {
            let read: Value = serde_json::from_str(&text).expect("it was just written");
            std::hint::black_box(read);
        });
        let (mut call, before) = (self.call(planted), memory("VmRSS"));
        // The first call compiles the schema.
        call();
        std::fs::write("/proc/self/clear_refs", "5").expect("the system forgets the peak");
        let calling = median(&mut call);
        let took = (memory("VmHWM") - before).max(0.0);
        let beyond = calling.saturating_sub(CALL).as_secs_f64();
        let ratio = beyond / reading.as_secs_f64() / self.ways;
        println!(
            "{:<44} {:>9} {reading:>10.1?} {calling:>10.1?} {ratio:>12.2} {TIME_LIMIT:>7.2} {took:>6.1} MB",
            self.name,
            text.len(),
        );
        ratio <= TIME_LIMIT && took <= MEMORY_LIMIT
    }

    fn call(&self, planted: bool) -> Box<dyn FnMut()> {
        let input = self.input.clone();
        if planted {
            let validator = jsonschema::validator_for(&self.schema).expect("it is a schema");
            return Box::new(move || {
                std::hint::black_box(validator.iter_errors(&input).count());
            });
        }
        let name = "bench/hostile".parse().expect("it is a name");
        let mut spec = OperationSpec::new(name, OperationType::Query);
        spec.input_schema = self.schema.clone();
        let registry = Registry::builder().register(spec, echo).build();
        let dispatcher = Dispatcher::new(registry.expect("it is one operation"), memory_ports());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime can be made");
        Box::new(move || {
            let request = CallRequest::from_wire("bench/hostile", input.clone());
            std::hint::black_box(runtime.block_on(dispatcher.dispatch(request)));
        })
    }
}

async fn echo(_: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
    Ok(input)
}

fn cases() -> Vec<Case> {
    let case = |name, ways: usize, schema: Value, input: Value| Case {
        name,
        schema,
        input,
        ways: ways as f64,
    };
    let many = |count: usize, item: &dyn Fn(usize) -> Value| Value::from_iter((0..count).map(item));
    let named = |count: usize, prefix: &str, value: &Value| {
        let member = |number| (format!("{prefix}{number}"), value.clone());
        Value::Object((0..count).map(member).collect::<Map<_, _>>())
    };
    let below = json!({"properties": {"of": {"$ref": "#"}}});
    let forms = |count: usize| {
        many(
            count,
            &|number| json!({"type": "object", "required": [format!("m{number}")]}),
        )
    };
    vec![
        case(
            "recursive alternatives, 8 deep",
            9,
            filters("$ref", "#/$defs/filter"),
            nested(8),
        ),
        case(
            "recursive alternatives, 120 deep",
            9,
            filters("$ref", "#/$defs/filter"),
            nested(120),
        ),
        case(
            "the same with $dynamicRef",
            9,
            filters("$dynamicRef", "#filter"),
            nested(120),
        ),
        case(
            "the same subschema twice at every level",
            5,
            json!({"allOf": [below, below], "type": "object"}),
            nested(120),
        ),
        case(
            "unevaluated members at every level",
            5,
            json!({"anyOf": [below, below], "unevaluatedProperties": false}),
            nested(120),
        ),
        case(
            "1,000 items with 300 alternatives",
            301,
            json!({"items": {"oneOf": forms(300)}}),
            many(1000, &|_| json!({})),
        ),
        case(
            "20,000 items, enum of 20,000 values",
            1,
            json!({"items": {"enum": many(20_000, &|number| json!(format!("value {number}")))}}),
            many(20_000, &|number| json!(format!("other {number}"))),
        ),
        case(
            "20,000 items with uniqueItems",
            1,
            json!({"uniqueItems": true}),
            many(20_000, &|number| json!({"number": number % 19_999})),
        ),
        case(
            "2,000 names against 300 patterns",
            300,
            json!({
                "patternProperties": named(300, "^pattern", &json!({"type": "string"})),
                "additionalProperties": {"type": "string"},
            }),
            named(2000, "name", &json!(1)),
        ),
        case(
            "100 texts that make a pattern backtrack",
            1000,
            json!({"items": {"pattern": "^(?=(a+)+$)a*b"}}),
            many(100, &|number| json!("a".repeat(30 + number % 7))),
        ),
        case(
            "100,000 unknown members",
            1,
            json!({"additionalProperties": false, "properties": {"known": {}}}),
            named(100_000, "unknown", &json!(1)),
        ),
    ]
}

/// A schema of filters whose alternatives all contain filters in the same member.
fn filters(reference: &str, target: &str) -> Value {
    let form = |flag: &str| json!({"type": "object", "required": ["of", flag], "properties": {"of": {reference: target}}});
    let forms = [
        form("and"),
        form("or"),
        form("not"),
        json!({"type": "string"}),
    ];
    let filter = json!({"$dynamicAnchor": "filter", "oneOf": forms});
    json!({"$ref": "#/$defs/filter", "$defs": {"filter": filter}})
}

/// This many nested objects; each fits all alternatives.
fn nested(depth: usize) -> Value {
    (0..depth).fold(
        json!(5),
        |inner, _| json!({"of": inner, "and": 1, "or": 1, "not": 1}),
    )
}

fn median(mut work: impl FnMut()) -> Duration {
    let timed = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..ROUNDS).map(timed).collect();
    times.sort();
    times[ROUNDS / 2]
}

/// The memory of this process as the system reports it, in megabytes.
fn memory(what: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1000.0
}
