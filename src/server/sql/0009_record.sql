-- SPDX-License-Identifier: Apache-2.0
-- 0009: benchmark records that were handed in for a lease, as they were signed. Common subset of SQLite 3.40 and PostgreSQL 15.
CREATE TABLE bench_record (
  id TEXT PRIMARY KEY, lease_id TEXT NOT NULL REFERENCES lease(id), account_id TEXT NOT NULL, sha256 TEXT NOT NULL,
  suite TEXT NOT NULL, unit TEXT NOT NULL, median TEXT NOT NULL, low TEXT NOT NULL, high TEXT NOT NULL, samples BIGINT NOT NULL,
  checksum TEXT NOT NULL, body TEXT NOT NULL, created_us BIGINT NOT NULL, UNIQUE (lease_id, sha256));
CREATE INDEX bench_record_account ON bench_record(account_id, id);
