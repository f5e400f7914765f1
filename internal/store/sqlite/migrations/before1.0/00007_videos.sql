-- +goose Up
-- Jobs that make videos. Until a job has ended, its hold is leased to a node "job:" || id, which is not a process.
CREATE TABLE video_jobs (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL,
    wallet       TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    generation   TEXT    NOT NULL,
    model        TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired')),
    ended        TEXT    NOT NULL CHECK (ended IN ('', 'settled', 'voided')), -- result for the money
    hold         INTEGER NOT NULL CHECK (hold >= 0),
    cost         INTEGER NOT NULL CHECK (cost >= 0),
    upstream_id  TEXT    NOT NULL,
    submitting   INTEGER NOT NULL, -- a submission was sent, and its response is not known
    error        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    cleanup      INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    deadline_at  INTEGER NOT NULL,
    completed_at INTEGER, -- the time of its end, in any state
    expires_at   INTEGER,
    due_at       INTEGER, -- time of the next step. NULL: never
    fence        INTEGER NOT NULL,
    node         TEXT    NOT NULL, -- the node that works on it, with its epoch. '': none
    epoch        INTEGER NOT NULL,
    request      BLOB    NOT NULL, -- empty when no more submissions are possible
    detail       BLOB    NOT NULL,
    CHECK ((state IN ('pending', 'in_progress')) = (ended = ''))
) STRICT;
CREATE INDEX video_jobs_due ON video_jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX video_jobs_by_user ON video_jobs (user_id, created_at DESC, id DESC);

-- A user's places for active jobs. The primary key prevents two jobs in one place.
CREATE TABLE video_slots (
    user_id TEXT    NOT NULL,
    slot    INTEGER NOT NULL,
    job     TEXT    NOT NULL UNIQUE,
    PRIMARY KEY (user_id, slot)
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER video_jobs_states BEFORE UPDATE OF state ON video_jobs
WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'pending' AND NEW.state IN ('in_progress', 'failed', 'cancelled', 'expired')
    OR OLD.state = 'in_progress' AND NEW.state IN ('completed', 'failed', 'cancelled', 'expired') OR OLD.state = 'completed' AND NEW.state = 'expired')
BEGIN SELECT RAISE(ABORT, 'a video job never goes from this state to that'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER video_jobs_ended BEFORE UPDATE OF ended, cost ON video_jobs WHEN OLD.ended <> '' AND (NEW.ended <> OLD.ended OR NEW.cost <> OLD.cost)
BEGIN SELECT RAISE(ABORT, 'a video job never ends twice'); END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE video_slots;
DROP TABLE video_jobs;
