// SPDX-License-Identifier: Apache-2.0
// Bundles the console into dist/, which is kept in the tree: building starleased needs no node.
//   node build.mjs [OUT]          OUT defaults to dist
import { build } from 'esbuild';
import { copyFile, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] || path.join(here, 'dist'));
const note = '/* SPDX-License-Identifier: Apache-2.0; made by web/build.mjs from web/src */';

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: ['src/app.tsx', 'src/app.css'],
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  banner: { js: note, css: note },
});
await copyFile(path.join(here, 'src/index.html'), path.join(out, 'index.html'));
