-- +goose Up
-- Jobs that make videos. Until a job has ended, its hold is leased to a node 'job:' || id, which is not a process.
CREATE TABLE video_jobs (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL,
    wallet       TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    generation   TEXT COLLATE "C" NOT NULL,
    model        TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired')),
    ended        TEXT COLLATE "C" NOT NULL CHECK (ended IN ('', 'settled', 'voided')), -- result for the money
    hold         BIGINT NOT NULL CHECK (hold >= 0),
    cost         BIGINT NOT NULL CHECK (cost >= 0),
    upstream_id  TEXT COLLATE "C" NOT NULL,
    submitting   BOOLEAN NOT NULL, -- a submission was sent, and its response is not known
    error        TEXT COLLATE "C" NOT NULL,
    reason       TEXT COLLATE "C" NOT NULL,
    cleanup      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    deadline_at  BIGINT NOT NULL,
    completed_at BIGINT, -- the time of its end, in any state
    expires_at   BIGINT,
    due_at       BIGINT, -- time of the next step. NULL: never
    fence        BIGINT NOT NULL,
    node         TEXT COLLATE "C" NOT NULL, -- the node that works on it, with its epoch. '': none
    epoch        BIGINT NOT NULL,
    request      BYTEA NOT NULL, -- empty when no more submissions are possible
    detail       BYTEA NOT NULL,
    CHECK ((state IN ('pending', 'in_progress')) = (ended = ''))
);
CREATE INDEX video_jobs_due ON video_jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX video_jobs_by_user ON video_jobs (user_id, created_at DESC, id DESC);

-- A user's places for active jobs. The primary key prevents two jobs in one place.
CREATE TABLE video_slots (
    user_id TEXT COLLATE "C" NOT NULL,
    slot    BIGINT NOT NULL,
    job     TEXT COLLATE "C" NOT NULL UNIQUE,
    PRIMARY KEY (user_id, slot)
);

CREATE TRIGGER video_jobs_states BEFORE UPDATE OF state ON video_jobs FOR EACH ROW
WHEN (OLD.state <> NEW.state AND NOT (OLD.state = 'pending' AND NEW.state IN ('in_progress', 'failed', 'cancelled', 'expired')
    OR OLD.state = 'in_progress' AND NEW.state IN ('completed', 'failed', 'cancelled', 'expired') OR OLD.state = 'completed' AND NEW.state = 'expired'))
EXECUTE FUNCTION kept('a video job never goes from this state to that');
CREATE TRIGGER video_jobs_ended BEFORE UPDATE OF ended, cost ON video_jobs FOR EACH ROW
WHEN (OLD.ended <> '' AND (NEW.ended <> OLD.ended OR NEW.cost <> OLD.cost)) EXECUTE FUNCTION kept('a video job never ends twice');

-- +goose Down
DROP TABLE video_slots;
DROP TABLE video_jobs;
