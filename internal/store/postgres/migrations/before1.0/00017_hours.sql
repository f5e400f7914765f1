-- +goose Up
-- What each node saw of each endpoint by the hour (Unix seconds); slot is the last three minutes of a node that are in its hours.
CREATE TABLE endpoint_hours (
    endpoint TEXT COLLATE "C" NOT NULL,
    hour BIGINT NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    served BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    limited BIGINT NOT NULL,
    measured BYTEA NOT NULL,
    PRIMARY KEY (endpoint, hour, node)
);
CREATE INDEX endpoint_hours_by_hour ON endpoint_hours (hour);

CREATE TABLE endpoint_marks (
    node TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    slot BIGINT NOT NULL
);

-- +goose Down
DROP TABLE endpoint_marks;
DROP TABLE endpoint_hours;
