-- +goose Up
-- Statements of banks that were imported, and their documents, save those that the seller paid. Amounts are in 10^-9 rubles, times in microseconds.
CREATE TABLE bank_statements (
    id        TEXT NOT NULL PRIMARY KEY,
    name      TEXT NOT NULL, -- of the file
    sum       TEXT NOT NULL UNIQUE, -- SHA-256 of the file in hex
    actor     TEXT NOT NULL,
    at        INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    credited  INTEGER NOT NULL, -- of them
    already   INTEGER NOT NULL,
    outgoing  INTEGER NOT NULL,
    amount    INTEGER NOT NULL -- that was credited
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_statements_at ON bank_statements (at, id);

CREATE TABLE bank_documents (
    statement     TEXT NOT NULL REFERENCES bank_statements (id),
    line          INTEGER NOT NULL, -- of the file
    key           TEXT NOT NULL, -- of the document for ever, as in invoice_transfers
    kind          TEXT NOT NULL,
    number        TEXT NOT NULL,
    date          TEXT NOT NULL,
    amount        INTEGER NOT NULL,
    payer_name    TEXT NOT NULL,
    payer_inn     TEXT NOT NULL,
    payer_account TEXT NOT NULL,
    receiver      TEXT NOT NULL,
    purpose       TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    note          TEXT NOT NULL,
    waits         INTEGER NOT NULL, -- a person has to decide
    aside         TEXT NOT NULL, -- why a person has decided to credit it to no invoice; '': not decided
    PRIMARY KEY (statement, line)
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_documents_key ON bank_documents (key);
CREATE INDEX bank_documents_waits ON bank_documents (statement) WHERE waits;

-- +goose Down
DROP TABLE bank_documents;
DROP TABLE bank_statements;
