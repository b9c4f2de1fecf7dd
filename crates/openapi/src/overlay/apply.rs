//! Applies the lines of an overlay. A line, or a part of a line, that changes nothing is a problem: it is a
//! mistake, or the service has changed.

use std::collections::BTreeMap;

use panpan_contract::binding::HttpBinding;
use panpan_contract::operation::{
    ASK_FIRST_EXTENSION, KeyRule, OperationName, OperationSpec, OperationType, Visibility,
};
use panpan_contract::path::Path;
use panpan_failure::catalogue::is_protocol_code;
use panpan_failure::{Code, ErrorDefinition, Kind};

use super::rename_rules::{Renamed, rules};
use super::{AssumedEffect, Overlay, OverlayLine};
use crate::pattern::fits;

/// A problem that keeps an overlay from being applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {message}")]
pub struct OverlayProblem {
    /// The line, or the part of the line, as an RFC 6901 pointer into the overlay.
    pub pointer: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl OverlayProblem {
    /// The number of the line.
    fn line(&self) -> usize {
        let line = self.pointer.split('/').nth(2);
        line.and_then(|it| it.parse().ok()).unwrap_or_default()
    }
}

/// Applies an overlay, or returns all its problems and leaves the operations unchanged.
pub fn apply_overlay(
    operations: &mut Vec<OperationSpec>,
    overlay: &Overlay,
) -> Result<(), Vec<OverlayProblem>> {
    let mut problems = unmatched_lines(overlay, operations.iter().map(|it| &it.name));
    let mut changed = operations.clone();
    let applied = apply_matching_lines(&mut changed, overlay);
    problems.extend(applied.err().unwrap_or_default());
    problems.sort_by_key(OverlayProblem::line);
    if !problems.is_empty() {
        return Err(problems);
    }
    *operations = changed;
    Ok(())
}

/// Applies the lines of an overlay that match these operations, or returns all problems of those lines and
/// leaves the operations unchanged. Use this for an overlay that is meant for several services;
/// [`unmatched_lines`] finds the lines that match none of them.
pub fn apply_matching_lines(
    operations: &mut Vec<OperationSpec>,
    overlay: &Overlay,
) -> Result<(), Vec<OverlayProblem>> {
    let mut run = OverlayRun {
        operations: operations.clone(),
        renamed: BTreeMap::new(),
        problems: Vec::new(),
    };
    let top = Path::At("/operations");
    for (index, line) in overlay.operations.iter().enumerate() {
        run.apply(line, &top.index(index));
    }
    for (index, line) in overlay.operations.iter().enumerate() {
        run.check_codes(line, &top.index(index));
    }
    run.bind_renamed();
    if !run.problems.is_empty() {
        return Err(run.problems);
    }
    *operations = run.operations;
    Ok(())
}

/// Applies the parts of an overlay that run for any operation: `hide`, `title`, `description`, `ask_first` and the
/// call settings. Nothing else applies to an operation that was not imported from a service description.
pub fn apply_to_shown(spec: &mut OperationSpec, overlay: &Overlay) {
    for line in overlay.operations.iter() {
        if fits(&line.pattern, spec.name.as_str()) {
            show(spec, line);
        }
    }
}

/// The lines of an overlay that match one of these names and set more than [`apply_to_shown`] applies.
pub fn lines_beyond_shown<'a>(
    overlay: &Overlay,
    names: impl Iterator<Item = &'a OperationName> + Clone,
) -> Vec<OverlayProblem> {
    let lines = overlay.operations.iter().enumerate();
    let beyond = lines.filter_map(|(index, line)| {
        let shown = OverlayLine {
            pattern: line.pattern.clone(),
            hide: line.hide,
            title: line.title.clone(),
            description: line.description.clone(),
            timeout_ms: line.timeout_ms,
            retry: line.retry,
            patience_ms: line.patience_ms,
            circuit: line.circuit,
            outputs: line.outputs,
            redaction: line.redaction,
            key_argument: line.key_argument,
            task: line.task,
            ask_first: line.ask_first.clone(),
            ..OverlayLine::default()
        };
        let mut names = names.clone();
        let name = names.find(|name| fits(&line.pattern, name.as_str()))?;
        (*line != shown).then(|| OverlayProblem {
            pointer: format!("/operations/{index}"),
            message: format!(
                "{name} is not imported from a service description: only hide, title, description, \
                 ask_first and call settings apply"
            ),
        })
    });
    beyond.collect()
}

/// The lines of an overlay that match none of these names.
pub fn unmatched_lines<'a>(
    overlay: &Overlay,
    names: impl Iterator<Item = &'a OperationName> + Clone,
) -> Vec<OverlayProblem> {
    let lines = overlay.operations.iter().enumerate();
    let unmatched = lines.filter(|(_, line)| {
        let mut names = names.clone();
        !names.any(|name| fits(&line.pattern, name.as_str()))
    });
    let problem = |(index, line): (usize, &OverlayLine)| OverlayProblem {
        pointer: format!("/operations/{index}/match"),
        message: format!("no operation matches {:?}", line.pattern),
    };
    unmatched.map(problem).collect()
}

fn show(spec: &mut OperationSpec, line: &OverlayLine) {
    line.calls().apply(spec);
    if line.hide {
        spec.visibility = Visibility::Internal;
    }
    if line.title.is_some() {
        spec.title.clone_from(&line.title);
    }
    if line.description.is_some() {
        spec.description.clone_from(&line.description);
    }
    if !line.ask_first.is_empty() {
        let questions = serde_json::to_value(&line.ask_first);
        let questions = questions.expect("questions are made of JSON");
        let set = spec.extensions.insert(ASK_FIRST_EXTENSION, questions);
        set.expect("the name starts with x-");
    }
}

struct OverlayRun {
    operations: Vec<OperationSpec>,
    /// The renamed statuses of each operation.
    renamed: BTreeMap<OperationName, Vec<Renamed>>,
    problems: Vec<OverlayProblem>,
}

impl OverlayRun {
    fn note(&mut self, location: &Path<'_>, message: impl Into<String>) {
        self.problems.push(OverlayProblem {
            pointer: location.pointer(),
            message: message.into(),
        });
    }

    fn apply(&mut self, line: &OverlayLine, location: &Path<'_>) {
        let selected = self.selected(line);
        if selected.is_empty() {
            return;
        }
        for (member, text) in [("title", &line.title), ("description", &line.description)] {
            if text.as_deref().is_some_and(|it| it.trim().is_empty()) {
                self.note(
                    &location.name(member),
                    "is empty: write a text, or remove it",
                );
            }
        }
        for index in &selected {
            show(&mut self.operations[*index], line);
        }
        self.rename(line, &selected, location);
        self.declare(line, &selected, location);
        self.set_effects(line, &selected, location);
        self.set_idempotency(line, &selected, location);
        self.set_binding(line, &selected, location);
    }

    /// The indexes of the operations that a line matches.
    fn selected(&self, line: &OverlayLine) -> Vec<usize> {
        let numbered = self.operations.iter().enumerate();
        numbered
            .filter(|(_, spec)| fits(&line.pattern, spec.name.as_str()))
            .map(|(index, _)| index)
            .collect()
    }

    fn rename(&mut self, line: &OverlayLine, selected: &[usize], location: &Path<'_>) {
        let location = location.name("rename");
        for (old, new) in &line.rename {
            let location = location.name(old.as_str());
            let mut is_unused = true;
            for index in selected {
                let spec = &mut self.operations[*index];
                let name = spec.name.clone();
                let is_taken = spec.definition(new.as_str()).is_some();
                let Some(definition) = definition_mut(spec, old) else {
                    continue;
                };
                is_unused = false;
                let problem = match rename(definition, new) {
                    _ if is_taken => Some(format!(
                        "{name} already declares {new}: choose another code"
                    )),
                    Err(problem) => Some(problem),
                    Ok(()) => None,
                };
                if let Some(pattern) = definition.http_status {
                    let renamed = (pattern, new.clone());
                    self.renamed.entry(name).or_default().push(renamed);
                }
                if let Some(problem) = problem {
                    self.note(&location, problem);
                }
            }
            if is_unused {
                self.note(
                    &location,
                    format!("no operation of this line declares {old}: correct or remove it"),
                );
            }
        }
    }

    fn declare(&mut self, line: &OverlayLine, selected: &[usize], location: &Path<'_>) {
        let location = location.name("errors");
        for (number, definition) in line.errors.iter().enumerate() {
            let location = location.index(number);
            if let Err(refusals) = definition.kind() {
                let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
                self.note(&location, refusals.join("; "));
            }
            for index in selected {
                let spec = &mut self.operations[*index];
                if spec.definition(definition.code.as_str()).is_none() {
                    spec.error_schemas.push(definition.clone());
                    continue;
                }
                let message = format!(
                    "{} already declares {}: remove it here",
                    spec.name, definition.code
                );
                self.note(&location.name("code"), message);
            }
        }
    }

    fn set_effects(&mut self, line: &OverlayLine, selected: &[usize], location: &Path<'_>) {
        let location = location.name("effects");
        for (code, AssumedEffect(effect)) in &line.effects {
            let mut is_unused = true;
            for index in selected {
                if let Some(definition) = definition_mut(&mut self.operations[*index], code) {
                    definition.effect = Some(*effect);
                    is_unused = false;
                }
            }
            if is_unused {
                let message =
                    format!("no operation of this line declares {code}: correct or remove it");
                self.note(&location.name(code.as_str()), message);
            }
        }
    }

    fn set_idempotency(&mut self, line: &OverlayLine, selected: &[usize], location: &Path<'_>) {
        let Some(idempotency) = &line.idempotency else {
            return;
        };
        for index in selected {
            let spec = &mut self.operations[*index];
            spec.idempotency = idempotency.clone();
            let is_required = idempotency.key == KeyRule::Required;
            if is_required && spec.op_type != OperationType::Mutation {
                let message = format!(
                    "{} is not a mutation and cannot require a key: remove \"key\"",
                    spec.name
                );
                self.note(&location.name("idempotency").name("key"), message);
            }
        }
    }

    /// Changes the HTTP request of the operations, and how their responses are read.
    fn set_binding(&mut self, line: &OverlayLine, selected: &[usize], location: &Path<'_>) {
        let is_unchanged = line.rules.is_empty()
            && line.idempotency_header.is_none()
            && line.success_bodies.is_none();
        if is_unchanged {
            return;
        }
        let is_header = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_graphic());
        if line
            .idempotency_header
            .as_deref()
            .is_some_and(|it| !is_header(it))
        {
            self.note(
                &location.name("idempotency_header"),
                "is not a header name: use printable ASCII without spaces",
            );
        }
        for index in selected {
            let spec = &mut self.operations[*index];
            let Some(Ok(mut binding)) = HttpBinding::of(spec) else {
                let message = format!(
                    "{} is not called over HTTP: remove rules, idempotency_header and success_bodies",
                    spec.name
                );
                self.note(location, message);
                continue;
            };
            binding.rules.extend(line.rules.iter().cloned());
            if line.idempotency_header.is_some() {
                binding
                    .idempotency_header
                    .clone_from(&line.idempotency_header);
            }
            if let Some(success_bodies) = line.success_bodies {
                binding.success_bodies = success_bodies;
            }
            binding.bind(spec);
        }
    }

    /// A rule may use only codes that every operation of its line declares, or that are in the catalogue.
    fn check_codes(&mut self, line: &OverlayLine, location: &Path<'_>) {
        let location = location.name("rules");
        for (number, rule) in line.rules.iter().enumerate() {
            let code = rule.code.as_str();
            if !is_protocol_code(code) && Kind::of(code).is_some() {
                continue;
            }
            let is_declared = |index: &usize| self.operations[*index].definition(code).is_some();
            let selected = self.selected(line);
            if let Some(index) = selected.iter().find(|index| !is_declared(index)) {
                let message = format!(
                    "{code} is not a catalogue code that a service may use, and {} does not \
                     declare it: add it to \"errors\"",
                    self.operations[*index].name
                );
                self.note(&location.index(number).name("code"), message);
            }
        }
    }

    /// Adds rules for the renamed statuses, after all rules of the overlay.
    fn bind_renamed(&mut self) {
        for spec in &mut self.operations {
            let renamed = self.renamed.remove(&spec.name);
            if let (Some(renamed), Some(Ok(mut binding))) = (renamed, HttpBinding::of(spec)) {
                binding.rules.extend(rules(&renamed, &spec.error_schemas));
                binding.bind(spec);
            }
        }
    }
}

fn definition_mut<'a>(spec: &'a mut OperationSpec, code: &Code) -> Option<&'a mut ErrorDefinition> {
    spec.error_schemas.iter_mut().find(|it| it.code == *code)
}

/// Changes the code of a definition. A code of the service keeps the facts of the old code; a catalogue
/// code has its own facts.
fn rename(definition: &mut ErrorDefinition, new: &Code) -> Result<(), String> {
    let joined = |refusals: Vec<panpan_failure::KindError>| {
        let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        refusals.join("; ")
    };
    let facts = definition.kind().map_err(joined)?;
    definition.code = new.clone();
    let is_catalogued = Kind::of(new.as_str()).is_some();
    definition.category = (!is_catalogued).then(|| facts.category());
    definition.retryable = (!is_catalogued).then(|| facts.retryable());
    definition.remedy = (!is_catalogued).then(|| facts.remedies());
    definition.kind().map(|_| ()).map_err(joined)
}
