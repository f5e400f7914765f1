-- +goose Up
-- Files that users send, and files of results. Their content is in the blob store, under their id.
CREATE TABLE files (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL,
    purpose    TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    bytes      BIGINT NOT NULL CHECK (bytes >= 0),
    hidden     BOOLEAN NOT NULL, -- it belongs to a batch of messages
    gone       BOOLEAN NOT NULL, -- its content is to be deleted
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX files_by_user ON files (user_id, created_at DESC, id DESC);
CREATE INDEX files_by_end ON files (expires_at);
CREATE INDEX files_gone ON files (id) WHERE gone;

CREATE TABLE batches (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL,
    wallet        TEXT COLLATE "C" NOT NULL,
    key_id        TEXT COLLATE "C" NOT NULL,
    key_hash      TEXT COLLATE "C" NOT NULL,
    generation    TEXT COLLATE "C" NOT NULL, -- of the request that made it
    shape         TEXT COLLATE "C" NOT NULL CHECK (shape IN ('requests', 'messages')),
    endpoint      TEXT COLLATE "C" NOT NULL,
    metadata      TEXT COLLATE "C" NOT NULL,
    version       TEXT COLLATE "C" NOT NULL,
    betas         TEXT COLLATE "C" NOT NULL,
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('validating', 'in_progress', 'finalizing', 'cancelling', 'completed', 'failed', 'cancelled', 'expired')),
    input         TEXT COLLATE "C" NOT NULL,
    output        TEXT COLLATE "C" NOT NULL,
    failures      TEXT COLLATE "C" NOT NULL,
    problems      BYTEA NOT NULL,
    late          BOOLEAN NOT NULL,
    paused        TEXT COLLATE "C" NOT NULL,
    total         BIGINT NOT NULL CHECK (total >= 0),
    succeeded     BIGINT NOT NULL CHECK (succeeded >= 0),
    failed        BIGINT NOT NULL CHECK (failed >= 0),
    cancelled     BIGINT NOT NULL CHECK (cancelled >= 0),
    expired       BIGINT NOT NULL CHECK (expired >= 0),
    prompt        BIGINT NOT NULL,
    cached        BIGINT NOT NULL,
    completion    BIGINT NOT NULL,
    reasoning     BIGINT NOT NULL,
    cost          BIGINT NOT NULL CHECK (cost >= 0),
    created_at    BIGINT NOT NULL,
    started_at    BIGINT,
    finalizing_at BIGINT,
    cancelling_at BIGINT,
    ended_at      BIGINT,
    expires_at    BIGINT NOT NULL,
    keep_for      BIGINT NOT NULL, -- microseconds, of its results
    due_at        BIGINT, -- time of the next step. NULL: never
    fence         BIGINT NOT NULL,
    node          TEXT COLLATE "C" NOT NULL, -- the node that works on it, with its epoch. '': none
    epoch         BIGINT NOT NULL
);
CREATE INDEX batches_due ON batches (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX batches_by_user ON batches (user_id, created_at DESC, id DESC);
CREATE INDEX batches_by_input ON batches (input);
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;

CREATE TRIGGER batches_states BEFORE UPDATE OF state ON batches FOR EACH ROW
WHEN (OLD.state <> NEW.state AND NOT (OLD.state = 'validating' AND NEW.state IN ('in_progress', 'failed', 'cancelling')
    OR OLD.state = 'in_progress' AND NEW.state IN ('finalizing', 'cancelling') OR OLD.state = 'finalizing' AND NEW.state IN ('completed', 'expired')
    OR OLD.state = 'cancelling' AND NEW.state = 'cancelled'))
EXECUTE FUNCTION kept('a batch never goes from this state to that');

-- Lines of batches that were begun.
CREATE TABLE batch_items (
    batch      TEXT COLLATE "C" NOT NULL,
    line       BIGINT NOT NULL,
    custom_id  TEXT COLLATE "C" NOT NULL,
    stage      TEXT COLLATE "C" NOT NULL CHECK (stage IN ('running', 'waiting', 'done')),
    generation TEXT COLLATE "C" NOT NULL,
    tries      BIGINT NOT NULL,
    start      BIGINT NOT NULL, -- of the line in the input file
    length     BIGINT NOT NULL,
    outcome    TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('', 'succeeded', 'errored', 'canceled', 'expired')),
    status     BIGINT NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    body       BYTEA NOT NULL,
    cost       BIGINT NOT NULL CHECK (cost >= 0),
    prompt     BIGINT NOT NULL,
    cached     BIGINT NOT NULL,
    completion BIGINT NOT NULL,
    reasoning  BIGINT NOT NULL,
    PRIMARY KEY (batch, line),
    CHECK ((stage = 'done') = (outcome <> ''))
);

-- +goose Down
DROP TABLE batch_items;
DROP TABLE batches;
DROP TABLE files;
