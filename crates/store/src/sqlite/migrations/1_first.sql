-- A key of a call. state: 1 held, 2 free, 3 finished. previously: 0 nothing, 1 released, 2 abandoned.
-- expires_at is absent while the key is held. Rowids and an index of their own, since random keys in
-- the table itself make batches slow; what may be long stands last.
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

-- The outcomes a key had before it was reopened.
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

-- at is in microseconds, every other time in milliseconds. code is absent after success.
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

-- code is empty for success, so that it sorts first and is the same as itself.
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

-- One row: the last version any document was given.
CREATE TABLE versions (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO versions (only_row, last) VALUES (1, 0);
