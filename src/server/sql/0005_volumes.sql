-- SPDX-License-Identifier: Apache-2.0
-- 0005: what happens to an instance and its disks when nobody looks. Common subset of SQLite 3.40 and PostgreSQL 15.

-- The timers of one lease. 0 = off, or not yet known. due_us: when the ticker has to look again.
CREATE TABLE autostop (
  lease_id TEXT PRIMARY KEY REFERENCES lease(id), account_id TEXT NOT NULL,
  ttl_s BIGINT NOT NULL, budget_micro BIGINT NOT NULL, idle_s BIGINT NOT NULL, delete_after_s BIGINT NOT NULL,
  set_us BIGINT NOT NULL,            -- a TTL that is set while it runs counts from here
  stop_us BIGINT NOT NULL DEFAULT 0, -- this run ends here at the latest, and is billed no further
  stop_cause TEXT NOT NULL DEFAULT '',
  active_us BIGINT NOT NULL DEFAULT 0, -- use was last seen
  use_us BIGINT NOT NULL DEFAULT 0,    -- the agent last told of use or of none
  use_json TEXT NOT NULL DEFAULT '',
  delete_us BIGINT NOT NULL DEFAULT 0, -- a stopped lease is released here
  warned_us BIGINT NOT NULL DEFAULT 0, -- the stop_us or delete_us that was warned of
  warned_idle_us BIGINT NOT NULL DEFAULT 0,
  due_us BIGINT NOT NULL DEFAULT 0);
CREATE INDEX autostop_due ON autostop(due_us) WHERE due_us > 0;

-- Prices of what is no card: a run without cards (per hour) and disk (per GB and month of 30 days). Immutable;
-- the price in force at t is the row with the greatest effective_us <= t.
CREATE TABLE tariff (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('cpu','disk')), unit TEXT NOT NULL CHECK (unit IN ('instance_hour','gb_month')),
  price_micro BIGINT NOT NULL CHECK (price_micro >= 0), currency TEXT NOT NULL, note TEXT NOT NULL, source TEXT NOT NULL,
  effective_us BIGINT NOT NULL, created_us BIGINT NOT NULL, UNIQUE (kind, currency, effective_us));
-- Every price that a bill may name.
CREATE VIEW price_named AS
  SELECT id, model, price_micro, currency, unit, effective_us, source FROM price_version
  UNION ALL SELECT id, kind, price_micro, currency, unit, effective_us, source FROM tariff;

-- 1: the run under way uses no card. From the start until the node has proved that nothing of it is left.
ALTER TABLE lease ADD COLUMN cpu_run BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN cpu_rate_micro BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN cpu_tariff_id TEXT NOT NULL DEFAULT '';

-- Metered disk: [start_us, end_us), whole seconds from start_us, gb GB at rate_micro per 30 days. One row a size; none where the
-- price is 0.
CREATE TABLE volume_segment (
  id TEXT PRIMARY KEY, volume_id TEXT NOT NULL REFERENCES volume(id), account_id TEXT NOT NULL, seq BIGINT NOT NULL,
  start_us BIGINT NOT NULL, end_us BIGINT NOT NULL DEFAULT 0, gb BIGINT NOT NULL, rate_micro BIGINT NOT NULL, currency TEXT NOT NULL,
  tariff_id TEXT NOT NULL REFERENCES tariff(id), captured_s BIGINT NOT NULL DEFAULT 0, captured_micro BIGINT NOT NULL DEFAULT 0,
  captured_credit_micro BIGINT NOT NULL DEFAULT 0, end_reason TEXT NOT NULL DEFAULT '', UNIQUE (volume_id, seq),
  UNIQUE (volume_id, start_us));
CREATE INDEX volume_segment_account ON volume_segment(account_id, start_us);
CREATE UNIQUE INDEX volume_segment_open ON volume_segment(volume_id) WHERE end_us = 0;
ALTER TABLE volume ADD COLUMN tariff_id TEXT NOT NULL DEFAULT '';         -- pinned when it was first metered
ALTER TABLE volume ADD COLUMN kept_until_us BIGINT NOT NULL DEFAULT 0;    -- unpaid: deleted then, unless funds come
ALTER TABLE volume ADD COLUMN warned_us BIGINT NOT NULL DEFAULT 0;
CREATE INDEX volume_unpaid ON volume(kept_until_us) WHERE kept_until_us > 0;

-- What a disk was at one time. On the node of its disk; method: reflink or copy, as the node could.
CREATE TABLE snapshot (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), volume_id TEXT NOT NULL REFERENCES volume(id), name TEXT NOT NULL,
  state TEXT NOT NULL, state_since_us BIGINT NOT NULL, size_bytes BIGINT NOT NULL, node_name TEXT NOT NULL, method TEXT NOT NULL DEFAULT '',
  created_us BIGINT NOT NULL);
CREATE INDEX snapshot_account ON snapshot(account_id, id);
