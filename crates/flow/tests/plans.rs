//! Random plans against a slow reading of the same rules.

use std::collections::BTreeSet;

use panpan_flow::{
    About, Definition, Dependency, KnownTask, Methods, NewTask, Plan, PlanError, ProblemKind,
    ReadTask, RequestPlace, TaskId, Unread,
};
use proptest::prelude::*;
use uuid::Uuid;

struct NoMethods;

impl Methods for NoMethods {
    fn exists(&self, _: &str) -> bool {
        false
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

fn id(number: usize) -> TaskId {
    TaskId::from_random(Uuid::from_u128(number as u128))
}

fn task(number: usize, parent: Option<usize>, dependencies: &BTreeSet<usize>) -> ReadTask {
    let dependency = |number: &usize| Dependency {
        id: id(*number),
        required: number.is_multiple_of(2),
    };
    ReadTask {
        task: NewTask {
            id: id(number),
            parent: parent.map(id),
            dependencies: dependencies.iter().map(dependency).collect(),
            definition: Definition::new(format!("task {number}")).expect("a name"),
        },
        place: RequestPlace::Item(number),
        id_is_given: false,
        unread: Unread::default(),
    }
}

fn validate(tasks: Vec<ReadTask>) -> Result<Plan, PlanError> {
    Plan::new(tasks, &|_: TaskId| None::<KnownTask>, &NoMethods)
}

/// The tasks that remain when tasks without remaining dependencies are taken away one after the other.
fn leftovers(dependencies: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut left: BTreeSet<usize> = (0..dependencies.len()).collect();
    while let Some(free) = left
        .iter()
        .copied()
        .find(|it| dependencies[*it].is_disjoint(&left))
    {
        left.remove(&free);
    }
    left
}

fn reaches(dependencies: &[BTreeSet<usize>], from: usize, to: usize) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(task) = open.pop() {
        for next in &dependencies[task] {
            if *next == to {
                return true;
            }
            if seen.insert(*next) {
                open.push(*next);
            }
        }
    }
    false
}

/// The number of groups of tasks that all depend on each other; a task that depends on itself is one.
fn groups(dependencies: &[BTreeSet<usize>]) -> usize {
    let tasks = 0..dependencies.len();
    let on_cycle: Vec<usize> = tasks.filter(|it| reaches(dependencies, *it, *it)).collect();
    let mut firsts: BTreeSet<usize> = BTreeSet::new();
    for task in &on_cycle {
        let both = |other: &&usize| {
            **other == *task
                || (reaches(dependencies, *task, **other) && reaches(dependencies, **other, *task))
        };
        firsts.extend(on_cycle.iter().find(both));
    }
    firsts.len()
}

/// The cycles that an error reports, as positions.
fn cycles(error: &PlanError, kind: ProblemKind, count: usize) -> Vec<Vec<usize>> {
    let position = |task: &TaskId| {
        (0..count)
            .find(|it| id(*it) == *task)
            .expect("a task of the plan")
    };
    let of_kind = error.problems().iter().filter(|it| it.kind == kind);
    let cycles = of_kind.filter_map(|problem| match &problem.about {
        About::Cycle(cycle) => Some(cycle.iter().map(position).collect()),
        _ => None,
    });
    cycles.collect()
}

fn graphs() -> impl Strategy<Value = Vec<BTreeSet<usize>>> {
    let graph = |(tasks, edges): (usize, usize)| {
        let edges = proptest::collection::vec((0..tasks, 0..tasks), 0..=edges);
        edges.prop_map(move |edges| {
            let mut dependencies = vec![BTreeSet::new(); tasks];
            for (from, to) in edges {
                dependencies[from].insert(to);
            }
            dependencies
        })
    };
    (1..16usize, 0..24usize).prop_flat_map(graph)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_graph_is_refused_exactly_if_it_has_a_cycle(graph in graphs(), root in any::<prop::sample::Index>()) {
        let root = root.index(graph.len());
        let parent = |it: usize| (it != root).then_some(root);
        let tasks = graph.iter().enumerate().map(|(it, on)| task(it, parent(it), on));
        let tasks: Vec<ReadTask> = tasks.collect();
        let given: Vec<NewTask> = tasks.iter().map(|it| it.task.clone()).collect();
        let has_cycle = !leftovers(&graph).is_empty();
        match validate(tasks) {
            Ok(plan) => {
                prop_assert!(!has_cycle);
                prop_assert_eq!(plan.tasks(), given.as_slice());
                prop_assert_eq!((plan.root(), plan.top().id), (id(root), id(root)));
                for (position, task) in given.iter().enumerate() {
                    prop_assert_eq!(plan.position(task.id), Some(position));
                }
            }
            Err(error) => {
                prop_assert!(has_cycle);
                prop_assert_eq!(error.kind(), ProblemKind::Cycle);
                let cycles = cycles(&error, ProblemKind::Cycle, graph.len());
                prop_assert_eq!(cycles.len(), error.count());
                // A task on itself is reported even if it is also in a larger group.
                prop_assert!(cycles.len() >= groups(&graph));
                for cycle in cycles {
                    prop_assert!(cycle.len() > 1);
                    prop_assert_eq!(cycle.first(), cycle.last());
                    let distinct: BTreeSet<&usize> = cycle.iter().collect();
                    prop_assert_eq!(distinct.len(), cycle.len() - 1);
                    for pair in cycle.windows(2) {
                        prop_assert!(graph[pair[0]].contains(&pair[1]), "{pair:?} is not a dependency");
                    }
                }
            }
        }
    }

    #[test]
    fn parents_are_refused_exactly_if_they_are_not_one_tree(
        parents in proptest::collection::vec(proptest::option::weighted(0.8, 0..12usize), 1..12),
    ) {
        let count = parents.len();
        let none = BTreeSet::new();
        let tasks = parents.iter().enumerate().map(|(it, parent)| task(it, *parent, &none));
        let roots = parents.iter().filter(|it| it.is_none()).count();
        let has_unknown = parents.iter().flatten().any(|it| *it >= count);
        let leads_to_end = |start: usize| {
            let parent = |it: &usize| parents.get(*it).copied().flatten();
            std::iter::successors(Some(start), parent).take(count + 2).count() <= count + 1
        };
        let has_loop = !(0..count).all(leads_to_end);
        let is_tree = roots == 1 && !has_unknown && !has_loop;
        match validate(tasks.collect()) {
            Ok(plan) => {
                prop_assert!(is_tree);
                prop_assert_eq!(plan.top().parent, None);
            }
            Err(error) => {
                prop_assert!(!is_tree);
                let has = |kind| error.problems().iter().any(|it| it.kind == kind);
                prop_assert_eq!(has(ProblemKind::Parent), has_unknown);
                let loops = cycles(&error, ProblemKind::Tree, count);
                prop_assert_eq!(!loops.is_empty(), has_loop);
                for cycle in loops {
                    prop_assert_eq!(cycle.first(), cycle.last());
                    for pair in cycle.windows(2) {
                        prop_assert_eq!(parents[pair[0]], Some(pair[1]));
                    }
                }
            }
        }
    }
}

#[test]
fn a_large_random_plan_is_validated() {
    // Every dependency is on an earlier task, so that there is no cycle.
    const TASKS: usize = 200_000;
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut tasks = vec![task(0, None, &BTreeSet::new())];
    for number in 1..TASKS {
        let dependencies: BTreeSet<usize> = (0..random(6)).map(|_| random(number)).collect();
        tasks.push(task(number, Some(random(number)), &dependencies));
    }
    let mut with_cycle = tasks.clone();
    assert_eq!(validate(tasks).unwrap().tasks().len(), TASKS);
    let (first, last) = (id(0), id(TASKS - 1));
    let dependency = |id| Dependency { id, required: true };
    with_cycle[0].task.dependencies.push(dependency(last));
    with_cycle[TASKS - 1].task.dependencies = vec![dependency(first)];
    let error = validate(with_cycle).unwrap_err();
    assert_eq!((error.kind(), error.count()), (ProblemKind::Cycle, 1));
}
