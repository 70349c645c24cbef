// SPDX-License-Identifier: Apache-2.0
// Pages are live: one stream of events (text/event-stream) for the whole page; whenever something happened, what is
// shown is asked for again. Without the stream (a cut connection) it is tried again, and the page says so.
import { signal } from '@preact/signals';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { asFailure, type Failure, get, me, who } from './api';

export const beat = signal(0); // grows when something happened
export const connected = signal(true);

let running: AbortController | null = null;
let last = '';
let timer = 0;
let latest = 0;
let missed = false;

/* Soon, at most once a second, and not while nobody looks. */
function happened(): void {
  if (document.hidden) {
    missed = true;
    return;
  }
  if (timer) return;
  timer = window.setTimeout(
    () => {
      timer = 0;
      latest = Date.now();
      beat.value++;
    },
    Math.max(150, latest + 1000 - Date.now()),
  );
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden || !missed) return;
  missed = false;
  happened();
});

async function listen(stop: AbortController): Promise<void> {
  let wait = 500;
  while (!stop.signal.aborted) {
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' };
      if (last) headers['Last-Event-ID'] = last;
      const r = await fetch('/v1/events', { headers, signal: stop.signal, credentials: 'same-origin' });
      if (r.status === 401) {
        await who();
        return;
      }
      if (!r.ok || !r.body) throw new Error(String(r.status));
      if (!connected.value) happened();
      connected.value = true;
      wait = 500;
      const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split('\n');
        rest = lines.pop() || '';
        for (const line of lines)
          if (line.startsWith('id: ')) {
            last = line.slice(4);
            happened();
          }
      }
    } catch {
      if (stop.signal.aborted) return;
    }
    connected.value = false;
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, 15000);
  }
}

/* Called when the account changes. */
export function listenAs(account: string | undefined): void {
  running?.abort();
  running = null;
  last = '';
  connected.value = true;
  if (account) listen((running = new AbortController()));
}

export interface Loaded<T> {
  data: T | null;
  failure: Failure | null;
  reload: () => void;
}

/* All items of a list, up to `most`. Price tables come in one piece. */
async function all<T>(path: string, most = 1000): Promise<T[]> {
  if (path === '/v1/prices' || path === '/v1/tariffs') return (await get<{ items: T[] }>(path)).items;
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: T[]; next: string | null } = await get(path + (path.includes('?') ? '&' : '?') + 'limit=100' + (cursor ? '&cursor=' + encodeURIComponent(cursor) : ''));
    items.push(...page.items);
    cursor = page.next;
  } while (cursor && items.length < most);
  return items;
}
/* What `how(path)` gives, asked again when something happened and every `seconds`. "" asks nothing. */
function useLoad<T>(path: string, how: (path: string) => Promise<T>, seconds: number): Loaded<T> {
  const [state, set] = useState<{ path: string; data: T | null; failure: Failure | null }>({ path, data: null, failure: null });
  const turn = useRef(0);
  const reload = useCallback(() => {
    if (!path) return;
    const mine = ++turn.current;
    how(path).then(
      (data) => mine === turn.current && set({ path, data, failure: null }),
      (e) => mine === turn.current && set((s) => ({ path, data: s.path === path ? s.data : null, failure: asFailure(e) })),
    );
  }, [path]);
  const now = beat.value;
  useEffect(reload, [path, now, me.value?.account?.id]);
  useEffect(() => {
    if (!seconds) return;
    const id = setInterval(() => document.hidden || reload(), seconds * 1000);
    return () => clearInterval(id);
  }, [reload, seconds]);
  return { data: state.path === path ? state.data : null, failure: state.failure, reload };
}
export const useData = <T,>(path: string, seconds = 0) => useLoad<T>(path, get, seconds);
export const useList = <T,>(path: string, seconds = 0) => useLoad<T[]>(path, all, seconds);
