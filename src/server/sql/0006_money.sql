-- SPDX-License-Identifier: Apache-2.0
-- 0006: invoices, vouchers, payments told by a provider, refunds of cash. Common subset of SQLite 3.40 and PostgreSQL 15.

-- An invoice covers what was paid in cash by the account's transactions from_seq..to_seq. A red letter has the amounts
-- of its original, negative. Nothing changes once it has its number; numbers have no gap within a year.
CREATE TABLE invoice (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), kind TEXT NOT NULL CHECK (kind IN ('blue','red')),
  state TEXT NOT NULL, state_since_us BIGINT NOT NULL, year BIGINT NOT NULL DEFAULT 0, no BIGINT NOT NULL DEFAULT 0,
  number TEXT UNIQUE, from_us BIGINT NOT NULL, to_us BIGINT NOT NULL, from_seq BIGINT NOT NULL, to_seq BIGINT NOT NULL,
  currency TEXT NOT NULL, buyer TEXT NOT NULL, seller TEXT NOT NULL, tax_bp BIGINT NOT NULL, exact_micro BIGINT NOT NULL,
  net_micro BIGINT NOT NULL, tax_micro BIGINT NOT NULL, total_micro BIGINT NOT NULL, original_id TEXT REFERENCES invoice(id),
  reason TEXT NOT NULL DEFAULT '', created_us BIGINT NOT NULL, issued_us BIGINT NOT NULL DEFAULT 0,
  CHECK (net_micro + tax_micro = total_micro));
CREATE INDEX invoice_account ON invoice(account_id, id);
CREATE UNIQUE INDEX invoice_red ON invoice(original_id) WHERE kind = 'red';
CREATE TABLE invoice_line (
  invoice_id TEXT NOT NULL REFERENCES invoice(id), idx BIGINT NOT NULL, item TEXT NOT NULL, spec TEXT NOT NULL, unit TEXT NOT NULL,
  ref TEXT NOT NULL, price_version_id TEXT NOT NULL, quantity_micro BIGINT NOT NULL, exact_micro BIGINT NOT NULL,
  net_micro BIGINT NOT NULL, tax_micro BIGINT NOT NULL, total_micro BIGINT NOT NULL, PRIMARY KEY (invoice_id, idx),
  CHECK (net_micro + tax_micro = total_micro));

-- Codes that are worth credit. A code is shown once, when its batch is made; only its hash is kept.
CREATE TABLE voucher_batch (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, value_micro BIGINT NOT NULL CHECK (value_micro > 0), currency TEXT NOT NULL,
  codes BIGINT NOT NULL, uses BIGINT NOT NULL CHECK (uses > 0), per_account BIGINT NOT NULL CHECK (per_account > 0),
  expires_us BIGINT NOT NULL, revoked_us BIGINT NOT NULL DEFAULT 0, made_by TEXT NOT NULL, created_us BIGINT NOT NULL);
CREATE TABLE voucher (
  code_hash TEXT PRIMARY KEY, batch_id TEXT NOT NULL REFERENCES voucher_batch(id), uses_left BIGINT NOT NULL CHECK (uses_left >= 0));
CREATE INDEX voucher_of_batch ON voucher(batch_id);
CREATE TABLE voucher_use (
  txn_id TEXT PRIMARY KEY REFERENCES txn(id), code_hash TEXT NOT NULL REFERENCES voucher(code_hash), batch_id TEXT NOT NULL,
  account_id TEXT NOT NULL REFERENCES account(id), amount_micro BIGINT NOT NULL, created_us BIGINT NOT NULL,
  UNIQUE (code_hash, account_id));
CREATE INDEX voucher_use_batch ON voucher_use(batch_id, account_id);

-- What a payment provider told, each event once. Money whose account is not clear waits in `suspense`.
CREATE TABLE payment (
  id TEXT PRIMARY KEY, provider TEXT NOT NULL, event TEXT NOT NULL, type TEXT NOT NULL, reference TEXT NOT NULL, account TEXT NOT NULL,
  amount_micro BIGINT NOT NULL CHECK (amount_micro > 0), currency TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('noted','booked','suspense','returned')), account_id TEXT, txn_id TEXT REFERENCES txn(id),
  detail TEXT NOT NULL, told_us BIGINT NOT NULL, resolved_by TEXT NOT NULL DEFAULT '', created_us BIGINT NOT NULL,
  updated_us BIGINT NOT NULL, UNIQUE (provider, event));
CREATE INDEX payment_state ON payment(state, id);
CREATE INDEX payment_reference ON payment(provider, reference);

-- Cash that a renter wants back. Set aside in the ledger from the request on, so it cannot be spent as well.
CREATE TABLE payout (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), amount_micro BIGINT NOT NULL CHECK (amount_micro > 0),
  currency TEXT NOT NULL, state TEXT NOT NULL, state_since_us BIGINT NOT NULL, reason TEXT NOT NULL, reference TEXT NOT NULL DEFAULT '',
  created_us BIGINT NOT NULL);
CREATE INDEX payout_account ON payout(account_id, id);

-- Mails that must arrive: written with what they tell of, deleted after they were handed over; the id is the Message-ID.
CREATE TABLE outmail (
  id TEXT PRIMARY KEY, rcpt TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL, tries BIGINT NOT NULL DEFAULT 0,
  next_us BIGINT NOT NULL, created_us BIGINT NOT NULL);
CREATE INDEX outmail_due ON outmail(next_us);
