-- +goose Up
-- Named set-ups of requests, and the versions of each that are kept. The content is JSON.
CREATE TABLE presets (
    user_id     TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    version     BIGINT NOT NULL, -- the current one
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (user_id, name)
);

CREATE TABLE preset_versions (
    user_id TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    number  BIGINT NOT NULL,
    size    BIGINT NOT NULL, -- bytes of content
    content TEXT COLLATE "C" NOT NULL,
    actor   TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (user_id, name, number)
);

-- How many calls used a preset, by day and key. Days that nobody asks for any more are dropped.
CREATE TABLE preset_calls (
    wallet TEXT COLLATE "C" NOT NULL,
    preset TEXT COLLATE "C" NOT NULL,
    day    TEXT COLLATE "C" NOT NULL, -- YYYY-MM-DD
    key_id TEXT COLLATE "C" NOT NULL,
    calls  BIGINT NOT NULL,
    PRIMARY KEY (wallet, preset, day, key_id)
);

-- +goose Down
DROP TABLE preset_calls;
DROP TABLE preset_versions;
DROP TABLE presets;
