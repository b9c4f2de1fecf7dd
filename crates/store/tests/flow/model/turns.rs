//! The order of ready tasks of the same priority: flows take turns.

use panpan_flow::State;

use super::{Defect, Model, Task};

impl Model {
    /// Gives turns to tasks that an event made ready, and takes them from those that are ready no more. `before` is how
    /// the tasks were before the event.
    pub(crate) fn give_turns(&mut self, before: &[Task]) {
        let mut given: Vec<(usize, u8, i64)> = Vec::new();
        for at in 0..self.tasks.len() {
            let (root, priority) = (self.tasks[at].root, self.tasks[at].priority);
            let is_moved = before.get(at).is_some_and(|it| it.priority != priority);
            let turn = match self.tasks[at].turn {
                _ if !self.is_ready(at) => None,
                Some(turn) if !is_moved => Some(turn),
                _ if self.tasks[at].state != State::Pending => None,
                _ => Some(self.next_turn(root, priority, before, &given)),
            };
            if turn != self.tasks[at].turn {
                given.extend(turn.map(|turn| (root, priority, turn)));
            }
            self.tasks[at].turn = turn;
        }
    }

    /// Behind the ready tasks of the flow, and behind the first one of all.
    fn next_turn(
        &self,
        root: usize,
        priority: u8,
        before: &[Task],
        given: &[(usize, u8, i64)],
    ) -> i64 {
        let waited = before.iter().filter(|it| it.priority == priority);
        let of_flow = waited.filter(|it| it.root == root).filter_map(|it| it.turn);
        let given = given.iter().filter(|it| (it.0, it.1) == (root, priority));
        let last = of_flow.chain(given.map(|it| it.2)).max();
        let last = last.filter(|_| !self.has(Defect::NoTurns));
        let first = first_turn(before, priority).filter(|_| !self.has(Defect::NewFlowsFirst));
        1 + last.max(first).unwrap_or(0)
    }

    /// A task whose time has come has waited before: it is among the first.
    pub(super) fn give_turns_to_due(&mut self) {
        let before = self.tasks.clone();
        for at in 0..self.tasks.len() {
            let task = &self.tasks[at];
            let is_due = task.state == State::InProgress && task.turn.is_none();
            if is_due && self.is_ready(at) {
                let first = first_turn(&before, task.priority).unwrap_or(1);
                let behind = i64::from(self.has(Defect::RetriesWait));
                self.tasks[at].turn = Some(first + behind);
            }
        }
    }
}

fn first_turn(tasks: &[Task], priority: u8) -> Option<i64> {
    let of_priority = tasks.iter().filter(|it| it.priority == priority);
    of_priority.filter_map(|it| it.turn).min()
}
