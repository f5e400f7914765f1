-- +goose Up
-- What is personal can be erased: the salt keeps what was there from being guessed by its hash, and erased is the row that has the hash of the rest.
ALTER TABLE audit ADD COLUMN salt TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;
CREATE INDEX audit_erased ON audit (erased) WHERE erased > 0;
DROP TRIGGER audit_keep_rows;

-- +goose StatementBegin
CREATE TRIGGER audit_keep_rows BEFORE UPDATE ON audit WHEN NOT (OLD.erased = 0 AND NEW.erased > OLD.seq AND NEW.salt = '' AND NEW.from_addr = '' AND NEW.before IN ('', OLD.before) AND NEW.after IN ('', OLD.after)
    AND NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.actor = OLD.actor AND NEW.action = OLD.action AND NEW.target = OLD.target AND NEW.prev = OLD.prev AND NEW.hash = OLD.hash)
BEGIN
    SELECT RAISE(ABORT, 'audit rows are never changed');
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER audit_keep_rows;
DROP INDEX audit_erased;
ALTER TABLE audit DROP COLUMN erased;
ALTER TABLE audit DROP COLUMN salt;

-- +goose StatementBegin
CREATE TRIGGER audit_keep_rows BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit rows are never changed');
END;
-- +goose StatementEnd
