-- +goose Up
-- What programs that are signed in, such as Claude Code, report of their sessions: sums, and no text of the session but its id.
CREATE TABLE agent_reports (
    user_id  TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    session  TEXT COLLATE "C" NOT NULL, -- as in the records of its calls
    client   TEXT COLLATE "C" NOT NULL, -- name and version of the program
    first_at BIGINT NOT NULL,
    last_at  BIGINT NOT NULL,
    edits_accepted BIGINT NOT NULL,
    edits_rejected BIGINT NOT NULL,
    tools_accepted BIGINT NOT NULL,
    tools_rejected BIGINT NOT NULL,
    lines_added BIGINT NOT NULL,
    lines_removed BIGINT NOT NULL,
    commits BIGINT NOT NULL,
    pull_requests BIGINT NOT NULL,
    user_ms BIGINT NOT NULL,
    program_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, session)
);
CREATE INDEX agent_reports_last ON agent_reports (last_at);
CREATE INDEX agent_reports_of_user ON agent_reports (user_id, last_at);

-- +goose Down
DROP TABLE agent_reports;
