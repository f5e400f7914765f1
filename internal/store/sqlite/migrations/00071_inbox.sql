-- +goose Up
-- Whether a fact was reported by mail or by a webhook, or is an event, which is not reported later. What is not is reported when its cause is switched on.
ALTER TABLE notify_facts ADD COLUMN reported INTEGER NOT NULL DEFAULT 1;
-- The tag that a fact is about, '' none.
ALTER TABLE notify_facts ADD COLUMN tag TEXT NOT NULL DEFAULT '';
-- Counts changes of what the account is shown: pages that are open look again.
ALTER TABLE notify_accounts ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

-- Up to when a person has read what was noticed for an account.
CREATE TABLE notify_reads (
    person  TEXT    NOT NULL,
    account TEXT    NOT NULL,
    until   INTEGER NOT NULL, -- facts that were found later are unread
    PRIMARY KEY (person, account)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE notify_reads;
ALTER TABLE notify_accounts DROP COLUMN version;
ALTER TABLE notify_facts DROP COLUMN tag;
ALTER TABLE notify_facts DROP COLUMN reported;
