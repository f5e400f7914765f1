-- +goose Up
-- What calls of a day were for, by each property that an account sorts them by. Calls without the property are in no row: they are the rest of the day.
-- It is filled from the records when the store opens, once.
CREATE TABLE tag_days (
    wallet TEXT NOT NULL,
    part TEXT NOT NULL, -- member, team, session, user, tag:NAME; tag: value is a name
    day TEXT NOT NULL, -- YYYY-MM-DD, of the account
    value TEXT NOT NULL, -- (alone): a name without a value; (other): values that are beyond the bound of a day
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
    refunded INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (wallet, part, day, value)
) STRICT, WITHOUT ROWID;
-- The same by key, member, team, model, provider, kind and result, for reports that are about some of them.
CREATE TABLE tag_usage (
    wallet TEXT NOT NULL,
    part TEXT NOT NULL,
    day TEXT NOT NULL,
    value TEXT NOT NULL,
    key_id TEXT NOT NULL,
    member TEXT NOT NULL,
    team TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    api TEXT NOT NULL,
    result TEXT NOT NULL,
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
    refunded INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (wallet, part, value, day, key_id, member, team, model, provider, api, result)
) STRICT, WITHOUT ROWID;
-- Whether they are filled.
ALTER TABLE usage_form ADD COLUMN tags INTEGER NOT NULL DEFAULT 0;
-- Digest of what dropped calls added to tag_usage; empty before it was kept.
ALTER TABLE ledger_sweeps ADD COLUMN tags BLOB NOT NULL DEFAULT x'';

-- +goose Down
ALTER TABLE ledger_sweeps DROP COLUMN tags;
ALTER TABLE usage_form DROP COLUMN tags;
DROP TABLE tag_usage;
DROP TABLE tag_days;
