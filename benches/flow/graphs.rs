//! Flows of every shape, as requests of `tasks/execute`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::flows::{NOOP, WAIT};

/// The number of chains of a deep flow: of 100,000 tasks, each chain has 10,000.
const CHAINS: usize = 10;

/// The shape of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Graph {
    /// All tasks are ready at once.
    Wide,
    /// Chains, in which each task depends on the one before.
    Deep,
    /// Each task depends on up to three others.
    Random,
    /// Like wide, of tasks that wait 20 ms.
    Waiting,
}

impl Graph {
    /// The shapes whose size must not matter.
    pub(crate) const ALL: [Graph; 3] = [Graph::Wide, Graph::Deep, Graph::Random];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Graph::Wide => "wide",
            Graph::Deep => "deep",
            Graph::Random => "random",
            Graph::Waiting => "waiting",
        }
    }

    /// A request with this many tasks: a root and tasks below it.
    pub(crate) fn request(self, tasks: usize) -> Value {
        json!({"tasks": self.tasks(tasks)})
    }

    fn tasks(self, count: usize) -> Vec<Value> {
        let ids: Vec<String> = (0..count).map(|_| Uuid::new_v4().to_string()).collect();
        let method = if self == Graph::Waiting { WAIT } else { NOOP };
        let mut random = Random(7);
        let below = (1..count).map(|at| {
            let on: Vec<Value> = self
                .dependencies(at, &mut random)
                .into_iter()
                .map(|on| json!({"id": ids[on]}))
                .collect();
            json!({
                "id": ids[at],
                "parent_id": ids[0],
                "name": format!("task {at}"),
                "schemas": {"method": method},
                "inputs": {"owner": "octo-org", "page": at},
                "dependencies": on,
            })
        });
        let root = json!({"id": ids[0], "name": "root"});
        [root].into_iter().chain(below).collect()
    }

    fn dependencies(self, at: usize, random: &mut Random) -> Vec<usize> {
        match self {
            Graph::Wide | Graph::Waiting => Vec::new(),
            Graph::Deep if at <= CHAINS => Vec::new(),
            Graph::Deep => vec![at - CHAINS],
            Graph::Random if at == 1 => Vec::new(),
            Graph::Random => {
                let count = random.below(4);
                let mut on: Vec<usize> = (0..count).map(|_| 1 + random.below(at - 1)).collect();
                on.sort_unstable();
                on.dedup();
                on
            }
        }
    }
}

/// Numbers that look random, the same in every run: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap_or(0)
    }
}
