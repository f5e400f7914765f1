-- +goose Up
-- What each node saw of each endpoint by the hour (Unix seconds); slot is the last three minutes of a node that are in its hours.
CREATE TABLE endpoint_hours (
    endpoint TEXT NOT NULL,
    hour INTEGER NOT NULL,
    node TEXT NOT NULL,
    served INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    limited INTEGER NOT NULL,
    measured BLOB NOT NULL,
    PRIMARY KEY (endpoint, hour, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX endpoint_hours_by_hour ON endpoint_hours (hour);

CREATE TABLE endpoint_marks (
    node TEXT NOT NULL PRIMARY KEY,
    slot INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE endpoint_marks;
DROP TABLE endpoint_hours;
