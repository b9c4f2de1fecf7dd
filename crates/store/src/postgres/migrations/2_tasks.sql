-- Tasks of flows. A task has two rows: what hardly changes is in tasks, how it runs is in task_runs. An update writes a
-- row and its index entries anew, so task_runs has few indexes. The row in task_runs is the lock of the task.
CREATE TABLE panpan.tasks (
    key bigint PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    flow bigint NOT NULL,
    parent bigint,
    owner bytea,
    user_id bytea,
    created_at bigint NOT NULL,
    has_references boolean NOT NULL,
    operation bytea
);
CREATE INDEX tasks_flow ON panpan.tasks (flow, key);
CREATE INDEX tasks_parent ON panpan.tasks (parent, key) WHERE parent IS NOT NULL;

-- state: 0 pending, 1 in progress, 2 completed, 3 failed, 4 cancelled. queued: 0 no, 1 ready, 2 at due_at.
-- flow is the key of the root. aside is the group in which a ready task waits because its flow or operation is full.
CREATE TABLE panpan.task_runs (
    key bigint PRIMARY KEY,
    flow bigint NOT NULL,
    turn bigint NOT NULL,
    generation bigint NOT NULL,
    epoch bigint NOT NULL,
    attempts bigint NOT NULL,
    recoveries bigint NOT NULL,
    waiting bigint NOT NULL,
    due_at bigint,
    progress double precision NOT NULL,
    updated_at bigint NOT NULL,
    started_at bigint,
    completed_at bigint,
    priority smallint NOT NULL,
    state smallint NOT NULL,
    queued smallint NOT NULL,
    is_held boolean NOT NULL,
    is_released boolean NOT NULL,
    aside bytea
);
CREATE INDEX task_runs_ready ON panpan.task_runs (priority, turn, key) WHERE queued = 1 AND aside IS NULL;
CREATE INDEX task_runs_aside ON panpan.task_runs (aside, priority, turn, key) WHERE aside IS NOT NULL;
CREATE INDEX task_runs_aside_turn ON panpan.task_runs (priority, turn) WHERE aside IS NOT NULL;
CREATE INDEX task_runs_due ON panpan.task_runs (due_at) WHERE queued = 2;
CREATE INDEX task_runs_active ON panpan.task_runs (flow, queued, priority, turn) WHERE queued > 0;
CREATE INDEX task_runs_roots ON panpan.task_runs (updated_at, key) WHERE flow = key;

-- Keys of tasks. They rise, but not without gaps.
CREATE SEQUENCE panpan.task_keys AS bigint;

CREATE TABLE panpan.task_definitions (
    task bigint PRIMARY KEY,
    text text NOT NULL,
    authority text
);

CREATE TABLE panpan.task_dependencies (
    task bigint NOT NULL,
    -- The order in which they were declared.
    position bigint NOT NULL,
    depends_on bigint NOT NULL,
    required boolean NOT NULL,
    PRIMARY KEY (task, position)
);
CREATE INDEX task_dependencies_on ON panpan.task_dependencies (depends_on);

-- One outcome per generation. text is the result of a success and the failure of a failed task.
CREATE TABLE panpan.task_outcomes (
    task bigint NOT NULL,
    generation bigint NOT NULL,
    at bigint NOT NULL,
    attempts bigint NOT NULL,
    state smallint NOT NULL,
    error bytea,
    text text,
    PRIMARY KEY (task, generation)
);

-- The failed attempts of tasks that are retried, as JSON.
CREATE TABLE panpan.task_histories (
    task bigint PRIMARY KEY,
    text text NOT NULL
);

-- One row per flow: the last number in its journal. A transaction locks the row before it numbers entries, and until it
-- ends, so that numbers become visible in their order.
CREATE TABLE panpan.task_flows (
    flow bigint PRIMARY KEY,
    last bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE panpan.task_journal (
    flow bigint NOT NULL,
    number bigint NOT NULL,
    task uuid,
    at bigint NOT NULL,
    what smallint NOT NULL,
    state smallint NOT NULL,
    progress double precision NOT NULL,
    PRIMARY KEY (flow, number)
);
