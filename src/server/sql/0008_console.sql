-- SPDX-License-Identifier: Apache-2.0
-- 0008: the console. A token with session 1 is a signed-in browser's and comes in its cookie alone.
ALTER TABLE token ADD COLUMN session BIGINT NOT NULL DEFAULT 0;

-- A second factor. confirmed_us 0: begun, not asked for yet. last_step: the 30 s whose code was used last.
CREATE TABLE totp (
  account_id TEXT PRIMARY KEY REFERENCES account(id), secret TEXT NOT NULL, confirmed_us BIGINT NOT NULL DEFAULT 0,
  last_step BIGINT NOT NULL DEFAULT 0, created_us BIGINT NOT NULL);
CREATE TABLE totp_recovery (
  account_id TEXT NOT NULL REFERENCES account(id), hash TEXT NOT NULL, used_us BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, hash));
