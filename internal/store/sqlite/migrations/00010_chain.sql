-- +goose Up
-- What was posted and recorded, as a chain: each link has a hash of what one transaction of the store added, and of the link before it. Books that
-- were kept before are taken over by the first link, when a node opens them.
CREATE TABLE ledger_chain (
    seq    INTEGER NOT NULL PRIMARY KEY, -- 1, 2, ... without gaps
    first  INTEGER NOT NULL, -- of the transactions that it stands for; 0 where there is none
    last   INTEGER NOT NULL,
    calls  INTEGER NOT NULL, -- how many were recorded
    digest BLOB NOT NULL, -- of these, whatever their order
    hash   TEXT NOT NULL
) STRICT;
-- One row: whoever adds a link holds it until the end of the transaction.
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
