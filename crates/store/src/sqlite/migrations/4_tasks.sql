-- Tasks of flows. state: 0 pending, 1 in progress, 2 completed, 3 failed, 4 cancelled. queued: 0 no, 1 ready, 2 at due_at.
-- flow is the key of the root. aside is the group in which a ready task waits because its flow or operation is full. What never changes or is long is in tables of its own: an update writes a row anew.
CREATE TABLE tasks (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    flow INTEGER NOT NULL,
    parent INTEGER,
    owner TEXT,
    user_id TEXT,
    priority INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    has_references INTEGER NOT NULL,
    operation TEXT,
    aside TEXT,
    state INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    recoveries INTEGER NOT NULL,
    is_held INTEGER NOT NULL,
    is_released INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    due_at INTEGER,
    progress REAL NOT NULL,
    updated_at INTEGER NOT NULL,
    started_at INTEGER,
    completed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX tasks_id ON tasks (id);
CREATE INDEX tasks_flow ON tasks (flow);
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_ready ON tasks (priority, turn, key) WHERE queued = 1 AND aside IS NULL;
CREATE INDEX tasks_aside ON tasks (aside, priority, turn, key) WHERE aside IS NOT NULL;
CREATE INDEX tasks_aside_turn ON tasks (priority, turn) WHERE aside IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE queued = 2;
CREATE INDEX tasks_roots ON tasks (updated_at) WHERE flow = key;
CREATE INDEX tasks_active ON tasks (flow, queued, priority, turn) WHERE queued != 0;

CREATE TABLE task_definitions (
    task INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    authority TEXT
) STRICT;

CREATE TABLE task_dependencies (
    row INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    depends_on INTEGER NOT NULL,
    required INTEGER NOT NULL
) STRICT;
CREATE INDEX task_dependencies_task ON task_dependencies (task);
CREATE INDEX task_dependencies_on ON task_dependencies (depends_on);

-- One outcome per generation. text is the result of a success and the failure of a failed task.
CREATE TABLE task_outcomes (
    row INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    state INTEGER NOT NULL,
    error TEXT,
    text TEXT
) STRICT;
CREATE UNIQUE INDEX task_outcomes_generation ON task_outcomes (task, generation);

-- The failed attempts of tasks that are retried, as JSON.
CREATE TABLE task_histories (
    task INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE task_journal (
    number INTEGER PRIMARY KEY,
    flow INTEGER NOT NULL,
    task BLOB,
    at INTEGER NOT NULL,
    what INTEGER NOT NULL,
    state INTEGER NOT NULL,
    progress REAL NOT NULL
) STRICT;
CREATE INDEX task_journal_flow ON task_journal (flow, number);

-- One row: the last key that was assigned to a task.
CREATE TABLE task_keys (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO task_keys (only_row, last) VALUES (1, 0);
