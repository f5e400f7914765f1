-- +goose Up
-- What remains of calls whose details were dropped. Each row is covered by the link of the chain with its number.
CREATE TABLE ledger_sweeps (
    seq     BIGINT NOT NULL PRIMARY KEY, -- of the link
    before  BIGINT NOT NULL, -- all calls began before that time
    calls   BIGINT NOT NULL,
    settled BIGINT NOT NULL, -- of them. Their entries stay
    rubles  BIGINT NOT NULL, -- costs, in two parts
    nanos   BIGINT NOT NULL,
    hours   BYTEA  NOT NULL, -- digest of what they added to usage_hourly
    taxes   BYTEA  NOT NULL -- and to usage_taxes
);
-- One row, which is locked by the transaction that drops calls. Before that time calls may be dropped.
CREATE TABLE ledger_horizon (
    one    BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    before BIGINT NOT NULL
);
INSERT INTO ledger_horizon (one, before) VALUES (1, 0);
CREATE TRIGGER ledger_sweeps_fixed BEFORE UPDATE ON ledger_sweeps EXECUTE FUNCTION kept('what remains of calls is never changed');
CREATE TRIGGER ledger_sweeps_kept BEFORE DELETE OR TRUNCATE ON ledger_sweeps EXECUTE FUNCTION kept('what remains of calls is never deleted');
-- +goose StatementBegin
CREATE FUNCTION kept_young() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.at >= (SELECT before FROM ledger_horizon) THEN RAISE EXCEPTION '%', TG_ARGV[0]; END IF; RETURN OLD; END $$;
-- +goose StatementEnd
DROP TRIGGER generations_kept ON generations;
CREATE TRIGGER generations_kept BEFORE DELETE ON generations FOR EACH ROW EXECUTE FUNCTION kept_young('generations are never deleted before their time');
CREATE TRIGGER generations_whole BEFORE TRUNCATE ON generations EXECUTE FUNCTION kept('generations are never deleted');

-- +goose Down
DROP TRIGGER generations_whole ON generations;
DROP TRIGGER generations_kept ON generations;
CREATE TRIGGER generations_kept BEFORE DELETE OR TRUNCATE ON generations EXECUTE FUNCTION kept('generations are never deleted');
DROP FUNCTION kept_young;
DROP TABLE ledger_horizon;
DROP TABLE ledger_sweeps;
