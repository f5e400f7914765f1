-- +goose Up
-- What remains of calls whose details were dropped. Each row is covered by the link of the chain with its number.
CREATE TABLE ledger_sweeps (
    seq     INTEGER NOT NULL PRIMARY KEY, -- of the link
    before  INTEGER NOT NULL, -- all calls began before that time
    calls   INTEGER NOT NULL,
    settled INTEGER NOT NULL, -- of them. Their entries stay
    rubles  INTEGER NOT NULL, -- costs, in two parts
    nanos   INTEGER NOT NULL,
    hours   BLOB    NOT NULL, -- digest of what they added to usage_hourly
    taxes   BLOB    NOT NULL -- and to usage_taxes
) STRICT;
-- One row, which is locked by the transaction that drops calls. Before that time calls may be dropped.
CREATE TABLE ledger_horizon (
    one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    before INTEGER NOT NULL
) STRICT;
INSERT INTO ledger_horizon (one, before) VALUES (1, 0);
-- +goose StatementBegin
CREATE TRIGGER ledger_sweeps_fixed BEFORE UPDATE ON ledger_sweeps BEGIN SELECT RAISE(ABORT, 'what remains of calls is never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER ledger_sweeps_kept BEFORE DELETE ON ledger_sweeps BEGIN SELECT RAISE(ABORT, 'what remains of calls is never deleted'); END;
-- +goose StatementEnd
DROP TRIGGER generations_kept;
-- +goose StatementBegin
CREATE TRIGGER generations_kept BEFORE DELETE ON generations WHEN OLD.at >= (SELECT before FROM ledger_horizon) BEGIN SELECT RAISE(ABORT, 'generations are never deleted before their time'); END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER generations_kept;
-- +goose StatementBegin
CREATE TRIGGER generations_kept BEFORE DELETE ON generations BEGIN SELECT RAISE(ABORT, 'generations are never deleted'); END;
-- +goose StatementEnd
DROP TABLE ledger_horizon;
DROP TABLE ledger_sweeps;
