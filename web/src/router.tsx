// SPDX-License-Identifier: Apache-2.0
// Paths and queries as signals. Links are plain <a href>; a click on one of ours changes the path without a load.
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';

export const BASE = '/console';
export const path = signal(read());
export const search = signal(location.search);

function read(): string {
  const p = location.pathname.replace(/^\/console/, '');
  return p === '' ? '/' : p.length > 1 ? p.replace(/\/$/, '') : p;
}
function sync(): void {
  path.value = read();
  search.value = location.search;
}
export function go(to: string, replace = false): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', BASE + to);
  const before = path.value;
  sync();
  if (path.value !== before) {
    scrollTo(0, 0);
    requestAnimationFrame(() => document.querySelector<HTMLElement>('main h1')?.focus());
  }
}
export function query(name: string): string {
  return new URLSearchParams(search.value).get(name) || '';
}
/* Filters live in the URL: a link shows the same rows. */
export function setQuery(name: string, value: string): void {
  const q = new URLSearchParams(search.value);
  if (value) q.set(name, value);
  else q.delete(name);
  const text = q.toString();
  go(path.value + (text ? '?' + text : ''), true);
}

addEventListener('popstate', sync);
addEventListener('click', (e) => {
  const a = (e.target as Element).closest?.('a');
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || a.target || a.hasAttribute('download')) return;
  const url = new URL(a.href, location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(BASE + '/')) return;
  e.preventDefault();
  go(url.pathname.slice(BASE.length) + url.search);
});

export interface Route {
  path: string; // "/instances/:id"
  page: ComponentType<{ id: string }>;
  role?: 'renter' | 'operator';
}
export function match(routes: Route[], p: string): { route: Route; id: string } | null {
  for (const route of routes) {
    const at = route.path.indexOf('/:');
    if (at < 0 ? route.path === p : p.startsWith(route.path.slice(0, at + 1)) && !p.slice(at + 1).includes('/') && p.length > at + 1)
      return { route, id: at < 0 ? '' : decodeURIComponent(p.slice(at + 1)) };
  }
  return null;
}
