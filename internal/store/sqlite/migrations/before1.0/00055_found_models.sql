-- +goose Up
-- What servers have said that are asked for their models. One node at a time asks.
CREATE TABLE found_models (
    provider TEXT    NOT NULL PRIMARY KEY,
    server   TEXT    NOT NULL DEFAULT '',
    asked    INTEGER NOT NULL,
    at       INTEGER, -- of the last answer
    problem  TEXT    NOT NULL DEFAULT '',
    notes    TEXT    NOT NULL DEFAULT '',
    models   TEXT    NOT NULL DEFAULT '[]',
    version  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- +goose Down
DROP TABLE found_models;
