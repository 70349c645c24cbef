-- SPDX-License-Identifier: Apache-2.0
-- 0001: everything the rental spine stores. Common subset of SQLite 3.40 and PostgreSQL 15.
-- Ids are text (id.h), times are UTC microseconds, money is micro-units. State columns change only
-- through lifecycle.h. Append-only tables are guarded by triggers in db_sqlite's dialect file 0002.
-- /* clustered */: rows are small and found by their key, so where the engine can, the key's tree holds them
-- (SQLite: WITHOUT ROWID); other engines read a comment.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE account (
  id TEXT PRIMARY KEY, email TEXT NOT NULL, email_norm TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL, role TEXT NOT NULL CHECK (role IN ('renter','operator')),
  state TEXT NOT NULL CHECK (state IN ('unverified','active','frozen')), state_reason TEXT NOT NULL,
  currency TEXT NOT NULL, email_verified_us BIGINT NOT NULL DEFAULT 0,
  quota_gpus BIGINT NOT NULL, quota_leases BIGINT NOT NULL, quota_disk_gb BIGINT NOT NULL,
  created_us BIGINT NOT NULL, updated_us BIGINT NOT NULL);

-- A sign-up whose mailed code was not entered yet; it becomes the account row of the same id. Several may
-- wait for one e-mail: each code belongs to one password, so nobody can lay a password under another's code.
CREATE TABLE signup (
  id TEXT PRIMARY KEY, email TEXT NOT NULL, email_norm TEXT NOT NULL, password_hash TEXT NOT NULL,
  code_hash TEXT NOT NULL, expires_us BIGINT NOT NULL, tries BIGINT NOT NULL DEFAULT 0, created_us BIGINT NOT NULL);
CREATE INDEX signup_email ON signup(email_norm, id);

-- A verified person or phone; hash = SHA-256 of kind and normalised value, so the value is not stored.
CREATE TABLE identity (
  hash TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), kind TEXT NOT NULL,
  verified_us BIGINT NOT NULL);
CREATE TABLE trial_grant (
  identity_hash TEXT PRIMARY KEY, account_id TEXT NOT NULL UNIQUE REFERENCES account(id),
  amount_micro BIGINT NOT NULL, txn_id TEXT NOT NULL, created_us BIGINT NOT NULL);

CREATE TABLE token (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL, scopes TEXT NOT NULL, created_us BIGINT NOT NULL, expires_us BIGINT NOT NULL,
  last_used_us BIGINT NOT NULL DEFAULT 0, revoked_us BIGINT NOT NULL DEFAULT 0);
CREATE INDEX token_account ON token(account_id, id);
-- Brute-force delay: one row per e-mail and per address that failed lately.
CREATE TABLE login_delay (
  key TEXT PRIMARY KEY, fails BIGINT NOT NULL, until_us BIGINT NOT NULL, last_us BIGINT NOT NULL);
CREATE TABLE ssh_key (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), name TEXT NOT NULL,
  type TEXT NOT NULL, line TEXT NOT NULL, fingerprint TEXT NOT NULL, created_us BIGINT NOT NULL,
  UNIQUE (account_id, fingerprint), UNIQUE (account_id, name));
CREATE INDEX ssh_key_account ON ssh_key(account_id, id);

CREATE TABLE model (
  name TEXT PRIMARY KEY, maker TEXT NOT NULL, memory_type TEXT NOT NULL, memory_bytes BIGINT NOT NULL,
  devices_per_card BIGINT NOT NULL CHECK (devices_per_card >= 1), gfx TEXT NOT NULL,
  partition_modes TEXT NOT NULL, updated_us BIGINT NOT NULL);
-- Immutable. The price in force at t is the row with the greatest effective_us <= t.
CREATE TABLE price_version (
  id TEXT PRIMARY KEY, model TEXT NOT NULL REFERENCES model(name), price_micro BIGINT NOT NULL CHECK (price_micro > 0),
  currency TEXT NOT NULL, unit TEXT NOT NULL CHECK (unit = 'gpu_hour'), memory_gb_told BIGINT NOT NULL,
  frameworks TEXT NOT NULL, note TEXT NOT NULL, source TEXT NOT NULL, effective_us BIGINT NOT NULL,
  created_us BIGINT NOT NULL, UNIQUE (model, currency, effective_us));
CREATE TABLE quote (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), model TEXT NOT NULL,
  gpus BIGINT NOT NULL, image TEXT NOT NULL, disk_gb BIGINT NOT NULL, price_version_id TEXT NOT NULL REFERENCES price_version(id),
  rate_micro BIGINT NOT NULL, currency TEXT NOT NULL, horizon_s BIGINT NOT NULL, hold_micro BIGINT NOT NULL,
  expires_us BIGINT NOT NULL, lease_id TEXT, created_us BIGINT NOT NULL);

-- One row a node. Bit i of a mask is card i (at most 64 cards; bit 63 is the sign bit).
CREATE TABLE node (
  name TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, state_since_us BIGINT NOT NULL,
  health TEXT NOT NULL CHECK (health IN ('good','bad','unknown')), model TEXT NOT NULL, cards BIGINT NOT NULL,
  devices_per_card BIGINT NOT NULL, free_mask BIGINT NOT NULL, free_cards BIGINT NOT NULL,
  leased_mask BIGINT NOT NULL DEFAULT 0, sanitize_mask BIGINT NOT NULL DEFAULT 0,
  account_id TEXT, engine TEXT NOT NULL, addr TEXT NOT NULL, place_order BIGINT NOT NULL,
  cpus BIGINT NOT NULL, memory_bytes BIGINT NOT NULL, card_memory_bytes BIGINT NOT NULL, emulated BIGINT NOT NULL,
  -- topology: what placement needs of the facts (placement.h), so that a create parses no JSON
  facts TEXT NOT NULL, topology TEXT NOT NULL DEFAULT '', failed_starts BIGINT NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  seen_us BIGINT NOT NULL, created_us BIGINT NOT NULL,
  CHECK ((free_mask & leased_mask) = 0), CHECK ((free_mask & sanitize_mask) = 0), CHECK ((leased_mask & sanitize_mask) = 0));
-- Nodes that nobody holds, by what is free. A node that is held leaves it, and is found by its holder: taking
-- cards on it then touches no index.
CREATE INDEX node_place ON node(model, state, free_cards, place_order) WHERE account_id IS NULL;
CREATE INDEX node_account ON node(account_id) WHERE account_id IS NOT NULL;

CREATE TABLE volume (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), name TEXT NOT NULL, state TEXT NOT NULL,
  state_since_us BIGINT NOT NULL, size_bytes BIGINT NOT NULL, node_name TEXT, lease_id TEXT,
  purge_after_us BIGINT NOT NULL DEFAULT 0, created_us BIGINT NOT NULL) /* clustered */;
CREATE INDEX volume_account ON volume(account_id, id);
CREATE INDEX volume_expiry ON volume(purge_after_us) WHERE state = 'deleted';
CREATE TABLE image (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, source TEXT NOT NULL, state TEXT NOT NULL,
  state_since_us BIGINT NOT NULL, size_bytes BIGINT NOT NULL, files BIGINT NOT NULL, reason TEXT NOT NULL, created_us BIGINT NOT NULL);

-- Which node has which image, by its digest: a lease is placed where its image is.
CREATE TABLE node_image (
  node_name TEXT NOT NULL, image TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (node_name, image)) /* clustered */;

CREATE TABLE lease (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), name TEXT NOT NULL, state TEXT NOT NULL,
  state_since_us BIGINT NOT NULL, deadline_us BIGINT NOT NULL DEFAULT 0, epoch BIGINT NOT NULL,
  model TEXT NOT NULL, gpus BIGINT NOT NULL, node_name TEXT, gpu_mask BIGINT NOT NULL DEFAULT 0, slot BIGINT NOT NULL,
  quote_id TEXT NOT NULL REFERENCES quote(id), price_version_id TEXT NOT NULL, rate_micro BIGINT NOT NULL, currency TEXT NOT NULL,
  horizon_s BIGINT NOT NULL, image TEXT NOT NULL, volume_id TEXT NOT NULL, disk_gb BIGINT NOT NULL, command TEXT NOT NULL,
  ssh_keys TEXT NOT NULL, host_key TEXT NOT NULL DEFAULT '', nonce TEXT NOT NULL, ready_us BIGINT NOT NULL DEFAULT 0,
  last_heartbeat_us BIGINT NOT NULL DEFAULT 0, funded_until_us BIGINT NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  emulated BIGINT NOT NULL DEFAULT 0, metric TEXT NOT NULL DEFAULT '', metric_us BIGINT NOT NULL DEFAULT 0,
  created_us BIGINT NOT NULL, updated_us BIGINT NOT NULL);
CREATE INDEX lease_state ON lease(state, deadline_us);
-- A name is taken and a slot (of its node) in use until the lease is released or failed. These two also find
-- an account's and a node's living leases (say both conditions); each further index is a page more per create.
CREATE UNIQUE INDEX lease_name ON lease(account_id, name) WHERE state <> 'released' AND state <> 'failed';
CREATE UNIQUE INDEX lease_slot ON lease(node_name, slot) WHERE state <> 'released' AND state <> 'failed';

-- Metered time: [start_us, end_us), whole seconds from start_us. end_us 0 = still open.
CREATE TABLE segment (
  id TEXT PRIMARY KEY, lease_id TEXT NOT NULL REFERENCES lease(id), account_id TEXT NOT NULL, seq BIGINT NOT NULL, epoch BIGINT NOT NULL,
  start_us BIGINT NOT NULL, end_us BIGINT NOT NULL DEFAULT 0, model TEXT NOT NULL, gpus BIGINT NOT NULL, rate_micro BIGINT NOT NULL,
  currency TEXT NOT NULL, price_version_id TEXT NOT NULL, node_name TEXT NOT NULL, gpu_mask BIGINT NOT NULL,
  captured_s BIGINT NOT NULL DEFAULT 0, captured_micro BIGINT NOT NULL DEFAULT 0,
  captured_credit_micro BIGINT NOT NULL DEFAULT 0, -- the part of captured_micro that was paid from credit
  end_reason TEXT NOT NULL DEFAULT '', UNIQUE (lease_id, seq), UNIQUE (lease_id, start_us));
CREATE INDEX segment_account ON segment(account_id, start_us);
CREATE UNIQUE INDEX segment_open ON segment(lease_id) WHERE end_us = 0;
CREATE INDEX segment_running ON segment(account_id) WHERE end_us = 0;
-- Proof of life by minute.
CREATE TABLE heartbeat (
  lease_id TEXT NOT NULL, epoch BIGINT NOT NULL, minute_us BIGINT NOT NULL, first_us BIGINT NOT NULL, last_us BIGINT NOT NULL,
  count BIGINT NOT NULL, PRIMARY KEY (lease_id, epoch, minute_us)) /* clustered */;

-- Double entry. kind: cash, credit, held_cash, held_credit (a renter's); bank, promo, revenue, goodwill, adjust (the house's, account_id '').
CREATE TABLE ledger_account (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL, kind TEXT NOT NULL, currency TEXT NOT NULL, balance_micro BIGINT NOT NULL,
  UNIQUE (account_id, kind, currency), CHECK (account_id = '' OR balance_micro >= 0)) /* clustered */;
-- seq counts all transactions, account_seq those of one account from 1; hash covers the account's previous hash.
CREATE TABLE txn (
  seq BIGINT PRIMARY KEY, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL, account_seq BIGINT NOT NULL, kind TEXT NOT NULL,
  ref TEXT NOT NULL, memo TEXT NOT NULL, currency TEXT NOT NULL, t_us BIGINT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL,
  UNIQUE (account_id, account_seq));
-- A payment that has a reference of its own is booked once.
CREATE UNIQUE INDEX txn_topup_ref ON txn(ref) WHERE kind = 'topup' AND ref <> '';
CREATE TABLE entry (
  txn_id TEXT NOT NULL REFERENCES txn(id), idx BIGINT NOT NULL, ledger_account_id TEXT NOT NULL REFERENCES ledger_account(id),
  amount_micro BIGINT NOT NULL, PRIMARY KEY (txn_id, idx)) /* clustered */;
-- Funds held ahead for a lease; one row a lease while it needs funds.
CREATE TABLE hold (
  lease_id TEXT PRIMARY KEY, account_id TEXT NOT NULL, currency TEXT NOT NULL, credit_micro BIGINT NOT NULL CHECK (credit_micro >= 0),
  cash_micro BIGINT NOT NULL CHECK (cash_micro >= 0), updated_us BIGINT NOT NULL) /* clustered */;

-- Durable steps and the outbox to nodes: one row per thing to do, re-run until done.
CREATE TABLE operation (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, ref TEXT NOT NULL, account_id TEXT NOT NULL, node_name TEXT, epoch BIGINT NOT NULL,
  state TEXT NOT NULL, state_since_us BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0, next_us BIGINT NOT NULL, payload TEXT NOT NULL,
  error TEXT NOT NULL DEFAULT '', created_us BIGINT NOT NULL) /* clustered */;
CREATE INDEX operation_due ON operation(state, next_us);
CREATE INDEX operation_ref ON operation(ref, id);
-- seq is the key; nothing looks an event up by its id (random, id.h), so the id has no index.
CREATE TABLE event (
  seq BIGINT PRIMARY KEY, id TEXT NOT NULL, account_id TEXT NOT NULL, noun TEXT NOT NULL, ref TEXT NOT NULL, type TEXT NOT NULL,
  actor TEXT NOT NULL, data TEXT NOT NULL, t_us BIGINT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX event_account ON event(account_id, seq);
CREATE INDEX event_ref ON event(ref, seq) WHERE noun = 'lease';
CREATE TABLE idempotency (
  account_id TEXT NOT NULL, key TEXT NOT NULL, request_hash TEXT NOT NULL, status BIGINT NOT NULL, body TEXT NOT NULL,
  created_us BIGINT NOT NULL, PRIMARY KEY (account_id, key));
CREATE TABLE certificate (
  id TEXT PRIMARY KEY, node_name TEXT NOT NULL, lease_id TEXT NOT NULL, gpu_mask BIGINT NOT NULL, result TEXT NOT NULL, emulated BIGINT NOT NULL,
  body TEXT NOT NULL, signature TEXT NOT NULL, created_us BIGINT NOT NULL);
CREATE TABLE notice (
  account_id TEXT NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, t_us BIGINT NOT NULL, PRIMARY KEY (account_id, kind, ref));
