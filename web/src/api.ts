// SPDX-License-Identifier: Apache-2.0
// Calls of the HTTP interface. The session is in a cookie that this code cannot see; what changes something carries
// the CSRF value, which lives in memory alone.
import { signal } from '@preact/signals';
import { lang } from './i18n';
import type { Console, Problem } from './types';

export const me = signal<Console | null>(null);
export const isOperator = () => me.value?.account?.role === 'operator';

export class Failure extends Error {
  constructor(readonly status: number, readonly problem: Partial<Problem>) {
    super(problem.detail || problem.title || String(status));
  }
}

export const asFailure = (e: unknown) => (e instanceof Failure ? e : new Failure(0, { code: 'offline' }));

export async function call<T>(method: string, path: string, body?: unknown, key?: string): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json', 'Accept-Language': lang.value };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method !== 'GET' && me.value?.csrf) headers['X-CSRF-Token'] = me.value.csrf;
  if (method === 'POST') headers['Idempotency-Key'] = key || newKey();
  let r: Response;
  try {
    r = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store', credentials: 'same-origin' });
  } catch {
    throw new Failure(0, { code: 'offline' });
  }
  const json = (r.headers.get('Content-Type') || '').includes('json') ? await r.json() : null;
  if (!r.ok) {
    if (r.status === 401 && me.value?.account) me.value = { ...me.value, account: null, csrf: '', session: '' };
    throw new Failure(r.status, json || {});
  }
  return json as T;
}

/* The answer as it was sent: what is signed is not put through JavaScript's numbers, which end at 2^53. */
export async function text(path: string): Promise<string> {
  const r = await fetch(path, { headers: { Accept: 'application/json', 'Accept-Language': lang.value }, cache: 'no-store', credentials: 'same-origin' });
  if (!r.ok) throw new Failure(r.status, await r.json().catch(() => ({})));
  return r.text();
}

export const get = <T>(path: string) => call<T>('GET', path);
export const post = <T>(path: string, body: unknown = {}, key?: string) => call<T>('POST', path, body, key);
export const del = <T>(path: string) => call<T>('DELETE', path);
export const newKey = () => crypto.randomUUID();

export async function who(): Promise<void> {
  me.value = await get<Console>('/v1/console');
}
