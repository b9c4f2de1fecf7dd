//! Applies the lines of an overlay. A line, or a part of one, that changes nothing is a mistake of
//! whoever wrote it, or the service has changed: both are told.

use std::collections::BTreeMap;

use panpan_contract::binding::HttpBinding;
use panpan_contract::operation::{
    KeyRule, OperationName, OperationSpec, OperationType, Visibility,
};
use panpan_failure::catalogue::is_protocol_code;
use panpan_failure::{Code, ErrorDefinition, Kind};

use super::renamed::{Renamed, rules};
use super::{AssumedEffect, Overlay, OverlayLine};
use crate::pattern::fits;
use crate::place::Place;

/// Why an overlay was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {message}")]
pub struct OverlayProblem {
    /// The line, or the part of it, as an RFC 6901 pointer into the overlay.
    pub pointer: String,
    /// What is wrong with it.
    pub message: String,
}

impl OverlayProblem {
    /// The number of the line.
    fn line(&self) -> usize {
        let line = self.pointer.split('/').nth(2);
        line.and_then(|it| it.parse().ok()).unwrap_or_default()
    }
}

/// Applies an overlay, or gives everything that is wrong with it and leaves the operations as they are.
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

/// Applies the lines of an overlay that match some of these operations, or gives everything that is wrong
/// with those lines and leaves the operations as they are. For an overlay that is meant for several
/// services: see [`unmatched_lines`] for the lines that match none of them.
pub fn apply_matching_lines(
    operations: &mut Vec<OperationSpec>,
    overlay: &Overlay,
) -> Result<(), Vec<OverlayProblem>> {
    let mut work = Work {
        operations: operations.clone(),
        renamed: BTreeMap::new(),
        problems: Vec::new(),
    };
    let top = Place::at("/operations");
    for (index, line) in overlay.operations.iter().enumerate() {
        work.apply(line, &top.index(index));
    }
    for (index, line) in overlay.operations.iter().enumerate() {
        work.check_codes(line, &top.index(index));
    }
    work.bind_renamed();
    if !work.problems.is_empty() {
        return Err(work.problems);
    }
    *operations = work.operations;
    Ok(())
}

/// Applies what an overlay says about how an operation is shown and called: `hide`, `title`, `description` and
/// the settings of calls. This is all that can be said about an operation that comes from no description of a service.
pub fn apply_to_shown(spec: &mut OperationSpec, overlay: &Overlay) {
    for line in overlay.operations.iter() {
        if fits(&line.pattern, spec.name.as_str()) {
            show(spec, line);
        }
    }
}

/// The lines of an overlay that match one of these names and say more than how an operation is shown.
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
            ..OverlayLine::default()
        };
        let mut names = names.clone();
        let name = names.find(|name| fits(&line.pattern, name.as_str()))?;
        (*line != shown).then(|| OverlayProblem {
            pointer: format!("/operations/{index}"),
            message: format!(
                "{name} comes from no description of a service: only hide, title, description and \
                 settings of calls apply"
            ),
        })
    });
    beyond.collect()
}

/// The lines of an overlay that match no operation of these names.
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
        message: format!("no operation is called {:?}", line.pattern),
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
}

struct Work {
    operations: Vec<OperationSpec>,
    /// What codes of statuses are called now, by operation.
    renamed: BTreeMap<OperationName, Vec<Renamed>>,
    problems: Vec<OverlayProblem>,
}

impl Work {
    fn note(&mut self, place: &Place<'_>, message: impl Into<String>) {
        self.problems.push(OverlayProblem {
            pointer: place.pointer(),
            message: message.into(),
        });
    }

    fn apply(&mut self, line: &OverlayLine, place: &Place<'_>) {
        let chosen = self.chosen(line);
        if chosen.is_empty() {
            return;
        }
        for (member, text) in [("title", &line.title), ("description", &line.description)] {
            if text.as_deref().is_some_and(|it| it.trim().is_empty()) {
                self.note(&place.name(member), "says nothing; leave it out");
            }
        }
        for index in &chosen {
            show(&mut self.operations[*index], line);
        }
        self.rename(line, &chosen, place);
        self.declare(line, &chosen, place);
        self.assume(line, &chosen, place);
        self.keys(line, &chosen, place);
        self.bind(line, &chosen, place);
    }

    /// The operations a line speaks of.
    fn chosen(&self, line: &OverlayLine) -> Vec<usize> {
        let numbered = self.operations.iter().enumerate();
        numbered
            .filter(|(_, spec)| fits(&line.pattern, spec.name.as_str()))
            .map(|(index, _)| index)
            .collect()
    }

    fn rename(&mut self, line: &OverlayLine, chosen: &[usize], place: &Place<'_>) {
        let place = place.name("rename");
        for (old, new) in &line.rename {
            let place = place.name(old.as_str());
            let mut is_idle = true;
            for index in chosen {
                let spec = &mut self.operations[*index];
                let name = spec.name.clone();
                let is_taken = spec.definition(new.as_str()).is_some();
                let Some(definition) = definition_mut(spec, old) else {
                    continue;
                };
                is_idle = false;
                let problem = match rename(definition, new) {
                    _ if is_taken => Some(format!("{name} declares {new} already")),
                    Err(problem) => Some(problem),
                    Ok(()) => None,
                };
                if let Some(pattern) = definition.http_status {
                    let renamed = (pattern, new.clone());
                    self.renamed.entry(name).or_default().push(renamed);
                }
                if let Some(problem) = problem {
                    self.note(&place, problem);
                }
            }
            if is_idle {
                self.note(&place, format!("no operation of this line declares {old}"));
            }
        }
    }

    fn declare(&mut self, line: &OverlayLine, chosen: &[usize], place: &Place<'_>) {
        let place = place.name("errors");
        for (number, definition) in line.errors.iter().enumerate() {
            let place = place.index(number);
            if let Err(refusals) = definition.kind() {
                let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
                self.note(&place, refusals.join("; "));
            }
            for index in chosen {
                let spec = &mut self.operations[*index];
                if spec.definition(definition.code.as_str()).is_none() {
                    spec.error_schemas.push(definition.clone());
                    continue;
                }
                let message = format!("{} declares {} already", spec.name, definition.code);
                self.note(&place.name("code"), message);
            }
        }
    }

    fn assume(&mut self, line: &OverlayLine, chosen: &[usize], place: &Place<'_>) {
        let place = place.name("effects");
        for (code, AssumedEffect(effect)) in &line.effects {
            let mut is_idle = true;
            for index in chosen {
                if let Some(definition) = definition_mut(&mut self.operations[*index], code) {
                    definition.effect = Some(*effect);
                    is_idle = false;
                }
            }
            if is_idle {
                let message = format!("no operation of this line declares {code}");
                self.note(&place.name(code.as_str()), message);
            }
        }
    }

    fn keys(&mut self, line: &OverlayLine, chosen: &[usize], place: &Place<'_>) {
        let Some(idempotency) = &line.idempotency else {
            return;
        };
        for index in chosen {
            let spec = &mut self.operations[*index];
            spec.idempotency = idempotency.clone();
            let is_required = idempotency.key == KeyRule::Required;
            if is_required && spec.op_type != OperationType::Mutation {
                let message = format!("{} changes nothing and cannot require a key", spec.name);
                self.note(&place.name("idempotency").name("key"), message);
            }
        }
    }

    /// Changes the request an operation becomes and what its answers mean.
    fn bind(&mut self, line: &OverlayLine, chosen: &[usize], place: &Place<'_>) {
        let says_nothing = line.rules.is_empty()
            && line.idempotency_header.is_none()
            && line.success_bodies.is_none();
        if says_nothing {
            return;
        }
        let is_header = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_graphic());
        if line
            .idempotency_header
            .as_deref()
            .is_some_and(|it| !is_header(it))
        {
            self.note(&place.name("idempotency_header"), "is no name of a header");
        }
        for index in chosen {
            let spec = &mut self.operations[*index];
            let Some(Ok(mut binding)) = HttpBinding::of(spec) else {
                let message = format!("{} is not carried out over HTTP", spec.name);
                self.note(place, message);
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

    /// A rule may give only codes that every operation of its line declares or the catalogue has.
    fn check_codes(&mut self, line: &OverlayLine, place: &Place<'_>) {
        let place = place.name("rules");
        for (number, rule) in line.rules.iter().enumerate() {
            let code = rule.code.as_str();
            if !is_protocol_code(code) && Kind::of(code).is_some() {
                continue;
            }
            let is_declared = |index: &usize| self.operations[*index].definition(code).is_some();
            let chosen = self.chosen(line);
            if let Some(index) = chosen.iter().find(|index| !is_declared(index)) {
                let message = format!(
                    "{code} is no code of the catalogue that a service may give, and {} does not \
                     declare it; add it to \"errors\"",
                    self.operations[*index].name
                );
                self.note(&place.index(number).name("code"), message);
            }
        }
    }

    /// Gives answers the codes their statuses are called by now, after every rule of an overlay.
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

/// Gives a definition another code. A code of the service's own keeps the facts; one of the catalogue
/// brings its own.
fn rename(definition: &mut ErrorDefinition, new: &Code) -> Result<(), String> {
    let told = |refusals: Vec<panpan_failure::KindError>| {
        let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        refusals.join("; ")
    };
    let facts = definition.kind().map_err(told)?;
    definition.code = new.clone();
    let is_catalogued = Kind::of(new.as_str()).is_some();
    definition.category = (!is_catalogued).then(|| facts.category());
    definition.retryable = (!is_catalogued).then(|| facts.retryable());
    definition.remedy = (!is_catalogued).then(|| facts.remedies());
    definition.kind().map(|_| ()).map_err(told)
}
