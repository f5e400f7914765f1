-- +goose Up
-- The record of a call as JSON. Rows of older versions have it packed in the column record, until they are rewritten in the background; then that is empty.
ALTER TABLE generations ADD COLUMN details JSONB;
CREATE INDEX generations_packed ON generations (wallet, id) WHERE details IS NULL;
-- The one change of a row: its packed record becomes details.
-- +goose StatementBegin
CREATE FUNCTION kept_but_packed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF OLD.details IS NOT NULL OR NEW.details IS NULL OR NEW.record <> '' OR (OLD.wallet, OLD.id, OLD.at, OLD.user_id, OLD.key_id, OLD.api, OLD.model, OLD.provider, OLD.status, OLD.error, OLD.cancelled, OLD.settled, OLD.cost) IS DISTINCT FROM (NEW.wallet, NEW.id, NEW.at, NEW.user_id, NEW.key_id, NEW.api, NEW.model, NEW.provider, NEW.status, NEW.error, NEW.cancelled, NEW.settled, NEW.cost) THEN RAISE EXCEPTION '%', TG_ARGV[0]; END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
DROP TRIGGER generations_fixed ON generations;
CREATE TRIGGER generations_fixed BEFORE UPDATE ON generations FOR EACH ROW EXECUTE FUNCTION kept_but_packed('generations are never changed');

-- +goose Down
DROP TRIGGER generations_fixed ON generations;
CREATE TRIGGER generations_fixed BEFORE UPDATE ON generations EXECUTE FUNCTION kept('generations are never changed');
DROP FUNCTION kept_but_packed;
DROP INDEX generations_packed;
ALTER TABLE generations DROP COLUMN details;
