-- +goose Up
-- Named set-ups of requests, and the versions of each that are kept. The content is JSON.
CREATE TABLE presets (
    user_id     TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    version     INTEGER NOT NULL, -- the current one
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE preset_versions (
    user_id TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    number  INTEGER NOT NULL,
    size    INTEGER NOT NULL, -- bytes of content
    content TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (user_id, name, number)
) STRICT;

-- How many calls used a preset, by day and key. Days that nobody asks for any more are dropped.
CREATE TABLE preset_calls (
    wallet TEXT    NOT NULL,
    preset TEXT    NOT NULL,
    day    TEXT    NOT NULL, -- YYYY-MM-DD
    key_id TEXT    NOT NULL,
    calls  INTEGER NOT NULL,
    PRIMARY KEY (wallet, preset, day, key_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE preset_calls;
DROP TABLE preset_versions;
DROP TABLE presets;
