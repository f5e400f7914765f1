-- +goose Up

-- A provider or endpoint: complete, or changes of a built-in one. spec is a JSON object of texts.
CREATE TABLE catalog_rows (
    kind       TEXT COLLATE "C" NOT NULL, -- provider, endpoint
    id         TEXT COLLATE "C" NOT NULL,
    spec       TEXT COLLATE "C" NOT NULL,
    over       BOOLEAN NOT NULL, -- it only changes a built-in one, and has no effect without it
    sealed     BYTEA,            -- the provider's credential, encrypted
    last4      TEXT COLLATE "C" NOT NULL,
    version    BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (kind, id)
);

-- All changes of rows, rates and margins. The highest version is that of the catalog. The price list of a charge contains a version.
CREATE TABLE catalog_changes (
    version   BIGINT NOT NULL PRIMARY KEY,
    at        BIGINT NOT NULL,
    actor     TEXT COLLATE "C" NOT NULL,
    from_addr TEXT COLLATE "C" NOT NULL,
    action    TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL, -- provider, endpoint, rate
    id        TEXT COLLATE "C" NOT NULL,
    before    TEXT COLLATE "C", -- the whole spec; NULL: there was no row
    after     TEXT COLLATE "C"  -- NULL: the row was removed
);
CREATE INDEX catalog_changes_by_kind ON catalog_changes (kind, version);
CREATE TRIGGER catalog_changes_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog_changes EXECUTE FUNCTION kept('catalog changes are never changed');

ALTER TABLE users ADD COLUMN role TEXT COLLATE "C" NOT NULL DEFAULT 'user'; -- user, operator, administrator
UPDATE users SET role = 'administrator' WHERE id IN (SELECT target FROM audit WHERE actor = 'bootstrap' AND action = 'user.create');

-- +goose Down
ALTER TABLE users DROP COLUMN role;
DROP TABLE catalog_changes;
DROP TABLE catalog_rows;
