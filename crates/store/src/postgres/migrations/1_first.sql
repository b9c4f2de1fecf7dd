-- Times are in milliseconds since 1970, of recordings in microseconds. Texts that may contain the character NUL,
-- and names that are compared byte by byte, are bytes.

CREATE TABLE panpan.keys (
    scope bytea PRIMARY KEY,
    fingerprint bytea NOT NULL,
    -- 1 held, 2 free, 3 finished
    state smallint NOT NULL,
    epoch bigint NOT NULL,
    claimed_at bigint NOT NULL,
    lease_until bigint NOT NULL,
    call uuid NOT NULL,
    -- Before the claim: 0 nothing, 1 released, 2 abandoned, 3 released but may have had an effect
    previously smallint NOT NULL,
    attempts bigint NOT NULL,
    recoveries bigint NOT NULL,
    generation bigint NOT NULL,
    without_effect boolean NOT NULL DEFAULT false,
    -- Null while the key is held
    expires_at bigint,
    outcome_kind smallint,
    outcome_digest bytea,
    outcome_bytes bigint,
    outcome_text bytea
);

CREATE INDEX keys_expiring ON panpan.keys (expires_at, scope) WHERE expires_at IS NOT NULL;

CREATE TABLE panpan.earlier (
    scope bytea NOT NULL,
    generation bigint NOT NULL,
    call uuid NOT NULL,
    expires_at bigint NOT NULL,
    reopened_at bigint NOT NULL,
    reopened_by bytea NOT NULL,
    reason bytea NOT NULL,
    outcome_kind smallint,
    outcome_digest bytea,
    outcome_bytes bigint,
    outcome_text bytea,
    PRIMARY KEY (scope, generation)
);

CREATE TABLE panpan.recordings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    call uuid NOT NULL UNIQUE,
    at bigint NOT NULL,
    operation text NOT NULL,
    code text,
    recording text NOT NULL
);

CREATE INDEX recordings_at ON panpan.recordings (at, id);
CREATE INDEX recordings_failed ON panpan.recordings (at, id) WHERE code IS NOT NULL;

CREATE TABLE panpan.counts (
    operation text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL,
    hour bigint NOT NULL,
    calls bigint NOT NULL,
    retried bigint NOT NULL,
    replayed bigint NOT NULL,
    PRIMARY KEY (operation, code, hour)
);

CREATE INDEX counts_hour ON panpan.counts (hour);

CREATE TABLE panpan.documents (
    collection bytea NOT NULL,
    id bytea NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (collection, id)
);

-- One row: the last version that a document got.
CREATE TABLE panpan.versions (last bigint NOT NULL);
INSERT INTO panpan.versions VALUES (0);
