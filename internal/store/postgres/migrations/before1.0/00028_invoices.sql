-- +goose Up
-- Invoices for bank transfers, what arrived for them, and acts of months. Amounts are in 10^-9 rubles, times in microseconds.
CREATE TABLE invoice_numbers (
    kind   TEXT COLLATE "C" NOT NULL, -- "invoice", "act"
    seller TEXT COLLATE "C" NOT NULL, -- INN
    year   BIGINT NOT NULL,
    last   BIGINT NOT NULL,
    PRIMARY KEY (kind, seller, year)
);

CREATE TABLE invoice_buyers (
    account    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    inn        TEXT COLLATE "C" NOT NULL,
    kpp        TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE invoices (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number      TEXT COLLATE "C" NOT NULL,
    year        BIGINT NOT NULL,
    seq         BIGINT NOT NULL,
    account     TEXT COLLATE "C" NOT NULL,
    wallet      TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'paid', 'cancelled')),
    buyer_name TEXT COLLATE "C" NOT NULL,
    buyer_inn TEXT COLLATE "C" NOT NULL,
    buyer_kpp TEXT COLLATE "C" NOT NULL,
    buyer_address TEXT COLLATE "C" NOT NULL,
    seller_name TEXT COLLATE "C" NOT NULL,
    seller_inn TEXT COLLATE "C" NOT NULL,
    seller_kpp TEXT COLLATE "C" NOT NULL,
    seller_address TEXT COLLATE "C" NOT NULL,
    seller_bank TEXT COLLATE "C" NOT NULL,
    seller_bik TEXT COLLATE "C" NOT NULL,
    seller_account TEXT COLLATE "C" NOT NULL,
    seller_correspondent TEXT COLLATE "C" NOT NULL,
    seller_director TEXT COLLATE "C" NOT NULL,
    seller_accountant TEXT COLLATE "C" NOT NULL,
    vat_mode    TEXT COLLATE "C" NOT NULL,
    vat_percent TEXT COLLATE "C" NOT NULL,
    line        TEXT COLLATE "C" NOT NULL,
    amount      BIGINT NOT NULL CHECK (amount > 0),
    tax         BIGINT NOT NULL CHECK (tax >= 0),
    total       BIGINT NOT NULL CHECK (total >= amount),
    received    BIGINT NOT NULL CHECK (received >= 0),
    credited    BIGINT NOT NULL CHECK (credited >= 0),
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    ended_at    BIGINT,
    UNIQUE (seller_inn, year, seq)
);
CREATE INDEX invoices_number ON invoices (seller_inn, number);
CREATE INDEX invoices_account ON invoices (account, created_at, id);
CREATE INDEX invoices_open ON invoices (account, expires_at) WHERE state = 'open';
CREATE INDEX invoices_created ON invoices (created_at, id);
CREATE INDEX invoices_state ON invoices (state, created_at, id);

CREATE TABLE invoice_transfers (
    key      TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- of the bank's document
    invoice  TEXT COLLATE "C" NOT NULL REFERENCES invoices (id),
    account  TEXT COLLATE "C" NOT NULL,
    manual   BOOLEAN NOT NULL,
    amount   BIGINT NOT NULL, -- below zero: it was paid back
    credited BIGINT NOT NULL,
    date     TEXT COLLATE "C" NOT NULL,
    number   TEXT COLLATE "C" NOT NULL,
    payer    TEXT COLLATE "C" NOT NULL,
    purpose  TEXT COLLATE "C" NOT NULL,
    actor    TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL
);
CREATE INDEX invoice_transfers_invoice ON invoice_transfers (invoice, at, key);

CREATE TABLE invoice_acts (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number      TEXT COLLATE "C" NOT NULL,
    year        BIGINT NOT NULL,
    seq         BIGINT NOT NULL,
    account     TEXT COLLATE "C" NOT NULL,
    wallet      TEXT COLLATE "C" NOT NULL,
    month       TEXT COLLATE "C" NOT NULL,
    buyer_name TEXT COLLATE "C" NOT NULL,
    buyer_inn TEXT COLLATE "C" NOT NULL,
    buyer_kpp TEXT COLLATE "C" NOT NULL,
    buyer_address TEXT COLLATE "C" NOT NULL,
    seller_name TEXT COLLATE "C" NOT NULL,
    seller_inn TEXT COLLATE "C" NOT NULL,
    seller_kpp TEXT COLLATE "C" NOT NULL,
    seller_address TEXT COLLATE "C" NOT NULL,
    seller_bank TEXT COLLATE "C" NOT NULL,
    seller_bik TEXT COLLATE "C" NOT NULL,
    seller_account TEXT COLLATE "C" NOT NULL,
    seller_correspondent TEXT COLLATE "C" NOT NULL,
    seller_director TEXT COLLATE "C" NOT NULL,
    seller_accountant TEXT COLLATE "C" NOT NULL,
    vat_mode    TEXT COLLATE "C" NOT NULL,
    vat_percent TEXT COLLATE "C" NOT NULL,
    line        TEXT COLLATE "C" NOT NULL,
    opening     BIGINT NOT NULL,
    topped_up   BIGINT NOT NULL,
    spent       BIGINT NOT NULL,
    closing     BIGINT NOT NULL,
    carried_in  BIGINT NOT NULL,
    amount      BIGINT NOT NULL CHECK (amount > 0),
    tax         BIGINT NOT NULL CHECK (tax >= 0),
    total       BIGINT NOT NULL CHECK (total >= amount),
    carried_out BIGINT NOT NULL,
    made_at     BIGINT NOT NULL,
    UNIQUE (seller_inn, year, seq),
    UNIQUE (account, month)
);
CREATE INDEX invoice_acts_month ON invoice_acts (month, id);
CREATE TRIGGER invoice_acts_fixed BEFORE UPDATE ON invoice_acts EXECUTE FUNCTION kept('acts are never changed');
CREATE TRIGGER invoice_acts_kept BEFORE DELETE OR TRUNCATE ON invoice_acts EXECUTE FUNCTION kept('acts are never deleted');

-- +goose Down
DROP TABLE invoice_acts;
DROP TABLE invoice_transfers;
DROP TABLE invoices;
DROP TABLE invoice_buyers;
DROP TABLE invoice_numbers;
