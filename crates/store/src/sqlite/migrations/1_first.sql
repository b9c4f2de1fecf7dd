-- Idempotency keys. state: 1 held, 2 free, 3 finished. previously: 0 nothing, 1 released, 2 abandoned.
-- expires_at is null while the key is held. The table has rowids and a separate index on scope, because
-- random primary keys make batches slow. Long columns come last.
CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    scope BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    state INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    call BLOB NOT NULL,
    previously INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    recoveries INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    expires_at INTEGER,
    outcome_kind INTEGER,
    outcome_digest BLOB,
    outcome_bytes INTEGER,
    outcome_text TEXT
) STRICT;
CREATE UNIQUE INDEX keys_scope ON keys (scope);
CREATE INDEX keys_expiring ON keys (expires_at) WHERE expires_at IS NOT NULL;

-- The outcomes that a key had before it was reopened.
CREATE TABLE earlier (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    call BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    reopened_at INTEGER NOT NULL,
    reopened_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    outcome_kind INTEGER NOT NULL,
    outcome_digest BLOB,
    outcome_bytes INTEGER,
    outcome_text TEXT
) STRICT;
CREATE UNIQUE INDEX earlier_key ON earlier (key, generation);

-- at is in microseconds, all other times are in milliseconds. code is null after success.
CREATE TABLE recordings (
    id INTEGER PRIMARY KEY,
    call BLOB NOT NULL,
    at INTEGER NOT NULL,
    operation TEXT NOT NULL,
    code TEXT,
    recording TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX recordings_call ON recordings (call);
CREATE INDEX recordings_at ON recordings (at);
CREATE INDEX recordings_failed ON recordings (at) WHERE code IS NOT NULL;

-- code is empty for success, so that it sorts first and the unique index applies.
CREATE TABLE counts (
    id INTEGER PRIMARY KEY,
    operation TEXT NOT NULL,
    code TEXT NOT NULL,
    hour INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    retried INTEGER NOT NULL,
    replayed INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX counts_what ON counts (operation, code, hour);
CREATE INDEX counts_hour ON counts (hour);

CREATE TABLE documents (
    row INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX documents_id ON documents (collection, id);

-- One row: the last version that was assigned to any document.
CREATE TABLE versions (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO versions (only_row, last) VALUES (1, 0);
