-- +goose Up
-- Files that users send, and files of results. Their content is in the blob store, under their id.
CREATE TABLE files (
    id         TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL,
    purpose    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    hidden     INTEGER NOT NULL, -- it belongs to a batch of messages
    gone       INTEGER NOT NULL, -- its content is to be deleted
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX files_by_user ON files (user_id, created_at DESC, id DESC);
CREATE INDEX files_by_end ON files (expires_at);
CREATE INDEX files_gone ON files (id) WHERE gone;

CREATE TABLE batches (
    id            TEXT    NOT NULL PRIMARY KEY,
    user_id       TEXT    NOT NULL,
    wallet        TEXT    NOT NULL,
    key_id        TEXT    NOT NULL,
    key_hash      TEXT    NOT NULL,
    generation    TEXT    NOT NULL, -- of the request that made it
    shape         TEXT    NOT NULL CHECK (shape IN ('requests', 'messages')),
    endpoint      TEXT    NOT NULL,
    metadata      TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    betas         TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('validating', 'in_progress', 'finalizing', 'cancelling', 'completed', 'failed', 'cancelled', 'expired')),
    input         TEXT    NOT NULL,
    output        TEXT    NOT NULL,
    failures      TEXT    NOT NULL,
    problems      BLOB    NOT NULL,
    late          INTEGER NOT NULL,
    paused        TEXT    NOT NULL,
    total         INTEGER NOT NULL CHECK (total >= 0),
    succeeded     INTEGER NOT NULL CHECK (succeeded >= 0),
    failed        INTEGER NOT NULL CHECK (failed >= 0),
    cancelled     INTEGER NOT NULL CHECK (cancelled >= 0),
    expired       INTEGER NOT NULL CHECK (expired >= 0),
    prompt        INTEGER NOT NULL,
    cached        INTEGER NOT NULL,
    completion    INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cost          INTEGER NOT NULL CHECK (cost >= 0),
    created_at    INTEGER NOT NULL,
    started_at    INTEGER,
    finalizing_at INTEGER,
    cancelling_at INTEGER,
    ended_at      INTEGER,
    expires_at    INTEGER NOT NULL,
    keep_for      INTEGER NOT NULL, -- microseconds, of its results
    due_at        INTEGER, -- time of the next step. NULL: never
    fence         INTEGER NOT NULL,
    node          TEXT    NOT NULL, -- the node that works on it, with its epoch. '': none
    epoch         INTEGER NOT NULL
) STRICT;
CREATE INDEX batches_due ON batches (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX batches_by_user ON batches (user_id, created_at DESC, id DESC);
CREATE INDEX batches_by_input ON batches (input);
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;

-- +goose StatementBegin
CREATE TRIGGER batches_states BEFORE UPDATE OF state ON batches
WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'validating' AND NEW.state IN ('in_progress', 'failed', 'cancelling')
    OR OLD.state = 'in_progress' AND NEW.state IN ('finalizing', 'cancelling') OR OLD.state = 'finalizing' AND NEW.state IN ('completed', 'expired')
    OR OLD.state = 'cancelling' AND NEW.state = 'cancelled')
BEGIN SELECT RAISE(ABORT, 'a batch never goes from this state to that'); END;
-- +goose StatementEnd

-- Lines of batches that were begun.
CREATE TABLE batch_items (
    batch      TEXT    NOT NULL,
    line       INTEGER NOT NULL,
    custom_id  TEXT    NOT NULL,
    stage      TEXT    NOT NULL CHECK (stage IN ('running', 'waiting', 'done')),
    generation TEXT    NOT NULL,
    tries      INTEGER NOT NULL,
    start      INTEGER NOT NULL, -- of the line in the input file
    length     INTEGER NOT NULL,
    outcome    TEXT    NOT NULL CHECK (outcome IN ('', 'succeeded', 'errored', 'canceled', 'expired')),
    status     INTEGER NOT NULL,
    request_id TEXT    NOT NULL,
    body       BLOB    NOT NULL,
    cost       INTEGER NOT NULL CHECK (cost >= 0),
    prompt     INTEGER NOT NULL,
    cached     INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    reasoning  INTEGER NOT NULL,
    PRIMARY KEY (batch, line),
    CHECK ((stage = 'done') = (outcome <> ''))
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE batch_items;
DROP TRIGGER batches_states;
DROP TABLE batches;
DROP TABLE files;
