-- SPDX-License-Identifier: Apache-2.0
-- 0008: the console. A token with session 1 is a signed-in browser's and comes in its cookie alone.
ALTER TABLE token ADD COLUMN session BIGINT NOT NULL DEFAULT 0;
