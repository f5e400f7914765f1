-- +goose Up
-- What calls of a day were for, by each property that an account sorts them by. Calls without the property are in no row: they are the rest of the day.
-- It is filled from the records when the store opens, once.
CREATE TABLE tag_days (
    wallet TEXT COLLATE "C" NOT NULL,
    part TEXT COLLATE "C" NOT NULL, -- member, team, session, user, tag:NAME; tag: value is a name
    day TEXT COLLATE "C" NOT NULL, -- YYYY-MM-DD, of the account
    value TEXT COLLATE "C" NOT NULL, -- (alone): a name without a value; (other): values that are beyond the bound of a day
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
    refunded BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (wallet, part, day, value)
) WITH (fillfactor = 80);
-- The same by key, member, team, model, provider, kind and result, for reports that are about some of them.
CREATE TABLE tag_usage (
    wallet TEXT COLLATE "C" NOT NULL,
    part TEXT COLLATE "C" NOT NULL,
    day TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    member TEXT COLLATE "C" NOT NULL,
    team TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    api TEXT COLLATE "C" NOT NULL,
    result TEXT COLLATE "C" NOT NULL,
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
    refunded BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (wallet, part, value, day, key_id, member, team, model, provider, api, result)
) WITH (fillfactor = 80);
-- Whether they are filled.
ALTER TABLE usage_form ADD COLUMN tags BIGINT NOT NULL DEFAULT 0;
-- Digest of what dropped calls added to tag_usage; empty before it was kept.
ALTER TABLE ledger_sweeps ADD COLUMN tags BYTEA NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE ledger_sweeps DROP COLUMN tags;
ALTER TABLE usage_form DROP COLUMN tags;
DROP TABLE tag_usage;
DROP TABLE tag_days;
