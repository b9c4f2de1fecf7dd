//! Random flows and random orders of events, run by the engine and by a model that only knows the rules.
//!
//! After every event both must agree on all tasks: states, generations, attempts, what is ready and in which order,
//! and how many dependencies each task waits for. `rules` is the model, `engine` reads and drives the store.

mod engine;
mod rules;

use panpan_flow::State;

use crate::support::Fixture;
use engine::Engine;
use rules::{Defect, Ends, LEASE_MS, Model, Task};

/// How many tasks there are at most.
const TASKS_LIMIT: usize = 14;

/// How many events happen to each set of flows.
const EVENTS: usize = 50;

/// Random flows on this store agree with the model.
pub(crate) async fn events_in_any_order_follow_the_rules(fixture: Fixture) {
    for seed in 0..60 {
        if let Err(difference) = run(&fixture, seed, None).await {
            panic!("seed {seed}: {difference}");
        }
    }
}

#[tokio::test]
async fn many_more_orders_follow_the_rules_in_memory() {
    let fixture = Fixture::new(crate::shared::memory_tasks);
    for seed in 1000..1400 {
        if let Err(difference) = run(&fixture, seed, None).await {
            panic!("seed {seed}: {difference}");
        }
    }
}

#[tokio::test]
async fn every_defect_is_noticed() {
    for defect in Defect::ALL {
        let fixture = Fixture::new(crate::shared::memory_tasks);
        let mut noticed = None;
        for seed in 0..300 {
            if let Err(difference) = run(&fixture, seed, Some(defect)).await {
                noticed = Some(difference);
                break;
            }
        }
        assert!(noticed.is_some(), "{defect:?} was not noticed");
    }
}

/// Runs one set of flows; returns the first difference.
async fn run(fixture: &Fixture, seed: u64, defect: Option<Defect>) -> Result<(), String> {
    let mut random = Random(seed);
    let tasks = flows(&mut random);
    let mut run = Run {
        engine: Engine::create(fixture, seed, &tasks).await,
        model: Model {
            tasks,
            now_ms: 0,
            leases: 0,
            defect,
        },
        random,
        leases: Vec::new(),
    };
    let mut events = Vec::new();
    let mut outcome = run.compare("creation").await;
    while outcome.is_ok() && events.len() < EVENTS {
        let event = run.pick();
        events.push(format!("{event:?}"));
        outcome = match run.happen(event).await {
            Ok(()) => run.compare("the event").await,
            Err(difference) => Err(difference),
        };
    }
    if outcome.is_ok() {
        outcome = run.engine.compare_endings(&run.model).await;
    }
    // The next flows in this store must find nothing to run.
    run.engine.cancel_all().await;
    outcome.map_err(|difference| format!("{difference}\nafter {}", events.join("\n      ")))
}

/// One or two flows with up to twelve tasks. A task depends on tasks that come later or earlier, without a cycle.
fn flows(random: &mut Random) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for _ in 0..=random.below(2) {
        let (root, count) = (tasks.len(), 1 + random.below(6));
        // Some graphs are nearly chains.
        let density = 1 + random.below(3);
        let is_reversed = random.below(2) == 0;
        for number in 0..count {
            let others = match is_reversed {
                true => root + number + 1..root + count,
                false => root..root + number,
            };
            let on = others.filter(|_| random.below(density) == 0);
            let on: Vec<usize> = on.collect();
            let on = on.into_iter().map(|on| (on, random.below(3) > 0));
            let on = on.collect();
            let priority = u8::try_from(random.below(4)).unwrap();
            tasks.push(Task::new(root, priority, on));
        }
    }
    tasks
}

/// Something that happens. Tasks and leases are positions.
#[derive(Clone, Debug)]
enum TaskEvent {
    Execute { task: usize, cascade: bool },
    Claim { limit: usize },
    Finish(Vec<(usize, Ends)>),
    Extend { lease: usize },
    Cancel { task: usize },
    SetPending { task: usize },
    SetPriority { task: usize, priority: u8 },
    SetDependencies { task: usize, on: Vec<(usize, bool)> },
    CreateInto(Task),
    Copy { task: usize },
    DeleteNewest,
    Advance { ms: u64 },
}

struct Run {
    engine: Engine,
    model: Model,
    random: Random,
    /// The task of each lease that was ever given.
    leases: Vec<usize>,
}

impl Run {
    fn pick(&mut self) -> TaskEvent {
        let task = self.random.below(self.model.tasks.len());
        match self.random.below(22) {
            0 | 1 => TaskEvent::Execute {
                task: self.model.tasks[task].root,
                cascade: self.random.below(3) > 0,
            },
            2 | 3 => TaskEvent::Execute {
                task,
                cascade: self.random.below(3) > 0,
            },
            4..=8 => TaskEvent::Claim {
                limit: 1 + self.random.below(3),
            },
            9..=13 => self.pick_finish(),
            14 if !self.leases.is_empty() => TaskEvent::Extend {
                lease: self.pick_lease(),
            },
            15 => TaskEvent::Cancel { task },
            16 => TaskEvent::SetPending { task },
            17 => match self.random.below(2) {
                0 => TaskEvent::SetPriority {
                    task,
                    priority: u8::try_from(self.random.below(4)).unwrap(),
                },
                _ => TaskEvent::SetDependencies {
                    task,
                    on: self.pick_dependencies(task),
                },
            },
            18 | 19 => self.pick_number_of_tasks(task),
            _ => TaskEvent::Advance {
                ms: [LEASE_MS / 4, LEASE_MS / 2, LEASE_MS, 3 * LEASE_MS][self.random.below(4)],
            },
        }
    }

    /// A task more or less.
    fn pick_number_of_tasks(&mut self, task: usize) -> TaskEvent {
        let count = self.model.tasks.len();
        let is_less = count > 1 && self.random.below(2) == 0;
        match self.random.below(4) {
            _ if is_less || count >= TASKS_LIMIT => TaskEvent::DeleteNewest,
            0 => TaskEvent::Copy { task },
            _ => {
                let root = self.model.tasks[task].root;
                let priority = u8::try_from(self.random.below(4)).unwrap();
                TaskEvent::CreateInto(Task::new(root, priority, self.pick_dependencies(task)))
            }
        }
    }

    /// Ends of up to three attempts, also of some that were lost long ago; or all running tasks succeed.
    fn pick_finish(&mut self) -> TaskEvent {
        if self.random.below(3) == 0 {
            let held = self.model.tasks.iter().filter_map(|task| task.lease);
            return TaskEvent::Finish(held.map(|lease| (lease, Ends::Completed)).collect());
        }
        let count = 1 + self.random.below(3);
        let mut ends = Vec::new();
        while !self.leases.is_empty() && ends.len() < count {
            let end = match self.random.below(5) {
                0..=2 => Ends::Completed,
                3 => Ends::Failed,
                _ => Ends::RetryIn(LEASE_MS / 2),
            };
            ends.push((self.pick_lease(), end));
        }
        TaskEvent::Finish(ends)
    }

    /// Mostly one of the newest leases.
    fn pick_lease(&mut self) -> usize {
        let count = self.leases.len();
        match self.random.below(4) {
            0 => self.random.below(count),
            _ => count - 1 - self.random.below(count.min(4)),
        }
    }

    fn pick_dependencies(&mut self, task: usize) -> Vec<(usize, bool)> {
        let root = self.model.tasks[task].root;
        let mut on = Vec::new();
        for at in 0..self.model.tasks.len() {
            if self.model.tasks[at].root == root && self.random.below(4) == 0 {
                on.push((at, self.random.below(2) == 0));
            }
        }
        on
    }

    async fn happen(&mut self, event: TaskEvent) -> Result<(), String> {
        let before = self.model.tasks.clone();
        let happened = self.answer(event).await;
        self.model.give_turns(&before);
        happened
    }

    /// Whether the engine and the model answer the same to an event.
    async fn answer(&mut self, event: TaskEvent) -> Result<(), String> {
        let (engine, model) = (&mut self.engine, &mut self.model);
        match event {
            TaskEvent::Execute { task, cascade } => {
                let expected = model.execute(task, cascade);
                same(expected, engine.execute(task, cascade).await)
            }
            TaskEvent::Claim { limit } => {
                let expected = model.claim(limit);
                self.leases.extend(&expected);
                same(expected, engine.claim(limit).await)
            }
            TaskEvent::Finish(ends) => {
                for (lease, end) in &ends {
                    model.finish(self.leases[*lease], *lease, *end);
                }
                engine.finish(&ends).await;
                Ok(())
            }
            TaskEvent::Extend { lease } => {
                let expected = model.extend(self.leases[lease], lease);
                same(expected, engine.extend(lease).await)
            }
            TaskEvent::Cancel { task } => same(model.cancel(task), engine.cancel(task).await),
            TaskEvent::SetPending { task } => {
                same(model.set_pending(task), engine.set_pending(task).await)
            }
            TaskEvent::SetPriority { task, priority } => {
                let expected = model.set_priority(task, priority);
                same(expected, engine.set_priority(task, priority).await)
            }
            TaskEvent::SetDependencies { task, on } => {
                let expected = model.set_dependencies(task, on.clone());
                same(expected, engine.set_dependencies(task, &on).await)
            }
            TaskEvent::CreateInto(task) => {
                engine.create_into(&task).await;
                model.tasks.push(task);
                Ok(())
            }
            TaskEvent::Copy { task } => {
                engine.copy(task).await;
                model.copy(task);
                Ok(())
            }
            TaskEvent::DeleteNewest => same(model.delete_newest(), engine.delete_newest().await),
            TaskEvent::Advance { ms } => {
                model.now_ms += ms;
                engine.advance(ms);
                Ok(())
            }
        }
    }

    async fn compare(&self, after: &str) -> Result<(), String> {
        let seen = self.engine.see().await;
        for (at, (task, seen)) in self.model.tasks.iter().zip(seen).enumerate() {
            let expected = engine::Seen {
                state: task.state,
                generation: task.generation,
                attempts: task.attempts,
                recoveries: task.recoveries,
                priority: task.priority,
                is_held: task.lease.is_some(),
                is_ready: self.model.is_ready(at),
                turn: task.turn,
                due_ms: Some(task.due_ms)
                    .filter(|it| task.state == State::InProgress && *it > self.model.now_ms),
                waiting: self.model.waiting(at),
                blocked_by: self.model.blocked_by(at),
                dependencies: task.on.clone(),
            };
            if seen != expected {
                return Err(format!(
                    "task {at} after {after}:\n   engine {seen:?}\n   model  {expected:?}"
                ));
            }
        }
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(model: T, engine: T) -> Result<(), String> {
    match model == engine {
        true => Ok(()),
        false => Err(format!(
            "the engine answers {engine:?}, the model {model:?}"
        )),
    }
}

/// Numbers that a seed determines: splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }
}
