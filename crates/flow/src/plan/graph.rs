//! The graph of dependencies between the tasks of a plan, and its cycles.
//!
//! Nothing here recurses: a chain can be as long as a plan.

/// For each task, the positions of its dependencies.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Where the dependencies of each task start; one more than there are tasks.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

/// A task that no search has reached.
const UNSEEN: u32 = u32::MAX;

impl Graph {
    /// A graph for at most this many tasks and dependencies.
    pub(super) fn with_capacity(tasks: usize, dependencies: usize) -> Self {
        let mut starts = Vec::with_capacity(tasks + 1);
        starts.push(0);
        Self {
            starts,
            targets: Vec::with_capacity(dependencies),
        }
    }

    /// Adds a dependency of the task that is next.
    pub(super) fn depend(&mut self, on: usize) {
        self.targets.push(number(on));
    }

    /// Ends the dependencies of the task that is next.
    pub(super) fn end_task(&mut self) {
        self.starts.push(number(self.targets.len()));
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn targets(&self, task: u32) -> &[u32] {
        let at = task as usize;
        &self.targets[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Cycles: for each group of tasks that all depend on each other, the shortest one through one of them.
    /// Each starts with its first task in the order of the plan.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        let mut search = Search::over(self);
        for task in 0..number(self.len()) {
            if search.found_at[task as usize] == UNSEEN {
                search.visit(task);
            }
        }
        let (groups, group_of) = (search.groups, search.group_of);
        let mut before = vec![UNSEEN; self.len()];
        let cycles = groups.iter().map(|start| {
            let mut cycle = self.shortest_cycle(*start, &group_of, &mut before);
            let first = cycle.iter().enumerate().min_by_key(|(_, task)| **task);
            let first = first.map_or(0, |(at, _)| at);
            cycle.rotate_left(first);
            cycle.into_iter().map(|task| task as usize).collect()
        });
        cycles.collect()
    }

    /// A breadth-first search within one group, which has a cycle through each of its tasks. `before` is shared:
    /// groups have no task in common.
    fn shortest_cycle(&self, start: u32, group_of: &[u32], before: &mut [u32]) -> Vec<u32> {
        let group = group_of[start as usize];
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(&task) = reached.get(next) {
            next += 1;
            for &on in self.targets(task) {
                if on == start {
                    let back = |task: &u32| Some(before[*task as usize]).filter(|it| *it != UNSEEN);
                    let mut cycle: Vec<u32> = std::iter::successors(Some(task), back).collect();
                    cycle.reverse();
                    return cycle;
                }
                let is_new = before[on as usize] == UNSEEN && group_of[on as usize] == group;
                if is_new {
                    before[on as usize] = task;
                    reached.push(on);
                }
            }
        }
        unreachable!("a task of a group is on a cycle")
    }
}

fn number(position: usize) -> u32 {
    u32::try_from(position).expect("tasks and dependencies are limited")
}

/// Finds groups of tasks that all depend on each other, in one pass (Tarjan's algorithm with its own stack).
struct Search<'a> {
    graph: &'a Graph,
    /// The order in which tasks were reached.
    found_at: Vec<u32>,
    /// The earliest open task that each task leads to.
    lowest: Vec<u32>,
    group_of: Vec<u32>,
    /// Tasks whose group is not known yet.
    open: Vec<u32>,
    /// The tasks between the start and the current one, with the next dependency of each.
    path: Vec<(u32, usize)>,
    reached: u32,
    groups_found: u32,
    /// A task of each group with more than one task.
    groups: Vec<u32>,
}

impl<'a> Search<'a> {
    fn over(graph: &'a Graph) -> Self {
        Self {
            graph,
            found_at: vec![UNSEEN; graph.len()],
            lowest: vec![UNSEEN; graph.len()],
            group_of: vec![UNSEEN; graph.len()],
            open: Vec::new(),
            path: Vec::new(),
            reached: 0,
            groups_found: 0,
            groups: Vec::new(),
        }
    }

    fn enter(&mut self, task: u32) {
        self.found_at[task as usize] = self.reached;
        self.lowest[task as usize] = self.reached;
        self.reached += 1;
        self.open.push(task);
        self.path.push((task, 0));
    }

    fn visit(&mut self, start: u32) {
        self.enter(start);
        while let Some((task, next)) = self.path.last_mut() {
            let task = *task;
            let Some(&on) = self.graph.targets(task).get(*next) else {
                self.path.pop();
                self.leave(task);
                continue;
            };
            *next += 1;
            if self.found_at[on as usize] == UNSEEN {
                self.enter(on);
            } else if self.group_of[on as usize] == UNSEEN {
                self.lower(task, self.found_at[on as usize]);
            }
        }
    }

    fn lower(&mut self, task: u32, to: u32) {
        let lowest = &mut self.lowest[task as usize];
        *lowest = to.min(*lowest);
    }

    fn leave(&mut self, task: u32) {
        let lowest = self.lowest[task as usize];
        if let Some((before, _)) = self.path.last() {
            self.lower(*before, lowest);
        }
        if lowest != self.found_at[task as usize] {
            return;
        }
        let mut size = 0;
        while let Some(member) = self.open.pop() {
            self.group_of[member as usize] = self.groups_found;
            size += 1;
            if member == task {
                break;
            }
        }
        self.groups_found += 1;
        if size > 1 {
            self.groups.push(task);
        }
    }
}
