-- +goose Up

-- A provider or endpoint: complete, or changes of a built-in one. spec is a JSON object of texts.
CREATE TABLE catalog_rows (
    kind       TEXT    NOT NULL, -- provider, endpoint
    id         TEXT    NOT NULL,
    spec       TEXT    NOT NULL,
    over       INTEGER NOT NULL, -- it only changes a built-in one, and has no effect without it
    sealed     BLOB,             -- the provider's credential, encrypted
    last4      TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- All changes of rows, rates and margins. The highest version is that of the catalog. The price list of a charge contains a version.
CREATE TABLE catalog_changes (
    version   INTEGER NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    from_addr TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    kind      TEXT    NOT NULL, -- provider, endpoint, rate
    id        TEXT    NOT NULL,
    before    TEXT, -- the whole spec; NULL: there was no row
    after     TEXT  -- NULL: the row was removed
) STRICT;
CREATE INDEX catalog_changes_by_kind ON catalog_changes (kind, version);

-- +goose StatementBegin
CREATE TRIGGER catalog_changes_fixed BEFORE UPDATE ON catalog_changes BEGIN SELECT RAISE(ABORT, 'catalog changes are never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER catalog_changes_kept BEFORE DELETE ON catalog_changes BEGIN SELECT RAISE(ABORT, 'catalog changes are never deleted'); END;
-- +goose StatementEnd

ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'user'; -- user, operator, administrator
UPDATE users SET role = 'administrator' WHERE id IN (SELECT target FROM audit WHERE actor = 'bootstrap' AND action = 'user.create');

-- +goose Down
ALTER TABLE users DROP COLUMN role;
DROP TABLE catalog_changes;
DROP TABLE catalog_rows;
