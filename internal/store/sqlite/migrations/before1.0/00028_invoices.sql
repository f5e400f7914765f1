-- +goose Up
-- Invoices for bank transfers, what arrived for them, and acts of months. Amounts are in 10^-9 rubles, times in microseconds.
CREATE TABLE invoice_numbers (
    kind   TEXT NOT NULL, -- "invoice", "act"
    seller TEXT NOT NULL, -- INN
    year   INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (kind, seller, year)
) STRICT, WITHOUT ROWID;

CREATE TABLE invoice_buyers (
    account    TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    inn        TEXT NOT NULL,
    kpp        TEXT NOT NULL,
    address    TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE invoices (
    id          TEXT NOT NULL PRIMARY KEY,
    number      TEXT NOT NULL,
    year        INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    account     TEXT NOT NULL,
    wallet      TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('open', 'paid', 'cancelled')),
    buyer_name TEXT NOT NULL,
    buyer_inn TEXT NOT NULL,
    buyer_kpp TEXT NOT NULL,
    buyer_address TEXT NOT NULL,
    seller_name TEXT NOT NULL,
    seller_inn TEXT NOT NULL,
    seller_kpp TEXT NOT NULL,
    seller_address TEXT NOT NULL,
    seller_bank TEXT NOT NULL,
    seller_bik TEXT NOT NULL,
    seller_account TEXT NOT NULL,
    seller_correspondent TEXT NOT NULL,
    seller_director TEXT NOT NULL,
    seller_accountant TEXT NOT NULL,
    vat_mode    TEXT NOT NULL,
    vat_percent TEXT NOT NULL,
    line        TEXT NOT NULL,
    amount      INTEGER NOT NULL CHECK (amount > 0),
    tax         INTEGER NOT NULL CHECK (tax >= 0),
    total       INTEGER NOT NULL CHECK (total >= amount),
    received    INTEGER NOT NULL CHECK (received >= 0),
    credited    INTEGER NOT NULL CHECK (credited >= 0),
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    UNIQUE (seller_inn, year, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX invoices_number ON invoices (seller_inn, number);
CREATE INDEX invoices_account ON invoices (account, created_at, id);
CREATE INDEX invoices_open ON invoices (account, expires_at) WHERE state = 'open';
CREATE INDEX invoices_created ON invoices (created_at, id);
CREATE INDEX invoices_state ON invoices (state, created_at, id);

CREATE TABLE invoice_transfers (
    key      TEXT NOT NULL PRIMARY KEY, -- of the bank's document
    invoice  TEXT NOT NULL REFERENCES invoices (id),
    account  TEXT NOT NULL,
    manual   INTEGER NOT NULL,
    amount   INTEGER NOT NULL, -- below zero: it was paid back
    credited INTEGER NOT NULL,
    date     TEXT NOT NULL,
    number   TEXT NOT NULL,
    payer    TEXT NOT NULL,
    purpose  TEXT NOT NULL,
    actor    TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invoice_transfers_invoice ON invoice_transfers (invoice, at, key);

CREATE TABLE invoice_acts (
    id          TEXT NOT NULL PRIMARY KEY,
    number      TEXT NOT NULL,
    year        INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    account     TEXT NOT NULL,
    wallet      TEXT NOT NULL,
    month       TEXT NOT NULL,
    buyer_name TEXT NOT NULL,
    buyer_inn TEXT NOT NULL,
    buyer_kpp TEXT NOT NULL,
    buyer_address TEXT NOT NULL,
    seller_name TEXT NOT NULL,
    seller_inn TEXT NOT NULL,
    seller_kpp TEXT NOT NULL,
    seller_address TEXT NOT NULL,
    seller_bank TEXT NOT NULL,
    seller_bik TEXT NOT NULL,
    seller_account TEXT NOT NULL,
    seller_correspondent TEXT NOT NULL,
    seller_director TEXT NOT NULL,
    seller_accountant TEXT NOT NULL,
    vat_mode    TEXT NOT NULL,
    vat_percent TEXT NOT NULL,
    line        TEXT NOT NULL,
    opening     INTEGER NOT NULL,
    topped_up   INTEGER NOT NULL,
    spent       INTEGER NOT NULL,
    closing     INTEGER NOT NULL,
    carried_in  INTEGER NOT NULL,
    amount      INTEGER NOT NULL CHECK (amount > 0),
    tax         INTEGER NOT NULL CHECK (tax >= 0),
    total       INTEGER NOT NULL CHECK (total >= amount),
    carried_out INTEGER NOT NULL,
    made_at     INTEGER NOT NULL,
    UNIQUE (seller_inn, year, seq),
    UNIQUE (account, month)
) STRICT, WITHOUT ROWID;
CREATE INDEX invoice_acts_month ON invoice_acts (month, id);
-- +goose StatementBegin
CREATE TRIGGER invoice_acts_fixed BEFORE UPDATE ON invoice_acts BEGIN SELECT RAISE(ABORT, 'acts are never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER invoice_acts_kept BEFORE DELETE ON invoice_acts BEGIN SELECT RAISE(ABORT, 'acts are never deleted'); END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE invoice_acts;
DROP TABLE invoice_transfers;
DROP TABLE invoices;
DROP TABLE invoice_buyers;
DROP TABLE invoice_numbers;
