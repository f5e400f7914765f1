-- +goose Up
-- What programs that are signed in, such as Claude Code, report of their sessions: sums, and no text of the session but its id.
CREATE TABLE agent_reports (
    user_id  TEXT    NOT NULL REFERENCES users (id),
    session  TEXT    NOT NULL, -- as in the records of its calls
    client   TEXT    NOT NULL, -- name and version of the program
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    edits_accepted INTEGER NOT NULL,
    edits_rejected INTEGER NOT NULL,
    tools_accepted INTEGER NOT NULL,
    tools_rejected INTEGER NOT NULL,
    lines_added INTEGER NOT NULL,
    lines_removed INTEGER NOT NULL,
    commits INTEGER NOT NULL,
    pull_requests INTEGER NOT NULL,
    user_ms INTEGER NOT NULL,
    program_ms INTEGER NOT NULL,
    PRIMARY KEY (user_id, session)
) STRICT;
CREATE INDEX agent_reports_last ON agent_reports (last_at);
CREATE INDEX agent_reports_of_user ON agent_reports (user_id, last_at);

-- +goose Down
DROP TABLE agent_reports;
