-- +goose Up
-- Roll-ups with the kind (api) and the result of calls: "ok", "canceled" or the error. They are filled again from the records when the store
-- opens, once.
DROP TABLE usage_daily;
DROP TABLE usage_hourly;

CREATE TABLE usage_daily (
    day              TEXT NOT NULL, -- YYYY-MM-DD
    wallet           TEXT NOT NULL,
    key_id           TEXT NOT NULL,
    user_id          TEXT NOT NULL,
    model            TEXT NOT NULL,
    provider         TEXT NOT NULL,
    api              TEXT NOT NULL,
    result           TEXT NOT NULL,
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL, -- without what was canceled
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL, -- sum over first_contents calls
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          INTEGER NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, day, key_id, user_id, model, provider, api, result)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_daily_day ON usage_daily (day);

CREATE TABLE usage_hourly (
    hour             INTEGER NOT NULL, -- its start, Unix seconds
    wallet           TEXT NOT NULL,
    key_id           TEXT NOT NULL,
    user_id          TEXT NOT NULL,
    model            TEXT NOT NULL,
    provider         TEXT NOT NULL,
    endpoint         TEXT NOT NULL,
    api              TEXT NOT NULL,
    result           TEXT NOT NULL,
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL, -- without what was canceled
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL, -- sum over first_contents calls
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          INTEGER NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, hour, key_id, user_id, model, provider, endpoint, api, result)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_hourly_hour ON usage_hourly (hour);

-- Days of a wallet by two properties of its calls: few rows, for pages over long periods.
CREATE TABLE usage_groups (
    wallet           TEXT NOT NULL,
    part             TEXT NOT NULL, -- model (and provider), key (and user), kind (and result)
    day              TEXT NOT NULL,
    value            TEXT NOT NULL,
    beside           TEXT NOT NULL,
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL, -- without what was canceled
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL, -- sum over first_contents calls
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          INTEGER NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, part, day, value, beside)
) STRICT, WITHOUT ROWID;

-- Which form of the roll-ups is filled. One row.
CREATE TABLE usage_form (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    form INTEGER NOT NULL
) STRICT;
INSERT INTO usage_form (one, form) VALUES (1, 0);

-- Calls of a wallet by time, for lists.
CREATE INDEX generations_by_time ON generations (wallet, at);

-- What a key may be used for and from where, separated by spaces; '' for all.
ALTER TABLE api_keys ADD COLUMN allowed_models TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN allowed_ips TEXT NOT NULL DEFAULT '';
-- The text of a key before its last rotation, while it works.
ALTER TABLE api_keys ADD COLUMN previous_hash TEXT;
ALTER TABLE api_keys ADD COLUMN previous_label TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN previous_until INTEGER;
CREATE UNIQUE INDEX api_keys_previous ON api_keys (previous_hash);

-- How a person wants the pages. '' is the browser's.
ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN theme TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE users DROP COLUMN theme;
ALTER TABLE users DROP COLUMN language;
DROP INDEX api_keys_previous;
ALTER TABLE api_keys DROP COLUMN previous_until;
ALTER TABLE api_keys DROP COLUMN previous_label;
ALTER TABLE api_keys DROP COLUMN previous_hash;
ALTER TABLE api_keys DROP COLUMN allowed_ips;
ALTER TABLE api_keys DROP COLUMN allowed_models;
DROP INDEX generations_by_time;
DROP TABLE usage_form;
DROP TABLE usage_groups;
DROP TABLE usage_hourly;
DROP TABLE usage_daily;
CREATE TABLE usage_daily (
    day TEXT NOT NULL,
    wallet TEXT NOT NULL,
    key_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    calls INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    prompt INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL,
    first_contents INTEGER NOT NULL,
    generating_us INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    refunded INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (wallet, day, key_id, user_id, model, provider)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_daily_day ON usage_daily (day);
CREATE TABLE usage_hourly (
    hour INTEGER NOT NULL,
    wallet TEXT NOT NULL,
    key_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    calls INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    prompt INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL,
    first_contents INTEGER NOT NULL,
    generating_us INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    refunded INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (wallet, hour, key_id, user_id, model, provider, endpoint)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_hourly_hour ON usage_hourly (hour);
