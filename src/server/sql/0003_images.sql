-- SPDX-License-Identifier: Apache-2.0
-- 0003: images that belong to an account, and public images by reference.
-- An account's own image has its id as its name (nodes keep files by that) and a title, which is what people call it.
ALTER TABLE image ADD COLUMN account_id TEXT NOT NULL DEFAULT '';
ALTER TABLE image ADD COLUMN title TEXT NOT NULL DEFAULT '';
-- The newest line of progress (JSON) while it is imported or saved.
ALTER TABLE image ADD COLUMN progress TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX image_title ON image(account_id, title) WHERE account_id <> '' AND state <> 'deleted';
-- What the files of [images] say; filled at each start.
CREATE TABLE image_catalogue (
  name TEXT PRIMARY KEY, reference TEXT NOT NULL, rocm TEXT NOT NULL, frameworks TEXT NOT NULL, note TEXT NOT NULL, source TEXT NOT NULL);
CREATE TABLE image_compat (
  gfx TEXT PRIMARY KEY, rocm_min TEXT NOT NULL, kernel_min TEXT NOT NULL, source TEXT NOT NULL);
