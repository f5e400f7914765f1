-- +goose Up
-- What servers have said that are asked for their models. One node at a time asks.
CREATE TABLE found_models (
    provider TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    server   TEXT COLLATE "C" NOT NULL DEFAULT '',
    asked    BIGINT NOT NULL,
    at       BIGINT, -- of the last answer
    problem  TEXT COLLATE "C" NOT NULL DEFAULT '',
    notes    TEXT COLLATE "C" NOT NULL DEFAULT '',
    models   TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    version  BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE found_models;
