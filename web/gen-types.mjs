// SPDX-License-Identifier: Apache-2.0
// The API's objects as TypeScript, from docs/openapi.json: node gen-types.mjs [OPENAPI] > src/types.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const here = path.dirname(fileURLToPath(import.meta.url));
const doc = JSON.parse(readFileSync(process.argv[2] || path.join(here, '../docs/openapi.json'), 'utf8'));

function type(s) {
  if (s.$ref) return s.$ref.split('/').pop();
  if (s.oneOf) return s.oneOf.map(type).join(' | ');
  if (s.enum) return s.enum.map((v) => JSON.stringify(v)).join(' | ');
  if (Array.isArray(s.type)) return s.type.map((t) => type({ ...s, type: t })).join(' | ');
  switch (s.type) {
    case 'string': return 'string';
    case 'integer': case 'number': return 'number';
    case 'boolean': return 'boolean';
    case 'null': return 'null';
    case 'array': return `(${type(s.items || {})})[]`;
    case 'object':
      return s.properties
        ? `{ ${Object.entries(s.properties).map(([k, v]) => `${k}${(s.required || []).includes(k) ? '' : '?'}: ${type(v)}`).join('; ')} }`
        : 'Record<string, any>';
    default: return 'any';
  }
}

const lines = ['// SPDX-License-Identifier: Apache-2.0', '// Made by gen-types.mjs from docs/openapi.json.'];
for (const [name, s] of Object.entries(doc.components.schemas)) lines.push(`export type ${name} = ${type(s)};`);
writeFileSync(path.join(here, 'src/types.ts'), lines.join('\n') + '\n');
