-- +goose Up
-- Roll-ups with the kind (api) and the result of calls: "ok", "canceled" or the error. They are filled again from the records when the store
-- opens, once.
DROP TABLE usage_daily;
DROP TABLE usage_hourly;

CREATE TABLE usage_daily (
    day              TEXT COLLATE "C" NOT NULL, -- YYYY-MM-DD
    wallet           TEXT COLLATE "C" NOT NULL,
    key_id           TEXT COLLATE "C" NOT NULL,
    user_id          TEXT COLLATE "C" NOT NULL,
    model            TEXT COLLATE "C" NOT NULL,
    provider         TEXT COLLATE "C" NOT NULL,
    api              TEXT COLLATE "C" NOT NULL,
    result           TEXT COLLATE "C" NOT NULL,
    calls            BIGINT NOT NULL,
    requests         BIGINT NOT NULL,
    errors           BIGINT NOT NULL, -- without what was canceled
    cancelled        BIGINT NOT NULL,
    prompt           BIGINT NOT NULL,
    cache_read       BIGINT NOT NULL,
    cache_write      BIGINT NOT NULL,
    completion       BIGINT NOT NULL,
    reasoning        BIGINT NOT NULL,
    cost             BIGINT NOT NULL,
    first_content_us BIGINT NOT NULL, -- sum over first_contents calls
    first_contents   BIGINT NOT NULL,
    generating_us    BIGINT NOT NULL,
    duration_us      BIGINT NOT NULL,
    refunded         BIGINT NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          BIGINT NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, day, key_id, user_id, model, provider, api, result)
) WITH (fillfactor = 80);
CREATE INDEX usage_daily_day ON usage_daily (day);

CREATE TABLE usage_hourly (
    hour             BIGINT NOT NULL, -- its start, Unix seconds
    wallet           TEXT COLLATE "C" NOT NULL,
    key_id           TEXT COLLATE "C" NOT NULL,
    user_id          TEXT COLLATE "C" NOT NULL,
    model            TEXT COLLATE "C" NOT NULL,
    provider         TEXT COLLATE "C" NOT NULL,
    endpoint         TEXT COLLATE "C" NOT NULL,
    api              TEXT COLLATE "C" NOT NULL,
    result           TEXT COLLATE "C" NOT NULL,
    calls            BIGINT NOT NULL,
    requests         BIGINT NOT NULL,
    errors           BIGINT NOT NULL, -- without what was canceled
    cancelled        BIGINT NOT NULL,
    prompt           BIGINT NOT NULL,
    cache_read       BIGINT NOT NULL,
    cache_write      BIGINT NOT NULL,
    completion       BIGINT NOT NULL,
    reasoning        BIGINT NOT NULL,
    cost             BIGINT NOT NULL,
    first_content_us BIGINT NOT NULL, -- sum over first_contents calls
    first_contents   BIGINT NOT NULL,
    generating_us    BIGINT NOT NULL,
    duration_us      BIGINT NOT NULL,
    refunded         BIGINT NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          BIGINT NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, hour, key_id, user_id, model, provider, endpoint, api, result)
) WITH (fillfactor = 80);
CREATE INDEX usage_hourly_hour ON usage_hourly (hour);

-- Days of a wallet by two properties of its calls: few rows, for pages over long periods.
CREATE TABLE usage_groups (
    wallet           TEXT COLLATE "C" NOT NULL,
    part             TEXT COLLATE "C" NOT NULL, -- model (and provider), key (and user), kind (and result)
    day              TEXT COLLATE "C" NOT NULL,
    value            TEXT COLLATE "C" NOT NULL,
    beside           TEXT COLLATE "C" NOT NULL,
    calls            BIGINT NOT NULL,
    requests         BIGINT NOT NULL,
    errors           BIGINT NOT NULL, -- without what was canceled
    cancelled        BIGINT NOT NULL,
    prompt           BIGINT NOT NULL,
    cache_read       BIGINT NOT NULL,
    cache_write      BIGINT NOT NULL,
    completion       BIGINT NOT NULL,
    reasoning        BIGINT NOT NULL,
    cost             BIGINT NOT NULL,
    first_content_us BIGINT NOT NULL, -- sum over first_contents calls
    first_contents   BIGINT NOT NULL,
    generating_us    BIGINT NOT NULL,
    duration_us      BIGINT NOT NULL,
    refunded         BIGINT NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          BIGINT NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, part, day, value, beside)
) WITH (fillfactor = 80);

-- Which form of the roll-ups is filled. One row.
CREATE TABLE usage_form (
    one  BIGINT PRIMARY KEY CHECK (one = 1),
    form BIGINT NOT NULL
);
INSERT INTO usage_form (one, form) VALUES (1, 0);

-- Calls of a wallet by time, for lists.
CREATE INDEX generations_by_time ON generations (wallet, at);

-- What a key may be used for and from where, separated by spaces; '' for all.
ALTER TABLE api_keys ADD COLUMN allowed_models TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN allowed_ips TEXT COLLATE "C" NOT NULL DEFAULT '';
-- The text of a key before its last rotation, while it works.
ALTER TABLE api_keys ADD COLUMN previous_hash TEXT COLLATE "C";
ALTER TABLE api_keys ADD COLUMN previous_label TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN previous_until BIGINT;
CREATE UNIQUE INDEX api_keys_previous ON api_keys (previous_hash);

-- How a person wants the pages. '' is the browser's.
ALTER TABLE users ADD COLUMN language TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN theme TEXT COLLATE "C" NOT NULL DEFAULT '';

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
    day TEXT COLLATE "C" NOT NULL,
    wallet TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    calls BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    prompt BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    completion BIGINT NOT NULL,
    reasoning BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    first_content_us BIGINT NOT NULL,
    first_contents BIGINT NOT NULL,
    generating_us BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    refunded BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (wallet, day, key_id, user_id, model, provider)
) WITH (fillfactor = 80);
CREATE INDEX usage_daily_day ON usage_daily (day);
CREATE TABLE usage_hourly (
    hour BIGINT NOT NULL,
    wallet TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    endpoint TEXT COLLATE "C" NOT NULL,
    calls BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    prompt BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    completion BIGINT NOT NULL,
    reasoning BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    first_content_us BIGINT NOT NULL,
    first_contents BIGINT NOT NULL,
    generating_us BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    refunded BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (wallet, hour, key_id, user_id, model, provider, endpoint)
) WITH (fillfactor = 80);
CREATE INDEX usage_hourly_hour ON usage_hourly (hour);
