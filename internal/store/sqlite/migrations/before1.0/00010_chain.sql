-- +goose Up
-- The hash chain of postings and records: each link has a hash of the rows of one store transaction and of the previous link. The first link of a
-- ledger that existed before covers all its older rows. It is added when a node opens the store.
CREATE TABLE ledger_chain (
    seq    INTEGER NOT NULL PRIMARY KEY, -- 1, 2, ... without gaps
    first  INTEGER NOT NULL, -- of its transactions. 0: none
    last   INTEGER NOT NULL,
    calls  INTEGER NOT NULL, -- number of recorded calls
    digest BLOB NOT NULL, -- of these calls, independent of their order
    hash   TEXT NOT NULL
) STRICT;
-- One row, which is locked by the transaction that adds a link until it ends.
CREATE TABLE ledger_head (
    id     INTEGER NOT NULL PRIMARY KEY,
    length INTEGER NOT NULL
) STRICT;
-- +goose StatementBegin
CREATE TRIGGER ledger_chain_fixed BEFORE UPDATE ON ledger_chain BEGIN SELECT RAISE(ABORT, 'links of the ledger are never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER ledger_chain_kept BEFORE DELETE ON ledger_chain BEGIN SELECT RAISE(ABORT, 'links of the ledger are never deleted'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER generations_kept BEFORE DELETE ON generations BEGIN SELECT RAISE(ABORT, 'generations are never deleted'); END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER generations_kept;
DROP TABLE ledger_head;
DROP TABLE ledger_chain;
