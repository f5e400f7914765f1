-- +goose Up
-- The record of a call as JSON. Rows of older versions have it packed in the column record, until they are rewritten in the background; then that is empty.
ALTER TABLE generations ADD COLUMN details TEXT;
CREATE INDEX generations_packed ON generations (wallet, id) WHERE details IS NULL;
-- The one change of a row: its packed record becomes details.
DROP TRIGGER generations_fixed;
-- +goose StatementBegin
CREATE TRIGGER generations_fixed BEFORE UPDATE ON generations WHEN OLD.details IS NOT NULL OR NEW.details IS NULL OR NEW.record <> x'' OR (OLD.wallet, OLD.id, OLD.at, OLD.user_id, OLD.key_id, OLD.api, OLD.model, OLD.provider, OLD.status, OLD.error, OLD.cancelled, OLD.settled, OLD.cost) IS NOT (NEW.wallet, NEW.id, NEW.at, NEW.user_id, NEW.key_id, NEW.api, NEW.model, NEW.provider, NEW.status, NEW.error, NEW.cancelled, NEW.settled, NEW.cost)
BEGIN SELECT RAISE(ABORT, 'generations are never changed'); END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER generations_fixed;
-- +goose StatementBegin
CREATE TRIGGER generations_fixed BEFORE UPDATE ON generations BEGIN SELECT RAISE(ABORT, 'generations are never changed'); END;
-- +goose StatementEnd
DROP INDEX generations_packed;
ALTER TABLE generations DROP COLUMN details;
